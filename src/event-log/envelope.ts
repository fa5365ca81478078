import type { Mode, Scope } from '../domain/scope.js';

/**
 * Who caused an event. `id` names a key (of a token: the one that signed it), a policy or a job;
 * never a person.
 */
export interface Actor {
  readonly kind: 'api-key' | 'user-token' | 'anyone' | 'policy' | 'job' | 'operator' | 'system';
  readonly id: string;
}

/** What stands beside every fact, from the first event on. */
export interface Envelope {
  readonly tenant: string;
  /** Tenants themselves belong to neither mode. */
  readonly mode: Mode | null;
  /** The request or job that everything downstream has in common. */
  readonly correlationId: string;
  /** The event or request that directly caused this one. */
  readonly causationId: string;
  readonly commandId: string;
  readonly actor: Actor;
  /**
   * Keyed hashes: what a client chose as key is not stored, nor can a body be guessed from its
   * fingerprint.
   */
  readonly idempotency: { readonly key: string; readonly fingerprint: string } | null;
}

/** A command's share of the envelope, carried with it through the one door. */
export interface CommandMeta extends Omit<Envelope, 'tenant' | 'mode'> {
  readonly scope: Scope;
  /**
   * When a request with an idempotency key came, epoch milliseconds; left out: by the clock of this
   * process.
   */
  readonly askedAt?: number;
}

/**
 * Commands that may come twice are remembered in the state they changed: keyed requests, and what
 * policies and jobs send.
 */
export const isRepeatable = (envelope: Pick<Envelope, 'actor' | 'idempotency'>): boolean =>
  envelope.idempotency !== null || envelope.actor.kind === 'policy';

/**
 * The stored form. The correlation members carry the names that EventStoreDB's own tools look for.
 */
export interface StoredMetadata {
  readonly v: number;
  readonly at: number;
  readonly tenant: string;
  readonly mode: Mode | null;
  readonly $correlationId: string;
  readonly $causationId: string;
  readonly command: string;
  readonly actor: Actor;
  readonly key?: string;
  readonly fingerprint?: string;
}

export function toMetadata(
  envelope: Envelope,
  version: number,
  effectiveAt: number,
): StoredMetadata {
  const { tenant, mode, correlationId, causationId, commandId, actor, idempotency } = envelope;
  return {
    v: version,
    at: effectiveAt,
    tenant,
    mode,
    $correlationId: correlationId,
    $causationId: causationId,
    command: commandId,
    actor,
    ...(idempotency ?? {}),
  };
}

export function fromMetadata(stored: StoredMetadata): Envelope {
  const { tenant, mode, actor, key, fingerprint } = stored;
  return {
    tenant,
    mode,
    actor,
    commandId: stored.command,
    correlationId: stored.$correlationId,
    causationId: stored.$causationId,
    idempotency: key !== undefined && fingerprint !== undefined ? { key, fingerprint } : null,
  };
}
