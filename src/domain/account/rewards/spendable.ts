import { type Map } from 'immutable';
import btree from 'sorted-btree';
import type { PersonId } from '../account.events.js';
import { amountLeft, isBeingPushed, unitKey, type RewardState } from './reward-state.js';

/** By lower-case unit: decisions read these instead of every reward. */
export type Spendable = Map<string, SpendableOfUnit>;

interface SpendableOfUnit extends Sum {
  readonly rewards: InSpendingOrder;
}

/** Never changed in place: copies share their nodes. A selection reads no more than it takes. */
type InSpendingOrder = btree.default<Dated, RewardState>;
type Dated = Pick<RewardState, 'rewardId' | 'dateExpires' | 'dateGiven'>;

/** Cached: adding up 10,000 rewards takes milliseconds, and each webhook payload needs it. */
interface Sum {
  readonly available: number;
  readonly since: number;
  readonly until: number;
}

const nothing = (): SpendableOfUnit => ({
  rewards: new btree.default([], bySoonestExpiry),
  available: 0,
  since: 0,
  until: Infinity,
});

/** Credit of the reward can be spent now or once it is due. */
const isSpendable = (reward: RewardState): boolean =>
  amountLeft(reward) > 0 &&
  reward.dateCancelled === null &&
  reward.phase !== 'EXPIRED' &&
  !reward.redeemsAutomatically &&
  !isBeingPushed(reward);

/** The index after an event at time `at` changed these rewards of one unit. */
export function updateSpendable(
  spendable: Spendable,
  unit: string,
  changed: readonly RewardState[],
  at: number,
): Spendable {
  const key = unitKey(unit);
  const before = spendable.get(key) ?? nothing();
  let sum = coversTime(before, at) ? { ...before, since: at } : sumOf(before.rewards.values(), at);
  const rewards = before.rewards.clone();
  for (const reward of changed) {
    const old = rewards.get(reward);
    if (old) sum = { ...sum, available: sum.available - availableAt(old, at) };
    if (!isSpendable(reward)) rewards.delete(reward);
    else {
      rewards.set(reward, reward);
      sum = withReward(sum, reward);
    }
  }
  return spendable.set(key, { ...sum, rewards });
}

/** Forgotten people have nothing to spend. */
export const withoutPersons = (spendable: Spendable, persons: readonly PersonId[]): Spendable =>
  spendable.map(({ rewards, since }) => {
    const left = rewards.filter((_, { person }) => !persons.includes(person));
    return { ...sumOf(left.values(), since), rewards: left };
  });

const coversTime = ({ since, until }: Sum, now: number): boolean => since <= now && now < until;

function sumOf(rewards: Iterable<RewardState>, since: number): Sum {
  let sum: Sum = { available: 0, since, until: Infinity };
  for (const reward of rewards) sum = withReward(sum, reward);
  return sum;
}

function withReward({ available, since, until }: Sum, reward: RewardState): Sum {
  const dates = [reward.dateScheduledFor ?? since, reward.dateExpires ?? since];
  return {
    available: available + availableAt(reward, since),
    since,
    until: Math.min(until, ...dates.filter((date) => date > since)),
  };
}

function availableAt(reward: RewardState, now: number): number {
  const isDue = reward.phase === 'AVAILABLE' || (reward.dateScheduledFor ?? 0) <= now;
  return isDue && (reward.dateExpires ?? Infinity) > now ? amountLeft(reward) : 0;
}

/** Person null: the whole account's credit. */
interface CreditQuery {
  readonly unit: string;
  readonly now: number;
  readonly person: PersonId | null;
}

/** The spendable credit of a unit at this time. */
export function availableOf(spendable: Spendable, { unit, now, person }: CreditQuery): number {
  const ofUnit = spendable.get(unitKey(unit)) ?? nothing();
  if (person === null && coversTime(ofUnit, now)) return ofUnit.available;
  return sumOf(ownedBy(ofUnit.rewards, person), now).available;
}

/** In the order of spending. */
function* ownedBy(rewards: InSpendingOrder, person: PersonId | null): Iterable<RewardState> {
  for (const reward of rewards.values())
    if (person === null || reward.person === person) yield reward;
}

export interface TakenCredit {
  readonly rewardId: string;
  readonly amount: number;
}

/** The credits of an amount, in the order of spending. */
export function selectCredits(
  spendable: Spendable,
  { amount, unit, now, person }: CreditQuery & { readonly amount: number },
): readonly TakenCredit[] {
  const { rewards } = spendable.get(unitKey(unit)) ?? nothing();
  const taken: TakenCredit[] = [];
  let open = amount;
  for (const reward of ownedBy(rewards, person)) {
    if (open <= 0) break;
    const left = availableAt(reward, now);
    if (left === 0) continue;
    taken.push({ rewardId: reward.rewardId, amount: Math.min(open, left) });
    open -= left;
  }
  return taken;
}

/** Soonest expiry, then grant order, then id. */
export const bySoonestExpiry = (a: Dated, b: Dated): number =>
  compare(a.dateExpires ?? Infinity, b.dateExpires ?? Infinity) ||
  compare(a.dateGiven, b.dateGiven) ||
  compare(a.rewardId, b.rewardId);

const compare = <T extends number | string>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);
