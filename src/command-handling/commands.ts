import type { Command } from '@nestjs/cqrs';
import type { AccountEvent, PersonId } from '../domain/account/account.events.js';
import type { AccountState } from '../domain/account/account.state.js';
import type { ReceiveProviderEvent } from '../domain/customer/customer.decider.js';
import type { ProviderIds } from '../domain/customer/customer.state.js';
import type { ExportCommand, ExportState } from '../domain/export/export.decider.js';
import type { ObservedSides } from '../domain/account/moderation/moderation-of-account.js';
import type { ModerationAction } from '../domain/moderation/moderation.decider.js';
import type { RecordOperation } from '../domain/operation/operation.decider.js';
import type { ChangePeriod } from '../domain/period/period.decider.js';
import type {
  CorrectionProposed,
  ProposalEnded,
  ProposeCorrection,
} from '../domain/proposal/proposal.decider.js';
import type { Refusal, Refused } from '../domain/refusal.js';
import type { AccountRef } from '../domain/scope.js';
import type { CountedVisits } from '../domain/share-link/share-link.decider.js';
import type { ThemeEvent } from '../domain/theme/theme.decider.js';
import type { OpenTenant, TenantCommand } from '../domain/tenant/tenant.decider.js';
import type { CommandMeta } from '../event-log/envelope.js';
import type { Position } from '../event-log/event-log.js';
import type { AccountCommand } from '../domain/account/account.decider.js';
import type { Outcome } from './outcome.js';
import type { ErasureCause, ListedErasure } from './processes/erasure-process.js';

/**
 * Every change of a ledger is one of these commands, sent through Nest's CommandBus
 * (command-bus.ts). They use Nest as a type only, so that read-only operator commands do not load
 * it.
 */
const CommandOf = Object as unknown as abstract new <R>() => Command<R>;

/** Sends commands. */
export interface Commands {
  execute<R>(command: Command<R>): Promise<R>;
}

export type AccountOutcome = Exclude<
  Outcome<AccountState, AccountEvent>,
  { kind: 'held' | 'in-need' }
>;

export class AccountCommandEnvelope extends CommandOf<AccountOutcome> {
  constructor(
    readonly meta: CommandMeta,
    readonly account: AccountRef,
    readonly command: AccountCommand,
    /** Of an import: codes that are not generated, since later rows assign them. */
    readonly keepsCode?: (code: string) => boolean,
  ) {
    super();
  }
}

/** Visitors followed links that share this code. */
export class CountVisitsEnvelope extends CommandOf<void> {
  constructor(
    readonly meta: CommandMeta,
    readonly code: string,
    /** `YYYY-MM-DD`, in UTC. */
    readonly day: string,
    readonly counted: CountedVisits,
  ) {
    super();
  }
}

export interface ModerationOutcome {
  /** The key was used for another request. */
  readonly refused?: Refusal;
  /** Empty: done. Otherwise nothing changed; each line begins with a referral's id. */
  readonly reasons: readonly string[];
  readonly position: Position | null;
  /** The outcome of an earlier, equal command. */
  readonly replayed: boolean;
}

/** A decision on one referral. */
export interface ModerationDecision {
  readonly referralId: string;
  readonly action: ModerationAction;
  /** The sides that the operator saw; undefined: not compared. */
  readonly seen?: ObservedSides | undefined;
  /** Of an operator. */
  readonly reason?: string | undefined;
}

export class ModerationCommandEnvelope extends CommandOf<ModerationOutcome> {
  constructor(
    readonly meta: CommandMeta,
    readonly actions: readonly ModerationDecision[],
  ) {
    super();
  }
}

/** An access to a person's data, recorded before the data is shown. */
export class AuditCommandEnvelope extends CommandOf<Position | null> {
  constructor(
    readonly meta: CommandMeta,
    readonly account: AccountRef,
    readonly person: PersonId,
  ) {
    super();
  }
}

export type TenantOutcome =
  | {
      /** After the command. */
      readonly tenant: OpenTenant;
      readonly position: Position | null;
      /** The outcome of an earlier, equal request. */
      readonly replayed: boolean;
    }
  | Refused;

