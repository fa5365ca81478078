import type { Decision } from '../../decision.js';
import type {
  AccountState,
  OpenAccount,
  RetainedData,
  UnlistedRedemption,
} from '../account-shapes.js';
import type { AccountEvent, AccountEventOf, PersonId, RedeemedLine } from '../account.events.js';
import type { RewardState } from './reward-state.js';
import { updateSpendable, selectCredits, type TakenCredit } from './spendable.js';

/**
 * More rewards are redeemed by one event for the whole amount, so that it is all or nothing for any
 * number of them. Later events list the rewards for readers without the state.
 */
export const EVENT_EACH_MAX = 100;
/** At 60 bytes each, the event stays far below the append limit. */
const LINES_PER_EVENT = 2_000;

/** Total: takes the available amount if the event has more. */
export function redeemFromMany(
  state: OpenAccount,
  event: AccountEventOf<'AccountCreditRedeemed'>,
): OpenAccount {
  const { redemptionId, unit, amount, onlyOf, at } = event;
  const taken = selectCredits(state.spendable, { unit, amount, now: at, person: onlyOf });
  const changed: RewardState[] = [];
  const lines: UnlistedRedemption['lines'][number][] = [];
  for (const { rewardId, amount: part } of taken) {
    const before = state.rewards.get(rewardId);
    if (!before) continue;
    // The date of a redeemed scheduled reward has passed.
    changed.push({ ...before, redeemed: before.redeemed + part, phase: 'AVAILABLE' });
    lines.push({ rewardId, person: before.person, amount: part });
  }
  const posted = event.owners !== undefined;
  const unlisted: UnlistedRedemption = { redemptionId, at, unit, lines, listed: 0, posted };
  return {
    ...state,
    rewards: state.rewards.withMutations((all) => {
      for (const reward of changed) all.set(reward.rewardId, reward);
    }),
    spendable: updateSpendable(state.spendable, unit, changed, at),
    remains:
      lines.length === 0
        ? state.remains
        : { ...state.remains, unlisted: state.remains.unlisted.set(redemptionId, unlisted) },
  };
}

/** Also for a deleted account, whose earlier redemptions are listed completely. */
export function recordListed(
  remains: RetainedData,
  { redemptionId, from, lines }: AccountEventOf<'RedeemedRewardsListed'>,
): RetainedData {
  const open = remains.unlisted.get(redemptionId);
  if (!open) return remains;
  const listed = Math.max(open.listed, from + lines.length);
  const unlisted =
    listed >= open.lines.length
      ? remains.unlisted.delete(redemptionId)
      : remains.unlisted.set(redemptionId, { ...open, listed });
  return { ...remains, unlisted };
}

/** Lists the next part of the unlisted redemptions. Repeated until it has no events. */
export interface ListRedeemedRewards {
  readonly type: 'ListRedeemedRewards';
}

export function listRedeemedRewards({ remains }: AccountState): Decision<AccountEvent> {
  const open = remains.unlisted.first();
  return { events: open ? [nextListEvent(open)] : [] };
}

export function nextListEvent({
  redemptionId,
  at,
  unit,
  lines,
  listed,
  posted,
}: UnlistedRedemption): AccountEvent {
  const piece = lines.slice(listed, listed + LINES_PER_EVENT);
  const persons = [...new Set(piece.map(({ person }) => person))];
  const places = new Map(persons.map((person, index) => [person, index]));
  return {
    type: 'RedeemedRewardsListed',
    at,
    redemptionId,
    unit,
    from: listed,
    persons,
    lines: piece.map(({ rewardId, person, amount }): RedeemedLine => [
      rewardId,
      places.get(person) ?? 0,
      amount,
    ]),
    ...(posted && { posted: true }),
  };
}

/** The amount taken from each person. */
export function ownersOf(
  { rewards }: OpenAccount,
  taken: readonly TakenCredit[],
): readonly (readonly [person: PersonId, amount: number])[] {
  const owners = new Map<PersonId, number>();
  for (const { rewardId, amount } of taken) {
    const person = rewards.get(rewardId)?.person;
    if (person !== undefined) owners.set(person, (owners.get(person) ?? 0) + amount);
  }
  return [...owners];
}

/** One line of a bulk redemption, in the form of a single redemption. */
export interface ListedRedemption {
  readonly rewardId: string;
  readonly person: string;
  readonly redemptionId: string;
  readonly amount: number;
  readonly at: number;
}

export function listedRedemptions({
  redemptionId,
  from,
  lines,
  persons,
  at,
}: AccountEventOf<'RedeemedRewardsListed'>): readonly ListedRedemption[] {
  return lines.map(([rewardId, place, amount], index) => ({
    rewardId,
    person: persons[place] ?? '',
    redemptionId: `${redemptionId}-${from + index}`,
    amount,
    at,
  }));
}
