import type { Scope } from '../../domain/scope.js';
import type { ProviderNote, WaitingForAccount } from '../../reacting/policy.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import type { ProviderRows } from './payment-rows.js';

/** Stores what policies report about providers, at least once and in any order. */
export class PaymentNotes {
  constructor(
    private readonly rows: ProviderRows,
    private readonly names: KeyedNames,
  ) {}

  note({ tenant, mode }: Scope, note: ProviderNote): Promise<void> {
    switch (note.kind) {
      case 'connected':
        return this.rows.recordConnection({ tenant, mode: note.mode });
      case 'event':
        return this.rows.recordEventTime({ tenant, mode }, note.at);
      case 'linked':
        return this.linked(this.names.customerStream({ tenant, mode }, note.customer));
    }
  }

  /** The customer of the stream has no account. */
  waits(scope: Scope, stream: string, event: WaitingForAccount): Promise<void> {
    return this.rows.addWaiting(scope, stream, event);
  }

  linked(stream: string): Promise<void> {
    return this.rows.markLinked(stream);
  }
}
