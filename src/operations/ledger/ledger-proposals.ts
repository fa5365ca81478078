import { deterministicId } from '../../command-handling/deterministic-id.js';
import {
  AccountCommandEnvelope,
  EndProposalEnvelope,
  ProposalCommandEnvelope,
} from '../../command-handling/commands.js';
import { daysSince, proposalDays } from '../../command-handling/proposal-days.js';
import type { Core } from '../../stores/core.js';
import type { Personal } from '../../domain/personal.js';
import {
  PROPOSAL_LIFE_MS,
  type CorrectionProposed,
  type ProposalEnded,
} from '../../domain/proposal/proposal.decider.js';
import { isLedgerMode, LEDGER_MODE, MODES, type Scope } from '../../domain/scope.js';
import { ledgerOf } from '../../domain/tenant/test-clock.js';
import { pages } from '../../event-log/event-pages.js';
import { pause } from '../../foundation/pause.js';
import { tryLock } from '../../postgres/locks.js';
import { personNamed, staffSays, type StaffMeta } from '../audit.js';
import { onceIfKeyed, type KeyedBy } from '../operator-keys.js';
import {
  appendCorrection,
  notAdjusted,
  parametersOf,
  type AdjustmentRequest,
} from './ledger-adjustment.js';
import { decodeTypes, pagesOf } from './ledger-entries.js';
import { NotDone, notDone } from '../outcome.js';

/**
 * Where a proposal is recorded: a correction in two steps by two operators, of which the second one
 * appends it, rejects it, or the first one withdraws it.
 */
export interface ProposalName {
  readonly scope: Scope;
  /** `YYYY-MM-DD`, in UTC. */
  readonly day: string;
  /** 32 hex digits. */
  readonly proposalId: string;
}

/** `acme.live.20261123.9f…`: names tenant and mode, so that an approval needs the id alone. */
export const proposalIdOf = ({ scope, day, proposalId }: ProposalName): string =>
  [scope.tenant, scope.mode, day.replaceAll('-', ''), proposalId].join('.');

const FORM = new RegExp(
  `^([a-z0-9_-]{1,64})\\.(${LEDGER_MODE})\\.(\\d{4})(\\d{2})(\\d{2})\\.([0-9a-f]{32})$`,
);

/** Undefined: no id of a proposal. */
export function proposalNameOf(id: string): ProposalName | undefined {
  const [, tenant = '', mode, year = '', month = '', date = '', proposalId = ''] =
    FORM.exec(id) ?? [];
  if (!isLedgerMode(mode)) return undefined;
  return { scope: { tenant, mode }, day: `${year}-${month}-${date}`, proposalId };
}

/** Records a proposal with its audit event; the same key again is the same proposal. */
export async function proposeOnRecord(
  core: Pick<Core, 'commands' | 'names'>,
  meta: StaffMeta,
  request: Omit<AdjustmentRequest, 'approvedBy'>,
  keyed?: KeyedBy,
) {
  const once = { meta, operation: 'ledger propose', asked: request, keyed };
  const proposed = await onceIfKeyed(core.names, once, async (keyedMeta) => {
    const correction = { ...request, by: keyedMeta.actor.name };
    const outcome = await core.commands.execute(new ProposalCommandEnvelope(keyedMeta, correction));
    if ('refused' in outcome) throw notAdjusted(outcome, request);
    const { proposal, day, replayed } = outcome;
    const id = proposalIdOf({ scope: meta.scope, day, proposalId: proposal.proposalId });
    return { done: { id, expiresAt: expiryOf(proposal) }, replayed };
  });
  const { done: result, replayed } = proposed;
  const parameters = { proposal: result.id, ...parametersOf(core, meta, request, replayed) };
  return { result, parameters, completed: `the proposal ${result.id} stands` };
}

export const PROPOSAL_NOT_FOUND = new NotDone('PROPOSAL_NOT_FOUND', ['there is no such proposal']);
const PROPOSAL_IS_OWN = new NotDone('PROPOSAL_IS_OWN', [
  'a proposal is approved or rejected by another operator than the one who made it',
]);
const hasEnded = (state: ProposalState): NotDone =>
  notDone(`the proposal has ended: it is ${state}`);

export interface ApprovalRequest {
  readonly name: ProposalName;
  readonly meta: StaffMeta;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Called when the same operator had approved it before. */
  readonly onReplayed?: () => unknown;
}

type ProposalCore = Pick<Core, 'commands' | 'names' | 'streams' | 'pool'>;

/**
 * Appends the proposed correction, decided on the account as it is now, with its audit event. A
 * refused one leaves the proposal as it was.
 */
