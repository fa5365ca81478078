import type { Personal } from '../domain/personal.js';
import type { LedgerMode, Scope } from '../domain/scope.js';
import { newId } from '../foundation/world.js';
import type { RecordedEvent } from './event-log.js';

/**
 * The cause of an event. `id` names a key (of a token: the signing key), a policy or a job; of a
 * member of staff (`operator`, `cli`) it is a keyed id of the name, the same in every channel.
 */
export interface Actor {
  readonly kind:
    'api-key' | 'user-token' | 'anyone' | 'policy' | 'job' | 'operator' | 'cli' | 'system';
  readonly id: string;
  /** Of an operator. Missing in events of older releases. */
  readonly channel?: 'console' | 'http';
  /** Of a member of staff, encrypted. Missing in events of older releases. */
  readonly name?: Personal<string>;
}

/** `<kind>:<name>` of a member of staff, otherwise `<kind>:<id>`. */
export const shownActor = ({ kind, id, name }: Actor): string =>
  `${kind}:${name === undefined ? id : shownName(name)}`;

/** The name for people; `anonymous` after its erasure. */
export const shownName = ({ value }: Personal<string>): string => value ?? 'anonymous';

export interface Envelope {
  readonly tenant: string;
  /** Null for tenants themselves, which belong to neither mode. */
  readonly mode: LedgerMode | null;
  /** The request or job at the start of a chain of events. */
  readonly correlationId: string;
  /** The event or request that directly caused this event. */
  readonly causationId: string;
  readonly commandId: string;
  readonly actor: Actor;
  /** Keyed hashes: neither a client's key nor a guess of the body can be derived. */
  readonly idempotency: { readonly key: string; readonly fingerprint: string } | null;
}

/** The command's part of the envelope. */
export interface CommandMeta extends Omit<Envelope, 'tenant' | 'mode'> {
  readonly scope: Scope;
  /** Arrival of a request with an idempotency key, epoch milliseconds. Default: now. */
  readonly askedAt?: number;
}

/** For a command without an idempotency key that begins a chain of events. */
export const metaOf = (scope: Scope, actor: Actor, causationId: string): CommandMeta => ({
  scope,
  commandId: newId(),
  correlationId: newId(),
  causationId,
  actor,
  idempotency: null,
});

/** Keyed requests and commands of policies and jobs: the changed state remembers these. */
export const isRepeatable = (envelope: Pick<Envelope, 'actor' | 'idempotency'>): boolean =>
  envelope.idempotency !== null || envelope.actor.kind === 'policy';

/** The correlation members have the names that EventStoreDB's tools expect. */
export interface StoredMetadata {
  readonly v: number;
  readonly at: number;
  readonly tenant: string;
  readonly mode: LedgerMode | null;
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

/**
 * As `countedAt`. Read from the stored text as `toMetadata` writes it: figures of an account read it
 * of all its events.
 */
export function effectiveTimeOf({
  recordedAt,
  metadata,
  data,
}: Pick<RecordedEvent, 'recordedAt' | 'metadata' | 'data'>): number {
  const [, effectiveAt] = /^\{"v":\d+,"at":(\d+)/.exec(metadata) ?? [];
  const { imported } = data.includes('"imported":{')
    ? (JSON.parse(data) as { readonly imported?: { readonly at?: number } })
    : {};
  return Math.max(recordedAt, Number(effectiveAt ?? 0), imported?.at ?? 0);
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
