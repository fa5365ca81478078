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
import { newId, timeNow } from '../../foundation/world.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import type { PaymentConnections } from '../payment-connections.js';
import {
  isOpen,
  ProviderFailure,
  type PaymentProvider,
  type ProviderEvent,
} from '../payment-provider.js';

/**
 * What came of an incoming event. `ignored`: recorded, without an effect. `repeated`: it was
 * recorded before. `full`: its customer had too many today.
 */
export type Received =
  | RecordedEvent
  | 'ignored'
  | 'not-connected'
  | 'not-signed'
  | 'no-event'
  | 'other-mode'
  | 'unavailable';

/** What is known of customers. */
export interface KnownCustomers {
  readonly streams: Pick<ReadableStreams, 'customers'>;
  readonly names: KeyedNames;
}

interface PaymentEventsParts extends KnownCustomers {
  readonly record: RecordProviderEvent;
  readonly connections: PaymentConnections;
  /** Loaded when it is first needed. */
  readonly provider: () => Promise<PaymentProvider>;
  /** Once for each answer. */
  readonly onAnswer?: (received: Received) => void;
}

/** Incoming events of payment providers: checked, then recorded. */
export class PaymentEvents {
  constructor(private readonly parts: PaymentEventsParts) {}

  /**
   * Records an event durably, once. The secret that signed it decides the mode.
   * @param signature the header as it came; undefined: none.
   */
  async receive(
    tenant: OpenTenant,
    body: Buffer,
    signature: string | undefined,
  ): Promise<Received> {
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

  /** For metrics. */
  answered(received: Received): void {
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
      // The provider sends it again.
      return undefined;
    }
  }
}

/**
 * Whether the provider is called for what the event leaves open. Not for one that is recorded, or
 * for the end of a subscription next to another one that is live by the events known.
 */
export async function needsCall(
  { streams, names }: KnownCustomers,
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

/** There is no account to apply it to. */
const NO_CUSTOMER: ProviderFact = { kind: 'IGNORED', because: 'NO_CUSTOMER' };

/** Records an event durably, once. */
export type RecordProviderEvent = (scope: Scope, event: ProviderEvent) => Promise<RecordedEvent>;

export const recorderOf =
  (commands: Commands): RecordProviderEvent =>
  async (scope, event) => {
    const { id, type, created, customer, invoice, payments, subscription, left, fact } = event;
    const meta = {
      scope,
      commandId: newId(),
      correlationId: deterministicId(`provider event ${scope.tenant} ${scope.mode}`, id),
      causationId: 'payment provider',
      actor: { kind: 'system' as const, id: 'payment-provider' },
      idempotency: null,
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
