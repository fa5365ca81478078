import type { Scope } from '../../domain/scope.js';
import type { ProviderNote, WaitingForAccount } from '../../reacting/policy.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import type { ProviderRows } from './payment-rows.js';

/** Keeps the rows beside the log, as policies ask for it: at least once, in any order. */
export class PaymentNotes {
  constructor(
    private readonly rows: ProviderRows,
    private readonly names: KeyedNames,
  ) {}

  note({ tenant, mode }: Scope, note: ProviderNote): Promise<void> {
    switch (note.kind) {
      case 'connected':
        return this.rows.noteConnection({ tenant, mode: note.mode });
      case 'event':
        return this.rows.noteEvent({ tenant, mode }, note.at);
      case 'linked':
        return this.linked(this.names.customerStream({ tenant, mode }, note.customer));
    }
  }

  /** No account has the customer of the stream. */
  waits(scope: Scope, stream: string, event: WaitingForAccount): Promise<void> {
    return this.rows.addWaiting(scope, stream, event);
  }

  linked(stream: string): Promise<void> {
    return this.rows.markLinked(stream);
  }
}