export const approveOnRecord = (
  core: ProposalCore,
  { name, meta, now, onReplayed }: ApprovalRequest,
) =>
  onlyEndOf(core, name, async ({ proposal, ended }) => {
    const approvedBy = meta.actor.name;
    if (isSamePerson(proposal.by, approvedBy)) throw PROPOSAL_IS_OWN;
    if (ended !== undefined) throw hasEnded(stateOf(ended));
    if (now > proposal.at + PROPOSAL_LIFE_MS)
      throw notDone('the proposal was not approved within seven days: propose it again');
    const { account, person, unit, amount } = proposal;
    const [accountId, userId, reason] = [
      proposal.accountId.value,
      proposal.userId.value,
      proposal.reason.value,
    ];
    if (accountId === null || userId === null || reason === null)
      throw notDone('the user of the proposal is forgotten');
    const request = { type: 'AdjustCredit', userId, person, unit, amount, reason } as const;
    const appended = await appendCorrection(
      core,
      new AccountCommandEnvelope({ ...meta, ...approvalOf(core, name) }, account, {
        ...request,
        approvedBy,
        by: proposal.by,
      }),
      { accountId, userId },
    );
    const { done, replayed } = appended;
    if (replayed && appended.approvedBy?.subject !== approvedBy.subject)
      throw notDone('another operator has approved the proposal already');
    if (replayed) onReplayed?.();
    const corrected = parametersOf(core, meta, { accountId, userId, unit, amount }, replayed);
    const parameters = { proposal: proposalIdOf(name), ...corrected };
    return { result: done, parameters, completed: 'the correction stands' };
  });

/**
 * Rejects a proposal that waits, for a reason, or withdraws it without one, with its audit event.
 */
export const endOnRecord = (
  core: ProposalCore & ListCore,
  { name, meta, now, reason }: ApprovalRequest & { readonly reason?: string },
) =>
  onlyEndOf(core, name, async (proposal) => {
    const { proposalId, day } = name;
    const { name: staff } = meta.actor;
    const isOwn = isSamePerson(proposal.proposal.by, staff);
    if (reason === undefined && !isOwn)
      throw new NotDone('PROPOSAL_OF_OTHERS', [
        'a proposal is withdrawn by the operator who made it',
      ]);
    if (reason !== undefined && isOwn) throw PROPOSAL_IS_OWN;
    const { state } = await shownProposal(core, proposal, now);
    if (state !== 'waiting') throw hasEnded(state);
    const end = { at: now, proposalId, by: staff };
    const event: ProposalEnded =
      reason === undefined
        ? { ...end, type: 'CorrectionWithdrawn' }
        : { ...end, type: 'CorrectionRejected', reason: staffSays(meta, reason) };
    await core.commands.execute(new EndProposalEnvelope(meta, day, event));
    const id = proposalIdOf(name);
    return {
      result: await shownProposal(core, { ...proposal, ended: event }, now),
      parameters: { proposal: id },
      completed: `the proposal ${id} is ${stateOf(event)}`,
    };
  });

/**
 * Runs work that may end a proposal while no other process does. Nothing holds a connection while
 * it waits: the work needs further ones.
 */
async function onlyEndOf<T>(
  core: ProposalCore,
  name: ProposalName,
  work: (found: NamedProposal) => Promise<T>,
): Promise<T> {
  for (;;) {
    const outcome = await tryLock(core.pool, 'end a proposal', async () => {
      const ofDay = await proposalsOf(core, name.scope, name.day);
      const found = ofDay.find(({ proposal }) => proposal.proposalId === name.proposalId);
      if (found === undefined) throw PROPOSAL_NOT_FOUND;
      return work(found);
    });
    if (outcome !== 'locked') return outcome;
    await pause(20);
  }
}

export const PROPOSAL_STATES = ['waiting', 'approved', 'rejected', 'withdrawn', 'lapsed'] as const;
type ProposalState = (typeof PROPOSAL_STATES)[number];

/** Times are ISO 8601. A text is null when it is forgotten, or when there is none. */
export type ShownProposal = Awaited<ReturnType<typeof shownProposal>>;

/** Accounts are loaded in parallel, up to this many. */
const LOADS_AT_ONCE = 8;

interface NamedProposal {
  readonly name: ProposalName;
  readonly proposal: CorrectionProposed;
  readonly ended: ProposalEnded | undefined;
}

type ListCore = Pick<Core, 'names' | 'streams' | 'log' | 'codec'>;

/**
 * Proposals, newest first. Accounts are loaded until there are `limit` of them.
 * @param selection without a state those of all; `now` in epoch milliseconds.
 */
export async function listProposals(
  core: ListCore,
  scope: Scope,
  {
    state,
    limit,
    now,
  }: { readonly state?: ProposalState | undefined; readonly limit: number; readonly now: number },
) {
  const shown: ShownProposal[] = [];
  const days = state === 'waiting' ? proposalDays(now) : await allDays(core, now);
  for await (const some of pagesOf(newestProposals(core, scope, days), LOADS_AT_ONCE)) {
    const each = await Promise.all(some.map((one) => shownProposal(core, one, now)));
    shown.push(...each.filter((one) => state === undefined || one.state === state));
    if (shown.length >= limit) break;
  }
  return shown.slice(0, limit);
}

async function allDays({ log }: Pick<Core, 'log'>, now: number): Promise<readonly string[]> {
  const [first] = await log.readAll(undefined, 1);
  return daysSince(first?.recordedAt ?? now, now);
}

