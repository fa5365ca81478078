import type { AccountEvent } from '../domain/account/account.events.js';
import {
  evolve as evolveAccount,
  initialState as initialAccount,
  type AccountState,
} from '../domain/account/account.state.js';
import {
  evolve as evolveAudit,
  initialState as initialAudit,
  type AuditEvent,
  type AuditState,
} from '../domain/audit/audit.decider.js';
import {
  evolve as evolveCustomer,
  initialState as initialCustomer,
  type CustomerEvent,
  type CustomerState,
} from '../domain/customer/customer.state.js';
import {
  evolve as evolveExport,
  initialState as initialExport,
  type ExportEvent,
  type ExportState,
} from '../domain/export/export.decider.js';
import {
  evolve as evolveTankCodes,
  initialState as noTankCodes,
  type TankCodeEvent,
  type TankCodesState,
} from '../domain/fuel-tank/tank-codes.decider.js';
import {
  evolve as evolveModeration,
  initialState as initialModeration,
  type ModerationEvent,
  type ModerationState,
} from '../domain/moderation/moderation.decider.js';
import {
  evolve as evolveOperations,
  initialState as noOperations,
  type OperationEvent,
  type OperationsState,
} from '../domain/operation/operation.decider.js';
import {
  evolve as evolvePeriods,
  initialState as allOpen,
  type PeriodEvent,
  type PeriodsState,
} from '../domain/period/period.decider.js';
import {
  evolve as evolveProposals,
  initialState as noProposals,
  type ProposalEvent,
  type ProposalsState,
} from '../domain/proposal/proposal.decider.js';
import type { DomainEvent } from '../domain/events.js';
import type { SubjectId } from '../domain/personal.js';
import {
  evolve as evolveReservation,
  initialState as initialReservation,
  type ReservationEvent,
  type ReservationState,
} from '../domain/reservation/reservation.decider.js';
import {
  evolve as evolveShareLink,
  initialState as initialShareLink,
  type ShareLinkEvent,
  type ShareLinkState,
} from '../domain/share-link/share-link.decider.js';
import {
  evolve as evolveRegister,
  initialState as initialRegister,
  type TenantRegisterEvent,
  type TenantRegisterState,
} from '../domain/tenant/tenant-register.decider.js';
import {
  evolve as evolveTenant,
  initialState as initialTenant,
  type TenantEvent,
  type TenantState,
} from '../domain/tenant/tenant.decider.js';
import {
  evolve as evolveThemes,
  initialState as noThemes,
  type ThemeEvent,
  type RecordedChanges,
} from '../domain/theme/theme.decider.js';
import type { EventCodec } from '../event-log/codec.js';
import type { EventLog } from '../event-log/event-log.js';
import { CommandHandling, type StreamKind } from './handle-command.js';
import { HEAP_PER_STORED_BYTE, RememberedStreams } from './stream-cache.js';

/** The command loop, once for each kind of stream. */
export interface Streams {
  readonly accounts: CommandHandling<AccountState, AccountEvent>;
  readonly reservations: CommandHandling<ReservationState, ReservationEvent>;
  readonly tenants: CommandHandling<TenantState, TenantEvent>;
  readonly tenantRegister: CommandHandling<TenantRegisterState, TenantRegisterEvent>;
  readonly moderations: CommandHandling<ModerationState, ModerationEvent>;
  readonly audits: CommandHandling<AuditState, AuditEvent>;
  readonly tankCodes: CommandHandling<TankCodesState, TankCodeEvent>;
  readonly shareLinks: CommandHandling<ShareLinkState, ShareLinkEvent>;
  readonly periods: CommandHandling<PeriodsState, PeriodEvent>;
  readonly operations: CommandHandling<OperationsState, OperationEvent>;
  readonly exports: CommandHandling<ExportState, ExportEvent>;
  readonly proposals: CommandHandling<ProposalsState, ProposalEvent>;
  readonly themes: CommandHandling<RecordedChanges, ThemeEvent>;
  readonly customers: CommandHandling<CustomerState, CustomerEvent>;
}

