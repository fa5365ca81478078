import { eventsIf, type Decision } from '../decision.js';
import type { Command, Fact } from '../fact.js';
import type { Personal, SubjectId } from '../personal.js';
import type { Mode } from '../scope.js';
import type { PaymentProviderName } from './payment-provider-name.js';
import type { Retirable } from './tenant-secrets.js';

/** Part of the tenant's stream. */

export type PaymentConnectionEvent =
  /** Replaces the connection of the mode, whose webhook secret verifies until then. */
  | Fact<
      'PaymentProviderConnected',
      {
        mode: Mode;
        provider: PaymentProviderName;
        /** Key, webhook secret and address, encrypted with two keys: master and connection. */
        secrets: Personal<string>;
        /** Keyed hash of key and address. Absent: recorded by a release without it. */
        keyRef?: string;
        replacedValidUntil: number;
        /** Earlier connections whose keys are destroyed. */
        ended: readonly SubjectId[];
      }
    >
  /** `ended`: the connections whose keys are destroyed. */
  | Fact<'PaymentProviderDisconnected', { mode: Mode; ended: readonly SubjectId[] }>;

export interface PaymentConnection extends Retirable {
  /** Names the key that encrypts the secrets. */
  readonly connectionId: SubjectId;
  readonly mode: Mode;
  readonly provider: PaymentProviderName;
  /** Encrypted with the master key; null: destroyed. */
  readonly sealed: string | null;
  readonly keySince: ProviderKey['since'];
}

/** The mode's newest key, which outlives its connection. */
export interface ProviderKey {
  /** Keyed hash of key and address; null: unknown. */
  readonly ref: string | null;
  /** Time since which no other key was connected, epoch milliseconds; 0: there was none before. */
  readonly since: number;
}

export type ProviderKeys = Readonly<Partial<Record<Mode, ProviderKey>>>;

export type PaymentConnectionCommand =
  | Command<
      'ConnectPaymentProvider',
      {
        mode: Mode;
        provider: PaymentProviderName;
        secrets: Personal<string>;
        /** Keyed hash of key and address. */
        keyRef: string;
        /** How long the webhook secret of the previous connection verifies as well. */
        graceMs: number;
      }
    >
  | Command<'DisconnectPaymentProvider', { mode: Mode }>;

type Connections = readonly PaymentConnection[];

/** The mode's connection that calls the provider. */
export const connectionOf = (connections: Connections, mode: Mode): PaymentConnection | undefined =>
  connections.find((known) => known.mode === mode && known.validUntil === null);

export function keysAfter(keys: ProviderKeys, event: PaymentConnectionEvent): ProviderKeys {
  if (event.type === 'PaymentProviderDisconnected') return keys;
  const { mode, keyRef: ref = null, at } = event;
  const before = keys[mode];
  const isSame = ref !== null && before?.ref === ref;
  return { ...keys, [mode]: { ref, since: isSame ? before.since : before ? at : 0 } };
}

/** @param keys after the event. */
export function evolveConnections(
  connections: Connections,
  event: PaymentConnectionEvent,
  keys: ProviderKeys,
): Connections {
  const left = connections.filter(({ connectionId }) => !event.ended.includes(connectionId));
  if (event.type === 'PaymentProviderDisconnected')
    return left.filter(({ mode }) => mode !== event.mode);
  const { mode, provider, secrets, replacedValidUntil } = event;
  const replaced = left.map((known) =>
    known.mode === mode && known.validUntil === null
      ? { ...known, validUntil: replacedValidUntil }
      : known,
  );
  const connection: PaymentConnection = {
    connectionId: secrets.subject,
    mode,
    provider,
    sealed: secrets.value,
    keySince: keys[mode]?.since ?? 0,
    validUntil: null,
  };
  return [...replaced, connection];
}

export function decideOnConnection(
  connections: Connections,
  command: PaymentConnectionCommand,
): Decision<PaymentConnectionEvent> {
  const { mode, now: at } = command;
  const ofMode = connections.filter((known) => known.mode === mode);
  const idsOf = (some: Connections): SubjectId[] => some.map(({ connectionId }) => connectionId);
  if (command.type === 'DisconnectPaymentProvider') {
    const ended = idsOf(ofMode);
    return eventsIf(ended.length > 0, { type: 'PaymentProviderDisconnected', at, mode, ended });
  }
  const { provider, secrets, keyRef, graceMs } = command;
  // Only the newest replaced one has a grace period: a tenant may rotate any number of times.
  const ended = idsOf(ofMode.filter(({ validUntil }) => validUntil !== null));
  const connected = { mode, provider, secrets, keyRef, replacedValidUntil: at + graceMs, ended };
  return { events: [{ type: 'PaymentProviderConnected', at, ...connected }] };
}