/** Creates or changes a tenant or its settings. */
export class TenantCommandEnvelope extends CommandOf<TenantOutcome> {
  constructor(
    /** Its scope names the tenant. */
    readonly meta: CommandMeta,
    readonly command: TenantCommand,
    readonly unless?: TenantCheck,
  ) {
    super();
  }
}

/** Why the command is refused; undefined: it is not. Repeated after a concurrent change. */
export type TenantCheck = (tenant: OpenTenant) => Promise<Refused | undefined>;

export type PeriodOutcome = { readonly position: Position | null } | Refused;

/** Closes or reopens an accounting period of a tenant and mode. */
export class PeriodCommandEnvelope extends CommandOf<PeriodOutcome> {
  constructor(
    readonly meta: CommandMeta,
    readonly command: ChangePeriod,
  ) {
    super();
  }
}

export type ExportOutcome =
  | {
      readonly state: ExportState;
      readonly position: Position | null;
      /** False: the stream already had an outcome. */
      readonly changed: boolean;
      readonly replayed: boolean;
    }
  | Refused;

/** A step of an export. */
export class ExportCommandEnvelope extends CommandOf<ExportOutcome> {
  constructor(
    readonly meta: CommandMeta,
    readonly exportId: string,
    readonly command: ExportCommand,
    /** Called before a request is recorded. False: no room for one more. */
    readonly reserve: () => Promise<boolean> = () => Promise.resolve(true),
  ) {
    super();
  }
}

/** Records an operator's action or access; returns the position of the record. */
export class OperationCommandEnvelope extends CommandOf<Position | null> {
  constructor(
    readonly meta: CommandMeta,
    readonly operation: RecordOperation,
  ) {
    super();
  }
}

export type ProposalOutcome =
  | {
      readonly proposal: CorrectionProposed;
      /** `YYYY-MM-DD`, in UTC: names its stream. */
      readonly day: string;
      readonly position: Position | null;
      /** The outcome of an earlier, equal request. */
      readonly replayed: boolean;
    }
  | Refused;

/** Proposes a correction, which another operator approves. */
export class ProposalCommandEnvelope extends CommandOf<ProposalOutcome> {
  constructor(
    readonly meta: CommandMeta,
    readonly correction: Omit<ProposeCorrection, 'proposalId' | 'account' | 'now' | 'ledgerNow'>,
  ) {
    super();
  }
}

/** Rejects or withdraws a proposal of a day; false: it had ended. */
export class EndProposalEnvelope extends CommandOf<boolean> {
  constructor(
    readonly meta: CommandMeta,
    /** `YYYY-MM-DD`, in UTC: names its stream. */
    readonly day: string,
    readonly event: ProposalEnded,
  ) {
    super();
  }
}

/** Records a change of a theme, already stored as a row; returns its position. */
export class ThemeCommandEnvelope extends CommandOf<Position> {
  constructor(
    readonly meta: CommandMeta,
    readonly event: ThemeEvent,
  ) {
    super();
  }
}

/** `full`: the customer has too many events of the day. */
export type RecordedEvent = 'recorded' | 'repeated' | 'full';

/** Records an event of a payment provider. */
export class ProviderEventEnvelope extends CommandOf<RecordedEvent> {
  constructor(
    readonly meta: CommandMeta,
    /** The provider's id; null: an event without a customer or without kept data. */
    readonly customer: string | null,
    readonly eventId: string,
    readonly event: Omit<ReceiveProviderEvent, 'at' | 'eventRef' | 'ids' | 'refs'> & {
      readonly ids: ProviderIds;
      /** The provider's ids of its subscription, and of those that are left when it ends. */
      readonly subscription: string | null;
      readonly left: readonly string[];
    },
  ) {
    super();
  }
}

/** Carries out an erasure that a newer copy of the log holds. */
export class RepeatErasureEnvelope extends CommandOf<void> {
  constructor(
    readonly cause: ErasureCause,
    readonly erasure: ListedErasure,
    /** The stream of the account's customer; undefined: this log has none. */
    readonly customerStream: string | undefined,
  ) {
    super();
  }
}
