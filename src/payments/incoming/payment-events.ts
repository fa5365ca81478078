import {
  ProviderEventEnvelope,
  type Commands,
  type RecordedEvent,
} from '../../command-handling/commands.js';
import { deterministicId } from '../../command-handling/deterministic-id.js';
import type { Mode, Scope } from '../../domain/scope.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import { newId, timeNow } from '../../foundation/world.js';
import type { PaymentConnections } from '../payment-connections.js';
import { ProviderFailure, type PaymentProvider, type ProviderEvent } from '../payment-provider.js';
import type { WaitingEvents } from './waiting-events.js';

/**
 * What came of an incoming event. `ignored`: recorded, without an effect. `repeated`: it was
 * recorded before. `full`: there is no room for it now.
 */
export type Received =
  RecordedEvent | 'ignored' | 'not-connected' | 'not-signed' | 'no-event' | 'unavailable';

interface PaymentEventsParts {
  readonly record: RecordProviderEvent;
  readonly connections: PaymentConnections;
  /** Loaded when it is first needed. */
  readonly provider: () => Promise<PaymentProvider>;
  /** Once for each answer. */
  readonly onAnswer?: (received: Received) => void;
}

/** Calls to the provider that incoming events wait for, in this process. */
const LOOKUPS_MAX = 4;

/** Incoming events of payment providers: checked, then recorded. */
export class PaymentEvents {
  private lookups = 0;

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
    const event = provider.eventIn(body);
    if (event === undefined) return 'no-event';
    const whole = await this.withInvoice(tenant, signedBy.mode, event);
    if (whole === undefined) return 'unavailable';
    const scope = { tenant: tenant.alias, mode: signedBy.mode };
    const recorded = await this.parts.record(scope, whole);
    return recorded === 'recorded' && whole.fact.kind === 'IGNORED' ? 'ignored' : recorded;
  }

  /** For metrics. */
  answered(received: Received): void {
    this.parts.onAnswer?.(received);
  }

  /** Present versions of the interface do not say whose invoice a refunded charge has paid. */
  private async withInvoice(
    tenant: OpenTenant,
    mode: Mode,
    event: ProviderEvent,
  ): Promise<ProviderEvent | undefined> {
    const provider = await this.parts.provider();
    const payment = provider.paymentWithoutInvoice(event);
    if (payment === undefined) return event;
    const connection = await this.parts.connections.current(tenant, mode);
    if (connection === undefined) return event;
    if (this.lookups >= LOOKUPS_MAX) return undefined;
    this.lookups += 1;
    try {
      const invoice = await provider.calls(connection).invoicePaidBy(payment);
      return { ...event, invoice };
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error;
      // The provider sends it again; a refusal would be repeated for days.
      return error.kind === 'refused' ? event : undefined;
    } finally {
      this.lookups -= 1;
    }
  }
}

/** Records an event durably, once. */
export type RecordProviderEvent = (scope: Scope, event: ProviderEvent) => Promise<RecordedEvent>;

export const recorderOf =
  (commands: Commands, waiting: Pick<WaitingEvents, 'hasRoomFor'>): RecordProviderEvent =>
  async (scope, event) => {
    if (!(await waiting.hasRoomFor(scope, event))) return 'full';
    const { id, type, created, customer, invoice, payments, fact } = event;
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
        fact,
      }),
    );
  };
