import * as account from '../domain/account/account.state.js';
import type { AuditEvent } from '../domain/audit/audit.decider.js';
import * as customer from '../domain/customer/customer.state.js';
import type { DomainEvent } from '../domain/events.js';
import * as exporting from '../domain/export/export.decider.js';
import * as tankCodes from '../domain/fuel-tank/tank-codes.decider.js';
import * as importedRow from '../domain/imported-row/imported-row.decider.js';
import * as moderation from '../domain/moderation/moderation.decider.js';
import type { OperationEvent } from '../domain/operation/operation.decider.js';
import * as period from '../domain/period/period.decider.js';
import type { SubjectId } from '../domain/personal.js';
import * as proposal from '../domain/proposal/proposal.decider.js';
import * as reservation from '../domain/reservation/reservation.decider.js';
import type { ShareLinkEvent } from '../domain/share-link/share-link.decider.js';
import * as tenantRegister from '../domain/tenant/tenant-register.decider.js';
import * as tenant from '../domain/tenant/tenant.decider.js';
import * as theme from '../domain/theme/theme.decider.js';
import type { EventCodec } from '../event-log/codec.js';
import { CommandHandling, type DecidedLog, type StreamKind } from './handle-command.js';
import { HEAP_PER_STORED_BYTE, CachedStreams } from './stream-cache.js';

function* subjectsOfAccount(state: account.AccountState): Iterable<SubjectId> {
  if (state.status === 'absent') return;
  yield state.account;
  yield* state.users.keys();
  // The cached referral may contain texts of people of this account that were erased already.
  if (state.referral) yield state.referral.referred.person;
  if (state.attribution) yield state.attribution.codeSubject;
}

function* subjectsOfProposals({ proposals, ended }: proposal.ProposalsState): Iterable<SubjectId> {
  for (const { by } of ended.values()) yield by.subject;
  for (const { person, accountId, by } of proposals.values()) {
    yield person;
    yield accountId.subject;
    yield by.subject;
  }
}

function* subjectsOfModeration(state: moderation.ModerationState): Iterable<SubjectId> {
  if (state.status === 'absent') return;
  for (const { reason } of state.items)
    if (reason) for (const { subject } of Object.values(reason)) yield subject;
}

/** Endpoints are replaced as often as a client likes, and number at most 100. */
const heapOfTenant = (state: tenant.TenantState): number =>
  HEAP_PER_STORED_BYTE * JSON.stringify(state).length;

/** Facts of a customer are compacted, and its hashes dropped after some days. */
function heapOfCustomer({ seen, facts }: customer.CustomerState): number {
  return HEAP_PER_SEEN * seen.reduce((sum, { size }) => sum + size, 0) + HEAP_PER_FACT * facts.size;
}

/** Upper bounds: a customer with 100,000 events of one day takes 21 MB. */
const HEAP_PER_SEEN = 256;
const HEAP_PER_FACT = 1024;

/** Of streams that only record: no decision needs an earlier event. */
const unfolded = <E extends DomainEvent>(): StreamKind<null, E> => ({
  initialState: null,
  evolve: () => null,
});

/** The command loop, once for each kind of stream. */
export type Streams = ReturnType<typeof openStreams>;

/** @param remembered shared by the streams of all kinds. */
export function openStreams(log: DecidedLog, codec: EventCodec, remembered = new CachedStreams()) {
  const of = <S, E extends DomainEvent>(kind: StreamKind<S, E>): CommandHandling<S, E> =>
    new CommandHandling(log, codec, kind, remembered);
  return {
    accounts: of({ ...account, subjectsOf: subjectsOfAccount }),
    reservations: of({
      ...reservation,
      subjectsOf: (state) => (state.status === 'held' ? [state.keySubject] : []),
    }),
    tenants: of({ ...tenant, heapOf: heapOfTenant }),
    tenantRegister: of(tenantRegister),
    moderations: of({ ...moderation, subjectsOf: subjectsOfModeration }),
    audits: of(unfolded<AuditEvent>()),
    tankCodes: of(tankCodes),
    shareLinks: of(unfolded<ShareLinkEvent>()),
    periods: of(period),
    operations: of(unfolded<OperationEvent>()),
    exports: of(exporting),
    customers: of({
      ...customer,
      subjectsOf: ({ subject }) => (subject === null ? [] : [subject]),
      heapOf: heapOfCustomer,
    }),
    proposals: of({ ...proposal, subjectsOf: subjectsOfProposals }),
    themes: of(theme),
    importedRows: of(importedRow),
  };
}

/** Evicts streams with plain values of these people; undefined: all that may have any. */
export function forgetSubjects(
  streams: Pick<Streams, 'accounts' | 'reservations' | 'proposals' | 'customers' | 'moderations'>,
  subjects?: readonly SubjectId[],
): void {
  const known = subjects && new Set(subjects);
  streams.accounts.forgetSubjects(known);
  streams.reservations.forgetSubjects(known);
  streams.proposals.forgetSubjects(known);
  streams.customers.forgetSubjects(known);
  streams.moderations.forgetSubjects(known);
}
