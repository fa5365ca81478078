import {
  AccountCommandEnvelope,
  EndProposalEnvelope,
  ProposalCommandEnvelope,
} from '../../command-handling/commands.js';
import type { Core } from '../../stores/core.js';
import type { Personal } from '../../domain/personal.js';
import {
  PROPOSAL_LIFE_MS,
  type ProposalEnded,
  type ProposeCorrection,
} from '../../domain/proposal/proposal.decider.js';
import { whenLockFree } from '../../postgres/locks.js';
import { personNamed, staffSays, type StaffMeta } from '../audit.js';
import { onceIfKeyed, type KeyedBy } from '../operator-keys.js';
import { NotDone, notDone } from '../outcome.js';
import { checkBalance } from './correction-preview.js';
import {
  appendCorrection,
  notAdjusted,
  parametersOf,
  type AdjustmentRequest,
} from './ledger-adjustment.js';
import {
  approvalOf,
  expiryOf,
  proposalIdOf,
  proposalsOf,
  shownProposal,
  stateOf,
  type ListCore,
  type NamedProposal,
  type ProposalName,
  type ProposalState,
} from './ledger-proposals.js';

type ProposalRequest = Omit<AdjustmentRequest, 'approvedBy'> & Pick<ApprovalRequest, 'balance'>;

/** Records a proposal with its audit event; the same key again is the same proposal. */
export async function proposeWithAudit(
  core: ProposalCore,
  meta: StaffMeta,
  { balance, ...request }: ProposalRequest,
  keyed?: KeyedBy,
) {
  const once = { meta, asked: request, keyed };
  const proposed = await onceIfKeyed(core.names, once, async (keyedMeta) => {
    const { accountId: account, unit } = request;
    await checkBalance(core, meta.scope, { account, unit, balance });
    const { done, replayed } = await proposeNow(core, keyedMeta, request);
    return { done: { id: done.id, expiresAt: done.expiresAt }, replayed };
  });
  const { done: result, replayed } = proposed;
  const parameters = { proposal: result.id, ...parametersOf(core, meta, request, replayed) };
  return { result, parameters, completed: `the proposal ${result.id} stands` };
}

/** Without an audit event. @throws {NotDone} */
export async function proposeNow(
  core: Pick<Core, 'commands'>,
  meta: StaffMeta,
  request: Omit<AdjustmentRequest, 'approvedBy'> & Pick<ProposeCorrection, 'grant'>,
) {
  const correction = { ...request, by: meta.actor.name };
  const outcome = await core.commands.execute(new ProposalCommandEnvelope(meta, correction));
  if ('refused' in outcome) throw notAdjusted(outcome, request);
  const { proposal, day, position, replayed } = outcome;
  const { proposalId, person } = proposal;
  const id = proposalIdOf({ scope: meta.scope, day, proposalId });
  return { done: { id, expiresAt: expiryOf(proposal), position, person }, replayed };
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
  /** The balance that the operator's form shows: refused when it is another one by now. */
  readonly balance?: number | undefined;
}

type ProposalCore = Pick<
  Core,
  'commands' | 'names' | 'streams' | 'pool' | 'tenants' | 'log' | 'codec'
>;

/**
 * Appends the proposed correction, decided on the account as it is now, with its audit event. A
 * refused one leaves the proposal as it was.
 */
export const approveWithAudit = (
  core: ProposalCore,
  { name, meta, now, onReplayed, balance }: ApprovalRequest,
) =>
  onlyEndOf(core, name, async (found) => {
    const { proposal, ended } = found;
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
    const { state } = await shownProposal(core, found, now);
    // Approved before, the proposal itself has changed the balance.
    if (state === 'waiting')
      await checkBalance(core, name.scope, { account: accountId, unit, balance });
    const grant = proposal.grant && {
      name: proposal.grant.name.value,
      dateExpires: proposal.grant.dateExpires,
    };
    const correction = { userId, person, unit, amount, reason, grant };
    const appended = await appendCorrection(
      core,
      new AccountCommandEnvelope({ ...meta, ...approvalOf(core, name) }, account, {
        type: 'AdjustCredit',
        ...correction,
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
export const endWithAudit = (
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

/** Runs work that may end a proposal while no other process does. */
const onlyEndOf = <T>(
  core: ProposalCore,
  name: ProposalName,
  work: (found: NamedProposal) => Promise<T>,
): Promise<T> =>
  whenLockFree(core.pool, 'end a proposal', async () => {
    const ofDay = await proposalsOf(core, name.scope, name.day);
    const found = ofDay.find(({ proposal }) => proposal.proposalId === name.proposalId);
    if (found === undefined) throw PROPOSAL_NOT_FOUND;
    return work(found);
  });

/** Also where the command line has another spelling of the name than OPERATORS_FILE. */
function isSamePerson(a: Personal<string>, b: Personal<string>): boolean {
  if (a.value === null || b.value === null) return a.subject === b.subject;
  return personNamed(a.value) === personNamed(b.value);
}
