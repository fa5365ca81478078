import {
  ProviderEventEnvelope,
  type Commands,
  type RecordedEvent,
} from '../../command-handling/commands.js';
import { deterministicId } from '../../command-handling/deterministic-id.js';
import type { ReadableStreams } from '../../command-handling/readable-streams.js';
import { hasAnotherLive, isSeen, type ProviderFact } from '../../domain/customer/customer.state.js';
import type { Mode, Scope } from '../../domain/scope.js';
import { ledgerOf } from '../../domain/tenant/test-clock.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import { metaOf } from '../../event-log/envelope.js';
import { timeNow } from '../../foundation/world.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import type { PaymentConnections } from '../payment-connections.js';
import {
  isOpen,
  ProviderFailure,
  type PaymentProvider,
  type ProviderEvent,
} from '../payment-provider.js';

/**
 * The result of an incoming event. `ignored`: recorded without effect. `repeated`: recorded before.
 * `full`: its customer reached the daily limit.
 */
export type ReceivedEvent =
  | RecordedEvent
  | 'ignored'
  | 'not-connected'
  | 'not-signed'
  | 'no-event'
  | 'other-mode'
  | 'unavailable';

export interface CustomerLookups {
  readonly streams: Pick<ReadableStreams, 'customers'>;
  readonly names: KeyedNames;
}

interface PaymentEventsParts extends CustomerLookups {
  readonly record: RecordProviderEvent;
  readonly connections: PaymentConnections;
  /** Loaded on first use. */
  readonly provider: () => Promise<PaymentProvider>;
  /** Called once per answer. */
  readonly onAnswer?: (received: ReceivedEvent) => void;
}

/** Verifies and records the incoming events of payment providers. */
export class PaymentEvents {
  constructor(private readonly parts: PaymentEventsParts) {}

  /**
   * Records an event durably, once. The mode is that of the secret that signed it.
   * @param signature the header; undefined: missing.
   */
  async receive(
    tenant: OpenTenant,
    body: Buffer,
    signature: string | undefined,
  ): Promise<ReceivedEvent> {
    const secrets = await this.parts.connections.webhookSecrets(tenant);
    if (secrets.length === 0) return 'not-connected';
    const provider = await this.parts.provider();
    const now = timeNow();
    const signedBy = secrets.find(({ secret }) =>
      provider.isSigned(body, { signature, secret, now }),
    );
    if (signedBy === undefined) return 'not-signed';
    const signed = provider.eventIn(body);
    if (signed === undefined) return 'no-event';
    const { mode } = signedBy;
    if (signed.mode !== null && signed.mode !== mode) return 'other-mode';
    const whole = await this.completed(tenant, mode, signed.event);
    if (whole === undefined) return 'unavailable';
    const scope = ledgerOf(tenant, mode);
    const recorded = await this.parts.record(scope, whole);
    return recorded === 'recorded' && whole.fact.kind === 'IGNORED' ? 'ignored' : recorded;
  }

  answered(received: ReceivedEvent): void {
    this.parts.onAnswer?.(received);
  }

  /** Undefined: the provider does not answer. */
  private async completed(
    tenant: OpenTenant,
    mode: Mode,
    event: ProviderEvent,
  ): Promise<ProviderEvent | undefined> {
    const { connections, provider } = this.parts;
    const scope = ledgerOf(tenant, mode);
    if (!(await needsCall(this.parts, scope, event))) return event;
    const connection = await connections.current(tenant, mode);
    if (connection === undefined) return event;
    try {
      return await (await provider()).calls(connection).completed(event);
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error;
      // The provider resends it.
      return undefined;
    }
  }
}

/**
 * Whether the provider must be called to complete the event. Not for a recorded event, and not for
 * the end of a subscription while another one is known to be live.
 */
export async function needsCall(
  { streams, names }: CustomerLookups,
  scope: Scope,
  event: ProviderEvent,
): Promise<boolean> {
  const { customer, subscription, fact } = event;
  if (!isOpen(event)) return false;
  if (customer === null) return true;
  const { state } = await streams.customers.load(names.customerStream(scope, customer));
  if (isSeen(state, names.providerEventRef(scope, event.id))) return false;
  if (fact.kind !== 'CANCELLED') return true;
  const ref = subscription && names.providerObjectRef(scope, 'subscription', subscription);
  return !hasAnotherLive(state, ref);
}

/** The event has no customer, and so no account. */
const NO_CUSTOMER: ProviderFact = { kind: 'IGNORED', because: 'NO_CUSTOMER' };

/** Records an event durably, once. */
export type RecordProviderEvent = (scope: Scope, event: ProviderEvent) => Promise<RecordedEvent>;

export const recorderOf =
  (commands: Commands): RecordProviderEvent =>
  async (scope, event) => {
    const { id, type, created, customer, invoice, payments, subscription, left, fact } = event;
    const meta = {
      ...metaOf(scope, { kind: 'system', id: 'payment-provider' }, 'payment provider'),
      correlationId: deterministicId(`provider event ${scope.tenant} ${scope.mode}`, id),
    };
    return commands.execute(
      new ProviderEventEnvelope(meta, customer, id, {
        provider: 'stripe',
        eventType: type,
        created,
        ids: { event: id, invoice, payments },
        subscription,
        left: left ?? [],
        fact: customer === null && fact.kind !== 'IGNORED' ? NO_CUSTOMER : fact,
      }),
    );
  };
