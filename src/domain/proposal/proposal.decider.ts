import { Map as ImmutableMap, OrderedMap } from 'immutable';
import type { PersonId } from '../account/account.events.js';
import type { AccountState } from '../account/account.state.js';
import { adjustCredit, type GrantedTerms } from '../account/rewards/adjustment.js';
import type { Decision } from '../decision.js';
import { personal, type Personal } from '../personal.js';
import { refused } from '../refusal.js';
import type { AccountRef } from '../scope.js';

/**
 * A correction of credit that one operator proposes and another approves. The approval has no event
 * here: it is the correction in the account's stream, by a command whose id derives from the
 * proposal's.
 */
export interface CorrectionProposed {
  readonly type: 'CorrectionProposed';
  readonly at: number;
  readonly proposalId: string;
  readonly account: AccountRef;
  readonly person: PersonId;
  /** As clients name it; encrypted with the account's key. */
  readonly accountId: Personal<string>;
  readonly userId: Personal<string>;
  readonly unit: string;
  /** Positive adds, negative takes. */
  readonly amount: number;
  readonly reason: Personal<string>;
  /** Of credit that support grants; absent: no name and no expiry. */
  readonly grant?: { readonly name: Personal<string>; readonly dateExpires: number | null };
  readonly by: Personal<string>;
}

/** Rejected or withdrawn. */
export type ProposalEnded = {
  readonly at: number;
  readonly proposalId: string;
  readonly by: Personal<string>;
} & (
  | { readonly type: 'CorrectionRejected'; readonly reason: Personal<string> }
  | { readonly type: 'CorrectionWithdrawn' }
);

export type ProposalEvent = CorrectionProposed | ProposalEnded;

export interface ProposalsState {
  /** The proposals of one tenant, mode and day, by id; oldest first. */
  readonly proposals: OrderedMap<string, CorrectionProposed>;
  /** By id. */
  readonly ended: ImmutableMap<string, ProposalEnded>;
}

export const initialState: ProposalsState = { proposals: OrderedMap(), ended: ImmutableMap() };

export function evolve(state: ProposalsState, event: ProposalEvent): ProposalsState {
  const { proposals, ended } = state;
  const { proposalId } = event;
  switch (event.type) {
    case 'CorrectionProposed':
      return { ...state, proposals: proposals.set(proposalId, event) };
    case 'CorrectionRejected':
    case 'CorrectionWithdrawn':
      return { ...state, ended: ended.has(proposalId) ? ended : ended.set(proposalId, event) };
  }
}

/** Ends a waiting proposal. */
export const endProposal = (
  { proposals, ended }: ProposalsState,
  event: ProposalEnded,
): Decision<ProposalEnded> =>
  proposals.has(event.proposalId) && !ended.has(event.proposalId)
    ? { events: [event] }
    : refused('PROPOSAL_ENDED');

/** Per tenant, mode and day: bounds what a script can leave for the approvers. */
export const PROPOSALS_A_DAY_MAX = 500;

/** Time for the approval. */
export const PROPOSAL_LIFE_MS = 7 * 24 * 60 * 60 * 1000;

export interface ProposeCorrection {
  readonly proposalId: string;
  readonly account: AccountRef;
  readonly accountId: string;
  readonly userId: string;
  readonly unit: string;
  readonly amount: number;
  readonly reason: string;
  readonly grant?: GrantedTerms;
  readonly by: Personal<string>;
  readonly now: number;
  /** The time in the account's ledger, which a test clock may have moved. */
  readonly ledgerNow: number;
}

/** Refuses a proposal that would be refused as a correction now; the approval decides it again. */
export function propose(
  { proposals }: ProposalsState,
  account: AccountState,
  {
    proposalId,
    accountId,
    userId,
    unit,
    amount,
    reason,
    grant,
    by,
    now: at,
    ledgerNow,
    ...command
  }: ProposeCorrection,
): Decision<CorrectionProposed> {
  if (proposals.size >= PROPOSALS_A_DAY_MAX) return refused('TOO_MANY_PROPOSALS');
  if (account.status === 'absent') return refused('ACCOUNT_NOT_FOUND');
  const person = account.personsByUserId.get(userId);
  if (person === undefined) return refused('USER_NOT_FOUND');
  const asked = { type: 'AdjustCredit', userId, unit, amount, reason, grant } as const;
  const correction = { ...asked, now: ledgerNow };
  const ids = { rewardId: proposalId, redemptionId: proposalId };
  const decided = adjustCredit(account, { ...correction, ...ids, by, approvedBy: by });
  if ('refused' in decided) return decided;
  return {
    events: [
      {
        type: 'CorrectionProposed',
        at,
        proposalId,
        account: command.account,
        person,
        accountId: personal(account.account, accountId),
        userId: personal(person, userId),
        unit,
        amount,
        reason: personal(person, reason),
        ...(grant && {
          grant: {
            name: { subject: person, value: grant.name },
            dateExpires: grant.dateExpires,
          },
        }),
        by,
      },
    ],
  };
}
