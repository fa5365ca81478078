import fc from 'fast-check';
import { decide } from '../../src/domain/account/account.decider.js';
import type { AccountEvent, AccountEventOf } from '../../src/domain/account/account.events.js';
import {
  amountLeft,
  evolve,
  unitKey,
  type OpenAccount,
  type RewardState,
} from '../../src/domain/account/account.state.js';
import { availableCredit } from '../../src/domain/account/redemption.js';
import {
  aboutReward,
  accountOpened,
  credit,
  creditRedeemed,
  partyOf,
  rewardCancelled,
  rewardGranted,
  userIdentified,
} from '../support/account-events.js';
import { ACME, BOB, fold, opened } from './support/account-scenario.js';
import { runs } from '../support/property-runs.js';

/**
 * What is kept in order says the same as looking at every reward would, for any history and any
 * clock.
 */

const CAT = partyOf(ACME, 'cat');
const time = fc.integer({ min: 0, max: 60 });

interface Given {
  readonly unit: string;
  readonly isBobs: boolean;
  readonly assigned: number;
  readonly at: number;
  readonly scheduled: number | null;
  readonly expires: number | null;
  readonly automatic: boolean;
}
const given: fc.Arbitrary<Given> = fc.record({
  unit: fc.constantFrom('CENTS', 'Cents', 'points'),
  isBobs: fc.boolean(),
  assigned: fc.integer({ min: 1, max: 9 }),
  at: time,
  scheduled: fc.option(time),
  expires: fc.option(time),
  automatic: fc.constantFrom(false, false, false, true),
});
const happened = fc.record({
  what: fc.constantFrom(
    'redeem' as const,
    'available' as const,
    'expired' as const,
    'cancel' as const,
    'restore' as const,
  ),
  index: fc.nat(200),
  amount: fc.integer({ min: 1, max: 4 }),
  at: time,
});

/**
 * Facts that may stand in a log: given with their dates, spent, settled and cancelled at any time,
 * in any order.
 */
function factsOf(
  all: readonly Given[],
  then: readonly (typeof happened extends fc.Arbitrary<infer T> ? T : never)[],
): AccountEvent[] {
  const rewards = all.map(({ unit, isBobs, assigned, at, scheduled, expires, automatic }, index) =>
    rewardGranted(`reward-${index}`, isBobs ? BOB : CAT, credit(assigned, unit), {
      at,
      dateScheduledFor: scheduled,
      dateExpires: expires,
      redeemsAutomatically: automatic,
    }),
  );
  const left = new Map(
    rewards.map((reward) => [
      reward.rewardId,
      reward.value.type === 'CREDIT' ? reward.value.assignedCredit : 0,
    ]),
  );
  const events = then.flatMap(({ what, index, amount, at }): AccountEvent[] => {
    const reward: AccountEventOf<'RewardGranted'> | undefined = rewards[index % rewards.length];
    if (!reward) return [];
    const open = left.get(reward.rewardId) ?? 0;
    if (what === 'available') return [aboutReward('RewardBecameAvailable', reward, open, at)];
    if (what === 'expired') return [aboutReward('RewardExpired', reward, open, at)];
    if (what === 'cancel') return [rewardCancelled(reward, open, at, 'MODERATION')];
    if (what === 'restore') return [aboutReward('RewardRestored', reward, open, at)];
    const taken = Math.min(open, amount);
    left.set(reward.rewardId, open - taken);
    return taken === 0 ? [] : [creditRedeemed(reward, `r-${index}-${at}`, taken, at)];
  });
  return [
    accountOpened(ACME),
    userIdentified(ACME, 'bob'),
    userIdentified(ACME, 'cat'),
    ...rewards,
    ...events,
  ];
}

function isAvailableAt(reward: RewardState, now: number): boolean {
  const isDue =
    reward.phase === 'AVAILABLE' ||
    (reward.phase === 'PENDING' && (reward.dateScheduledFor ?? 0) <= now);
  return (
    isDue &&
    !reward.redeemsAutomatically &&
    reward.dateCancelled === null &&
    (reward.dateExpires ?? Infinity) > now
  );
}

/** By looking at every reward. */
function naive(state: OpenAccount, unit: string, now: number): RewardState[] {
  return [...state.rewards.values()]
    .filter(
      ({ value, person }) =>
        value.type === 'CREDIT' &&
        unitKey(value.unit) === unit &&
        !state.remains.forgotten.has(person),
    )
    .filter((reward) => isAvailableAt(reward, now) && amountLeft(reward) > 0)
    .sort(
      (a, b) =>
        (a.dateExpires ?? 1e9) - (b.dateExpires ?? 1e9) ||
        a.dateGiven - b.dateGiven ||
        (a.rewardId < b.rewardId ? -1 : 1),
    );
}

const totalOf = (rewards: readonly RewardState[]): number =>
  rewards.reduce((sum, reward) => sum + amountLeft(reward), 0);

it('spendable credit, and the rewards that an amount takes, equal those of a full scan', () => {
  fc.assert(
    fc.property(
      fc.array(given, { minLength: 1, maxLength: 120, size: 'max' }),
      fc.array(happened, { maxLength: 120, size: 'max' }),
      fc.record({
        now: fc.oneof(time, fc.constant(1e6)),
        share: fc.double({ min: 0, max: 1, noNaN: true }),
        forgetsCat: fc.boolean(),
      }),
      (all, then, { now, share, forgetsCat }) => {
        const erased: AccountEvent = {
          type: 'ErasureRequested',
          at: 1,
          erasureId: 'e',
          persons: [CAT.person],
          account: null,
          suppressed: [],
        };
        const state = opened(fold([...factsOf(all, then), ...(forgetsCat ? [erased] : [])]));
        for (const unit of ['cents', 'points']) {
          const expected = naive(state, unit, now);
          const total = totalOf(expected);
          expect(availableCredit(state, unit, now)).toBe(total);
          const amount = Math.max(1, Math.round(total * share));
          const decision = decide(state, {
            type: 'RedeemAccountCredit',
            amount,
            unit,
            redemptionId: 'r',
            now,
          });
          if (amount > total) expect(decision).toHaveProperty('refused');
          else expect(takenBy(decision)).toEqual(firstOf(expected, amount));
          // The rule by which one event takes from very many means the same.
          const inBulk = evolve(state, {
            type: 'AccountCreditRedeemed',
            at: now,
            redemptionId: 'r',
            unit,
            amount,
            onlyOf: null,
            rewards: 0,
          });
          const lines = inBulk.remains.unlisted.get('r')?.lines ?? [];
          expect(lines.map(({ rewardId, amount: taken }) => [rewardId, taken])).toEqual(
            firstOf(expected, amount),
          );
          expect(availableCredit(opened(inBulk), unit, now)).toBe(total - Math.min(amount, total));
        }
      },
    ),
    { numRuns: runs(150) },
  );
});

function firstOf(rewards: readonly RewardState[], amount: number): [string, number][] {
  let open = amount;
  return rewards.flatMap((reward): [string, number][] => {
    const taken = Math.min(open, amountLeft(reward));
    open -= taken;
    return taken > 0 ? [[reward.rewardId, taken]] : [];
  });
}

function takenBy(decision: ReturnType<typeof decide>): [string, number][] {
  if (!('events' in decision)) throw new Error('nothing was decided');
  return decision.events.flatMap((event): [string, number][] =>
    event.type === 'CreditRedeemed' ? [[event.rewardId, event.amount]] : [],
  );
}