/** The newest first. */
async function proposalsOf(
  { names, streams }: Pick<Core, 'names' | 'streams'>,
  scope: Scope,
  day: string,
): Promise<readonly NamedProposal[]> {
  const { state } = await streams.proposals.load(names.proposalsStream(scope, day));
  return [...state.proposals.values()].reverse().map((proposal) => {
    const { proposalId } = proposal;
    return { name: { scope, day, proposalId }, proposal, ended: state.ended.get(proposalId) };
  });
}

async function* newestProposals(
  core: Pick<Core, 'names' | 'streams'>,
  scope: Scope,
  days: readonly string[],
): AsyncIterable<NamedProposal> {
  for (const day of days) yield* await proposalsOf(core, scope, day);
}

/** The ids of proposals, in the whole log, that begin with a text. */
export async function proposalIdsFrom(
  core: Pick<Core, 'names' | 'streams' | 'log' | 'tenantCommands'>,
  prefix: string,
): Promise<readonly string[]> {
  const days = await allDays(core, Date.now());
  const ids: string[] = [];
  for (const tenant of await core.tenantCommands.list())
    for (const mode of MODES) {
      const scope = ledgerOf(tenant, mode);
      const some = days.filter((day) => {
        const head = proposalIdOf({ scope, day, proposalId: '' });
        return head.startsWith(prefix) || prefix.startsWith(head);
      });
      for await (const { name } of newestProposals(core, scope, some)) ids.push(proposalIdOf(name));
    }
  return ids.filter((id) => id.startsWith(prefix));
}

async function shownProposal(core: ListCore, named: NamedProposal, now: number) {
  const { name, proposal } = named;
  const { accountId, userId, unit, amount, reason, by, at } = proposal;
  return {
    id: proposalIdOf(name),
    account: accountId.value,
    user: userId.value,
    unit,
    amount,
    reason: reason.value,
    proposedBy: by.value,
    proposedAt: iso(at),
    expiresAt: expiryOf(proposal),
    ...(await endOf(core, named, now)),
  };
}

const stateOf = ({ type }: ProposalEnded): ProposalState =>
  type === 'CorrectionRejected' ? 'rejected' : 'withdrawn';

/** A proposal whose user is forgotten has lapsed: there is nothing to correct. */
async function endOf(core: ListCore, { name, proposal, ended }: NamedProposal, now: number) {
  const end = (
    state: ProposalState,
    endedBy: string | null = null,
    endedAt: number | null = null,
    endReason: string | null = null,
  ) => ({ state, endedBy, endedAt: endedAt === null ? null : iso(endedAt), endReason });
  if (ended !== undefined) {
    const reason = ended.type === 'CorrectionRejected' ? ended.reason.value : null;
    return end(stateOf(ended), ended.by.value, ended.at, reason);
  }
  const { account, person } = proposal;
  const stream = core.names.accountStream(name.scope, account);
  const { state, handled } = await core.streams.accounts.load(stream);
  const isOver = now > proposal.at + PROPOSAL_LIFE_MS;
  const approving = approvalOf(core, name);
  const approval =
    isOver || handled.find(approving) !== undefined
      ? await approvalIn(core, stream, approving.commandId)
      : undefined;
  if (approval !== undefined) return end('approved', approval.approvedBy.value, approval.at);
  if (isOver) return end('lapsed', null, proposal.at + PROPOSAL_LIFE_MS);
  return end(state.status !== 'absent' && state.users.has(person) ? 'waiting' : 'lapsed');
}

const CORRECTIONS: ReadonlySet<string> = new Set([
  'RewardGranted',
  'CreditRedeemed',
  'AccountCreditRedeemed',
]);

/** Who approved a proposal and when, from the correction that its approval appended. */
async function approvalIn(
  { log, codec }: Pick<Core, 'log' | 'codec'>,
  stream: string,
  commandId: string,
) {
  for await (const page of pages(log.readStream(stream)))
    for (const { event, envelope } of await decodeTypes(codec, page, CORRECTIONS))
      if (envelope.commandId === commandId && 'adjustment' in event && event.adjustment)
        return { approvedBy: event.adjustment.approvedBy, at: event.at };
  return undefined;
}

const iso = (at: number): string => new Date(at).toISOString();
const expiryOf = ({ at }: CorrectionProposed): string => iso(at + PROPOSAL_LIFE_MS);

/** The same for every approver: the account's stream takes the correction once. */
function approvalOf({ names }: Pick<Core, 'names'>, name: ProposalName) {
  const key = names.digest('proposal-approval', proposalIdOf(name));
  return {
    commandId: deterministicId(key, 'approval'),
    idempotency: { key, fingerprint: key },
  };
}

/** Also where the command line has another spelling of the name than OPERATORS_FILE. */
function isSamePerson(a: Personal<string>, b: Personal<string>): boolean {
  if (a.value === null || b.value === null) return a.subject === b.subject;
  return personNamed(a.value) === personNamed(b.value);
}