function* subjectsOfAccount(state: AccountState): Iterable<SubjectId> {
  if (state.status === 'absent') return;
  yield state.account;
  yield* state.users.keys();
  // The cached referral may contain texts of people of this account that were erased already.
  if (state.referral) yield state.referral.referred.person;
  if (state.attribution) yield state.attribution.codeSubject;
}

function* subjectsOfProposals({ proposals, ended }: ProposalsState): Iterable<SubjectId> {
  for (const { by } of ended.values()) yield by.subject;
  for (const { person, accountId, by } of proposals.values()) {
    yield person;
    yield accountId.subject;
    yield by.subject;
  }
}

/** Endpoints come and go as often as a client likes, and at most 100 of them are there. */
const heapOfTenant = (state: TenantState): number =>
  HEAP_PER_STORED_BYTE * JSON.stringify(state).length;

/** Facts of a customer are compacted, and its hashes forgotten after some days. */
function heapOfCustomer({ seen, facts }: CustomerState): number {
  return HEAP_PER_SEEN * seen.reduce((sum, { size }) => sum + size, 0) + HEAP_PER_FACT * facts.size;
}

/** Upper bounds: a customer with 100 000 events of one day takes 21 MB. */
const HEAP_PER_SEEN = 256;
const HEAP_PER_FACT = 1024;

/** @param remembered shared by the streams of all kinds. */
export function openStreams(
  log: EventLog,
  codec: EventCodec,
  remembered = new RememberedStreams(),
): Streams {
  const of = <S, E extends DomainEvent>(kind: StreamKind<S, E>): CommandHandling<S, E> =>
    new CommandHandling(log, codec, kind, remembered);
  return {
    accounts: of({
      initialState: initialAccount,
      evolve: evolveAccount,
      subjectsOf: subjectsOfAccount,
    }),
    reservations: of({
      initialState: initialReservation,
      evolve: evolveReservation,
      subjectsOf: (state) => (state.status === 'held' ? [state.keySubject] : []),
    }),
    tenants: of({ initialState: initialTenant, evolve: evolveTenant, heapOf: heapOfTenant }),
    tenantRegister: of({ initialState: initialRegister, evolve: evolveRegister }),
    moderations: of({ initialState: initialModeration, evolve: evolveModeration }),
    audits: of({ initialState: initialAudit, evolve: evolveAudit }),
    tankCodes: of({ initialState: noTankCodes, evolve: evolveTankCodes }),
    shareLinks: of({ initialState: initialShareLink, evolve: evolveShareLink }),
    periods: of({ initialState: allOpen, evolve: evolvePeriods }),
    operations: of({ initialState: noOperations, evolve: evolveOperations }),
    exports: of({ initialState: initialExport, evolve: evolveExport }),
    customers: of({
      initialState: initialCustomer,
      evolve: evolveCustomer,
      subjectsOf: ({ subject }) => (subject === null ? [] : [subject]),
      heapOf: heapOfCustomer,
    }),
    proposals: of({
      initialState: noProposals,
      evolve: evolveProposals,
      subjectsOf: subjectsOfProposals,
    }),
    themes: of({ initialState: noThemes, evolve: evolveThemes }),
  };
}

/**
 * Evicts the cached streams that contain plain values of these people; undefined: all that may
 * contain any.
 */
export function forgetSubjects(
  streams: Pick<Streams, 'accounts' | 'reservations' | 'proposals' | 'customers'>,
  subjects?: readonly SubjectId[],
): void {
  const known = subjects && new Set(subjects);
  streams.accounts.forgetSubjects(known);
  streams.reservations.forgetSubjects(known);
  streams.proposals.forgetSubjects(known);
  streams.customers.forgetSubjects(known);
}
