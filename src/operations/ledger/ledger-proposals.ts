import { isoOrNull, isoText } from '../../foundation/instant.js';
import { deterministicId } from '../../command-handling/deterministic-id.js';
import { daysSince, proposalDays } from '../../command-handling/proposal-days.js';
import type { Core } from '../../stores/core.js';
import {
  PROPOSAL_LIFE_MS,
  type CorrectionProposed,
  type ProposalEnded,
} from '../../domain/proposal/proposal.decider.js';
import {
  isLedgerMode,
  LEDGER_MODE,
  MODES,
  type AccountRef,
  type Scope,
} from '../../domain/scope.js';
import type { GrantedTerms } from '../../domain/account/rewards/adjustment.js';
import { ledgerOf } from '../../domain/tenant/test-clock.js';
import { decodedIn, pagesOf } from './ledger-entries.js';

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

export const PROPOSAL_STATES = ['waiting', 'approved', 'rejected', 'withdrawn', 'lapsed'] as const;
export type ProposalState = (typeof PROPOSAL_STATES)[number];

/** Times are ISO 8601. A text is null when it is forgotten, or when there is none. */
export type ShownProposal = Awaited<ReturnType<typeof shownProposal>>;

/** With the terms of a grant of support; null: a correction. */
export type ListedProposal = ShownProposal & { readonly grant: GrantedTerms | null };

const grantOf = ({ proposal: { grant } }: NamedProposal): GrantedTerms | null =>
  grant === undefined ? null : { name: grant.name.value, dateExpires: grant.dateExpires };

/** Accounts are loaded in parallel, up to this many. */
const LOADS_AT_ONCE = 8;

export interface NamedProposal {
  readonly name: ProposalName;
  readonly proposal: CorrectionProposed;
  readonly ended: ProposalEnded | undefined;
}

export type ListCore = Pick<Core, 'names' | 'streams' | 'log' | 'codec'>;

/** Without a state those of all, without an account those of all. */
interface ProposalSelection {
  readonly state?: ProposalState | undefined;
  readonly account?: AccountRef;
  readonly limit: number;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** Proposals, newest first. Accounts are loaded until there are `limit` of them. */
export async function listProposals(
  core: ListCore,
  scope: Scope,
  { state, account, limit, now }: ProposalSelection,
) {
  const shown: ListedProposal[] = [];
  const days = state === 'waiting' ? proposalDays(now) : await allDays(core, now);
  for await (const some of pagesOf(newestProposals(core, scope, days), LOADS_AT_ONCE)) {
    const ofAccount = some.filter(
      ({ proposal }) => account === undefined || proposal.account === account,
    );
    const each = await Promise.all(
      ofAccount.map(async (one) => ({
        ...(await shownProposal(core, one, now)),
        grant: grantOf(one),
      })),
    );
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
export async function proposalsOf(
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

export async function shownProposal(core: ListCore, named: NamedProposal, now: number) {
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
    proposedAt: isoText(at),
    expiresAt: expiryOf(proposal),
    ...(await endOf(core, named, now)),
  };
}

export const stateOf = ({ type }: ProposalEnded): ProposalState =>
  type === 'CorrectionRejected' ? 'rejected' : 'withdrawn';

/** A proposal whose user is forgotten has lapsed: there is nothing to correct. */
async function endOf(core: ListCore, { name, proposal, ended }: NamedProposal, now: number) {
  const end = (
    state: ProposalState,
    endedBy: string | null = null,
    endedAt: number | null = null,
    endReason: string | null = null,
  ) => ({ state, endedBy, endedAt: isoOrNull(endedAt), endReason });
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
async function approvalIn(core: Pick<Core, 'log' | 'codec'>, stream: string, commandId: string) {
  for await (const { event, envelope, recorded } of decodedIn(core, stream, CORRECTIONS))
    if (envelope.commandId === commandId && 'adjustment' in event && event.adjustment) {
      // A test clock is ahead of the real one, which proposals have.
      const at = Math.min(event.at, recorded.recordedAt);
      return { approvedBy: event.adjustment.approvedBy, at };
    }
  return undefined;
}

export const expiryOf = ({ at }: CorrectionProposed): string => isoText(at + PROPOSAL_LIFE_MS);

/** The same for every approver: the account's stream takes the correction once. */
export function approvalOf({ names }: Pick<Core, 'names'>, name: ProposalName) {
  const key = names.digest('proposal-approval', proposalIdOf(name));
  return {
    commandId: deterministicId(key, 'approval'),
    idempotency: { key, fingerprint: key },
  };
}
