import { eventsIf, type Accepted } from '../decision.js';
import type { Fact } from '../fact.js';
import type { AccountRef } from '../scope.js';

/**
 * An imported row with an id, in its own stream: it belongs to one account of the tenant and mode,
 * and a reward finds the referrals that name it. The accounts are authoritative: a row or referral
 * that its account never recorded does not count.
 */
export type ImportedRowEvent =
  /** The account is about to record the row. */
  | Fact<'ImportedRowPlaced', { account: AccountRef }>
  /** The account rejected the row. */
  | Fact<'ImportedRowGivenUp', { account: AccountRef }>
  | Fact<'ImportedRewardNamed', RewardNaming>;

export interface RewardNaming {
  readonly referralId: string;
  readonly side: 'referred' | 'referrer';
}

export interface ImportedRowState {
  /** Since 0: the account gave it up, unless another command of that account records it. */
  readonly placed: { readonly account: AccountRef; readonly since: number } | null;
  readonly namings: readonly RewardNaming[];
}

export const initialState: ImportedRowState = { placed: null, namings: [] };

export function evolve(state: ImportedRowState, event: ImportedRowEvent): ImportedRowState {
  switch (event.type) {
    case 'ImportedRowPlaced':
      return { ...state, placed: { account: event.account, since: event.at } };
    case 'ImportedRowGivenUp':
      return state.placed?.account === event.account
        ? { ...state, placed: { ...state.placed, since: 0 } }
        : state;
    case 'ImportedRewardNamed': {
      const { referralId, side } = event;
      return { ...state, namings: [...state.namings, { referralId, side }] };
    }
  }
}

/** Another account keeps the row unless it is certain never to record it. */
export function place(
  { placed }: ImportedRowState,
  account: AccountRef,
  { isAbandoned, now: at }: { readonly isAbandoned: boolean; readonly now: number },
): Accepted<ImportedRowEvent> {
  return eventsIf(placed === null || (placed.account !== account && isAbandoned), {
    type: 'ImportedRowPlaced',
    at,
    account,
  });
}

export const giveUp = (
  { placed }: ImportedRowState,
  account: AccountRef,
  at: number,
): Accepted<ImportedRowEvent> =>
  eventsIf(placed?.account === account, { type: 'ImportedRowGivenUp', at, account });

export const nameReward = (
  { namings }: ImportedRowState,
  { referralId, side }: RewardNaming,
  at: number,
): Accepted<ImportedRowEvent> =>
  eventsIf(!namings.some((one) => one.referralId === referralId && one.side === side), {
    type: 'ImportedRewardNamed',
    at,
    referralId,
    side,
  });
