import { deterministicId } from '../../command-handling/deterministic-id.js';
import {
  AccountCommandEnvelope,
  ProposalCommandEnvelope,
} from '../../command-handling/commands.js';
import { proposalDays } from '../../command-handling/proposal-days.js';
import type { Core } from '../../stores/core.js';
import type { Personal } from '../../domain/personal.js';
import { PROPOSAL_LIFE_MS, type ProposalEvent } from '../../domain/proposal/proposal.decider.js';
import type { Scope } from '../../domain/scope.js';
import type { CommandMeta } from '../../event-log/envelope.js';
import { memberOfStaff, operatorMeta, personNamed } from '../audit.js';
import type { Done } from '../audited.js';
import { onceByKey, type Keyed, type KeyedBy } from '../operator-keys.js';
import { NotDone, type Outcome } from '../outcome.js';
import { appendCorrection, type Adjusted, type AdjustmentRequest } from './ledger-adjustment.js';
import { proposalIdOf, type ProposalName } from './proposal-id.js';

/**
 * `ledger propose`, `ledger approve` and `ledger proposals`: a correction in two steps by two
 * operators. The second one appends it.
 */
export type ProposalRequest = Omit<AdjustmentRequest, 'approvedBy'>;

export interface Proposed {
  readonly id: string;
  /** ISO 8601. */
  readonly expiresAt: string;
}

type Parts = Pick<Core, 'commands' | 'names'>;

/** Records a proposal with its audit event; the same key again is the same proposal. */
export async function proposeOnRecord(
  core: Parts,
  scope: Scope,
  request: ProposalRequest,
  keyed?: KeyedBy,
): Promise<Outcome<Done<Proposed>>> {
  let repeated: true | undefined;
  const result = await proposedOnce(
    core,
    scope,
    request,
    keyed && {
      ...keyed,
      onReplayed: () => {
        repeated = true;
        keyed.onReplayed?.();
      },
    },
  );
  if (result instanceof NotDone) return result;
  const { accountId, userId, unit, amount } = request;
  const account = core.names.accountRef(scope, accountId);
  const user = core.names.userRef(scope, account, userId);
  const parameters = { proposal: result.id, account, user, unit, amount, repeated };
  return { result, parameters, completed: `the proposal ${result.id} stands` };
}

async function proposedOnce(
  core: Parts,
  scope: Scope,
  request: ProposalRequest,
  keyed: KeyedBy | undefined,
): Promise<Outcome<Proposed>> {
  const causationId = 'ProposeCorrection';
  const proposing = (meta: CommandMeta) => proposed(core, request, meta);
  if (keyed === undefined) {
    const made = await proposing(operatorMeta(scope, causationId));
    return made instanceof NotDone ? made : made.done;
  }
  const { by, ...asked } = request;
  const operation = { scope, operation: 'ledger propose', by, asked, causationId, ...keyed };
  return onceByKey(core.names, operation, proposing);
}

async function proposed(
  { commands, names }: Parts,
  { by, ...correction }: ProposalRequest,
  meta: CommandMeta,
): Promise<Outcome<Keyed<Proposed>>> {
  const { scope } = meta;
  const outcome = await commands.execute(
    new ProposalCommandEnvelope(meta, { ...correction, by: memberOfStaff(names, scope, by) }),
  );
  if ('refused' in outcome) {
    const { refused, details = [] } = outcome;
    if (refused === 'IDEMPOTENCY_KEY_REUSED') return new NotDone({ code: refused });
    const { accountId, userId } = correction;
    return new NotDone({ code: 'NOT_ADJUSTED', refused, details, accountId, userId });
  }
  const { proposal, day, replayed } = outcome;
  const id = proposalIdOf({ scope, day, proposalId: proposal.proposalId });
  return { done: { id, expiresAt: expiryOf(proposal) }, replayed };
}

export interface ApprovalRequest {
  readonly name: ProposalName;
  readonly by: string;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Called when the same operator had approved it before. */
  readonly onReplayed?: () => unknown;
}

/**
 * Appends the proposed correction, decided on the account as it is now, with its audit event. A
 * refused one leaves the proposal as it was.
 */
