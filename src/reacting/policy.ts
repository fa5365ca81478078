import type { PersonId } from '../domain/account/account.events.js';
import type { AccountCommand } from '../domain/account/account.decider.js';
import type { DomainEvent } from '../domain/events.js';
import type { AccountRef, Mode } from '../domain/scope.js';
import type { LedgerEvent } from '../projecting/projector.js';
import type { MailType } from '../themes/theme-instance.js';
import type { Job } from '../work-queue/jobs.js';

/** A note about payment providers, kept outside the log. */
export type ProviderNote =
  | { readonly kind: 'connected'; readonly mode: Mode }
  /** Recording time, epoch milliseconds. */
  | { readonly kind: 'event'; readonly at: number }
  | { readonly kind: 'linked'; readonly customer: string };

/** An event of the provider: its keyed hash, the key of its ids, and its recording time. */
export interface WaitingForAccount {
  readonly eventRef: string;
  readonly subject: string;
  readonly at: number;
}

/** A policy's reaction. All kinds may be repeated; a repetition changes nothing. */
export type Reaction =
  | { readonly kind: 'command'; readonly account: AccountRef; readonly request: AccountCommand }
  /** Applies the customer of this stream to its account. */
  | {
      readonly kind: 'customer';
      readonly stream: string;
      /** Waits when no account has the customer. */
      readonly waiting: WaitingForAccount;
    }
  | { readonly kind: 'provider-note'; readonly note: ProviderNote }
  | ({ readonly kind: 'job' } & Job)
  /** The test clock of the event's tenant moved: its dated work becomes due. */
  | { readonly kind: 'test-clock' }
  /** Its test data was removed at this time, epoch ms; the next ledger has this number. */
  | { readonly kind: 'test-data'; readonly since: number; readonly ledger: number }
  /** The payment provider may have to be called for this account, or the customer's account. */
  | {
      readonly kind: 'payment';
      /** `customer`: the name of its stream. */
      readonly of: { readonly account: AccountRef } | { readonly customer: string };
      /** Epoch milliseconds; null: immediately. */
      readonly dueAt: number | null;
      /** Date that a test clock moves: epoch milliseconds. */
      readonly ledgerDate?: number;
    }
  | {
      readonly kind: 'mail';
      readonly type: MailType;
      readonly account: AccountRef;
      readonly person: PersonId;
      /** Its reward; null: none. */
      readonly about: string | null;
      /** Epoch milliseconds; null: immediately. */
      readonly dueAt: number | null;
      /** As of a payment. */
      readonly ledgerDate?: number;
    };

/**
 * A rule across accounts or across time: from an event to commands and jobs. Pure; the runner
 * carries out the reactions at least once, with ids made from event and rule. Policies are never
 * replayed with the read models.
 */
export interface Policy {
  readonly name: string;
  readonly handles: ReadonlySet<DomainEvent['type']>;
  react(event: LedgerEvent<DomainEvent>): readonly Reaction[];
}

/** Idempotent, since it is repeated after a failure. @throws when it had no effect. */
export type CarryOut = (
  event: LedgerEvent<DomainEvent>,
  policy: string,
  reaction: Reaction,
) => Promise<void>;
