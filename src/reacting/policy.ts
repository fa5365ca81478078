import type { PersonId } from '../domain/account/account.events.js';
import type { AccountCommand } from '../domain/account/account.decider.js';
import type { DomainEvent } from '../domain/events.js';
import type { AccountRef, Mode } from '../domain/scope.js';
import type { LedgerEvent } from '../projecting/projector.js';
import type { MailType } from '../themes/theme-instance.js';
import type { Job } from '../work-queue/jobs.js';

/** What is kept of payment providers beside the log. */
export type ProviderNote =
  | { readonly kind: 'connected'; readonly mode: Mode }
  /** When it was recorded, epoch milliseconds. */
  | { readonly kind: 'event'; readonly at: number }
  | { readonly kind: 'linked'; readonly customer: string };

/** An event of the provider: its keyed hash, the key of its ids, when it was recorded. */
export interface WaitingForAccount {
  readonly eventRef: string;
  readonly subject: string;
  readonly at: number;
}

/** A policy's reaction. All kinds may be repeated; a repetition changes nothing. */
export type Reaction =
  | { readonly kind: 'command'; readonly account: AccountRef; readonly request: AccountCommand }
  /** The account that has the customer of this stream is brought to what it says. */
  | {
      readonly kind: 'customer';
      readonly stream: string;
      /** What waits, when no account has it. */
      readonly waiting: WaitingForAccount;
    }
  | { readonly kind: 'provider-note'; readonly note: ProviderNote }
  | ({ readonly kind: 'job' } & Job)
  /** What waits for dates of the test mode of the event's tenant is due by its test clock. */
  | { readonly kind: 'test-clock' }
  /** Its test data were removed at this time, epoch ms; the next ledger has this number. */
  | { readonly kind: 'test-data'; readonly since: number; readonly ledger: number }
  /** The payment provider may have to be called for this account, or for who has the customer. */
  | {
      readonly kind: 'payment';
      /** `customer`: the name of its stream. */
      readonly of: { readonly account: AccountRef } | { readonly customer: string };
      /** Epoch milliseconds; null: at once. */
      readonly dueAt: number | null;
      /** Set where a test clock moves the time of this date: epoch milliseconds. */
      readonly ledgerDate?: number;
    }
  | {
      readonly kind: 'mail';
      readonly type: MailType;
      /** The recipient. */
      readonly account: AccountRef;
      readonly person: PersonId;
      /** The reward that it is about; null: none. */
      readonly about: string | null;
      /** Epoch milliseconds; null: at once. */
      readonly dueAt: number | null;
      /** As of a payment. */
      readonly ledgerDate?: number;
    };

/**
 * A rule across accounts or across time: from an event to commands and jobs. Pure; the runner
 * carries out the reactions, at least once, with ids made from the event and the rule. Policies are
 * never replayed with the read models.
 */
export interface Policy {
  readonly name: string;
  readonly handles: ReadonlySet<DomainEvent['type']>;
  react(event: LedgerEvent<DomainEvent>): readonly Reaction[];
}

/**
 * Carries out one reaction. Repeated after a failure, so it must be idempotent. @throws when the
 * reaction had no effect.
 */
export type CarryOut = (
  event: LedgerEvent<DomainEvent>,
  policy: string,
  reaction: Reaction,
) => Promise<void>;