export async function approveOnRecord(
  core: Pick<Core, 'commands' | 'names' | 'streams'>,
  { name, by, now, onReplayed }: ApprovalRequest,
): Promise<Outcome<Done<Adjusted>>> {
  const { names } = core;
  const { scope } = name;
  const { state } = await core.streams.proposals.load(names.proposalsStream(scope, name.day));
  const proposal = state.proposals.get(name.proposalId);
  if (proposal === undefined) return new NotDone({ code: 'PROPOSAL_NOT_FOUND' });
  const approvedBy = memberOfStaff(names, scope, by);
  if (isSamePerson(proposal.by, approvedBy)) return new NotDone({ code: 'PROPOSAL_IS_OWN' });
  if (now > proposal.at + PROPOSAL_LIFE_MS) return new NotDone({ code: 'PROPOSAL_EXPIRED' });
  const { account, person, unit, amount } = proposal;
  const [accountId, userId, reason] = [
    proposal.accountId.value,
    proposal.userId.value,
    proposal.reason.value,
  ];
  if (accountId === null || userId === null || reason === null)
    return new NotDone({ code: 'PROPOSAL_WITHOUT_USER' });
  const request = { type: 'AdjustCredit', userId, person, unit, amount, reason } as const;
  const appended = await appendCorrection(
    core,
    new AccountCommandEnvelope(approvalMeta(core, name), account, {
      ...request,
      approvedBy,
      by: proposal.by,
    }),
    { accountId, userId },
  );
  if (appended instanceof NotDone) return appended;
  const { done, replayed } = appended;
  if (replayed && appended.approvedBy?.subject !== approvedBy.subject)
    return new NotDone({ code: 'PROPOSAL_APPROVED' });
  if (replayed) onReplayed?.();
  const user = names.userRef(scope, account, userId);
  const repeated = replayed ? true : undefined;
  const id = proposalIdOf(name);
  return {
    result: done,
    parameters: { proposal: id, account, user, unit, amount, repeated },
    completed: 'the correction stands',
  };
}

/** A proposal that waits for its approval. */
export interface WaitingProposal {
  readonly id: string;
  readonly account: string | null;
  readonly user: string | null;
  readonly unit: string;
  readonly amount: number;
  readonly reason: string | null;
  readonly proposedBy: string | null;
  /** ISO 8601. */
  readonly proposedAt: string;
  readonly expiresAt: string;
}

/** Accounts are loaded in parallel, up to this many. */
const LOADS_AT_ONCE = 8;

interface NamedProposal {
  readonly name: ProposalName;
  readonly proposal: ProposalEvent;
}

/**
 * The newest ones that wait for their approval, newest first. Accounts are loaded until there are
 * `limit` of them.
 */
export async function waitingProposals(
  core: Pick<Core, 'names' | 'streams'>,
  scope: Scope,
  { limit, now }: { readonly limit: number; readonly now: number },
): Promise<readonly WaitingProposal[]> {
  const waiting: NamedProposal[] = [];
  for await (const some of newestProposals(core, scope, now)) {
    if (waiting.length >= limit) break;
    const waits = await Promise.all(some.map((one) => isWaiting(core, one)));
    waiting.push(...some.filter((_, place) => waits[place]));
  }
  return waiting.slice(0, limit).map(shownProposal);
}

/** Those that have not expired, newest first, a few at a time. */
async function* newestProposals(
  { names, streams }: Pick<Core, 'names' | 'streams'>,
  scope: Scope,
  now: number,
): AsyncIterable<readonly NamedProposal[]> {
  for (const day of proposalDays(now)) {
    const { state } = await streams.proposals.load(names.proposalsStream(scope, day));
    const ofDay = [...state.proposals.values()]
      .reverse()
      .filter(({ at }) => now <= at + PROPOSAL_LIFE_MS);
    for (let from = 0; from < ofDay.length; from += LOADS_AT_ONCE)
      yield ofDay.slice(from, from + LOADS_AT_ONCE).map((proposal) => ({
        name: { scope, day, proposalId: proposal.proposalId },
        proposal,
      }));
  }
}

/** Whether the account has neither the correction nor lost the user. */
async function isWaiting(
  core: Pick<Core, 'names' | 'streams'>,
  { name, proposal: { account, person } }: NamedProposal,
): Promise<boolean> {
  const stream = core.names.accountStream(name.scope, account);
  const { state, handled } = await core.streams.accounts.load(stream);
  if (state.status === 'absent' || !state.users.has(person)) return false;
  return handled.find(approvalMeta(core, name)) === undefined;
}

function shownProposal({ name, proposal }: NamedProposal): WaitingProposal {
  const { accountId, userId, unit, amount, reason, by, at } = proposal;
  return {
    id: proposalIdOf(name),
    account: accountId.value,
    user: userId.value,
    unit,
    amount,
    reason: reason.value,
    proposedBy: by.value,
    proposedAt: new Date(at).toISOString(),
    expiresAt: expiryOf(proposal),
  };
}

const expiryOf = ({ at }: ProposalEvent): string => new Date(at + PROPOSAL_LIFE_MS).toISOString();

/** The same for every approver: the account's stream takes the correction once. */
function approvalMeta({ names }: Pick<Core, 'names'>, name: ProposalName): CommandMeta {
  const id = proposalIdOf(name);
  const key = names.digest('proposal-approval', id);
  return {
    ...operatorMeta(name.scope, 'ApproveCorrection'),
    commandId: deterministicId(key, 'approval'),
    idempotency: { key, fingerprint: key },
  };
}

/** Also where the command line has another spelling of the name than OPERATORS_FILE. */
function isSamePerson(a: Personal<string>, b: Personal<string>): boolean {
  if (a.value === null || b.value === null) return a.subject === b.subject;
  return personNamed(a.value) === personNamed(b.value);
}
