import fc from 'fast-check';
import { AccountPostings, POSTED_TYPES } from '../../src/bookkeeping/postings.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import {
  evolve,
  initialState,
  rewardRef,
  type AccountState,
  type OpenAccount,
} from '../../src/domain/account/account.state.js';
import { listRedeemedRewards } from '../../src/domain/account/bulk-redemption.js';
import { availableCredit } from '../../src/domain/account/redemption.js';
import { personal } from '../../src/domain/personal.js';
import {
  accountOpened,
  anAccount,
  credit,
  erasureRequested,
  partyOf,
  rewardGranted,
  userIdentified,
} from '../support/account-events.js';
import { runs } from '../support/property-runs.js';
import { entry } from './support/entries.js';

/** Postings take a large redemption from the same credit as decisions, at every event. */

const ACME = anAccount('acme');
const OWNERS = [partyOf(ACME, 'ann'), partyOf(ACME, 'bob')] as const;
const opening = [
  accountOpened(ACME, { at: 0 }),
  userIdentified(ACME, 'ann', {}, 0),
  userIdentified(ACME, 'bob', {}, 0),
];

type Step = (state: OpenAccount, now: number, id: string) => readonly AccountEvent[];

const owner = fc.constantFrom(...OWNERS);
const days = fc.option(fc.integer({ min: 1, max: 9 }), { nil: null });
const given: fc.Arbitrary<Step> = fc
  .record({
    owner,
    amount: fc.integer({ min: 1, max: 30 }),
    unit: fc.constantFrom('CENTS', 'cents', 'POINTS'),
    delay: days,
    valid: days,
  })
  .map(({ owner: party, amount, unit, delay, valid }) => (state, now, id) => {
    const dates = {
      dateScheduledFor: delay === null ? null : now + delay,
      dateExpires: valid === null ? null : now + (delay ?? 0) + valid,
    };
    const granted = rewardGranted(id, party, credit(amount, unit), { at: now, ...dates });
    return state.users.has(party.person) ? [granted] : [];
  });
const taken: fc.Arbitrary<Step> = fc
  .record({ part: fc.double({ min: 0.01, max: 1, noNaN: true }), of: fc.option(owner) })
  .map(({ part, of }) => (state, now, id) => {
    const available = availableCredit(state, 'CENTS', now);
    const amount = Math.ceil(available * part);
    const onlyOf = of?.person ?? null;
    const redeemed = { redemptionId: id, unit: 'CENTS', amount, onlyOf, rewards: 1, owners: [] };
    return amount > 0 ? [{ type: 'AccountCreditRedeemed', at: now, ...redeemed }] : [];
  });
const changed: fc.Arbitrary<Step> = fc
  .record({ which: fc.nat(), how: fc.constantFrom('cancel', 'restore', 'push', 'refuse', 'pay') })
  .map(({ which, how }) => (state, at) => {
    const reward = [...state.rewards.values()][which % Math.max(1, state.rewards.size)];
    if (!reward) return [];
    const ref = rewardRef(reward);
    switch (how) {
      case 'cancel':
        return [{ type: 'RewardCancelled', at, ...ref, amount: 0, by: 'MODERATION' }];
      case 'restore':
        return [{ type: 'RewardRestored', at, ...ref, amount: 0 }];
      case 'push': {
        const body = personal(ref.person, { calls: [], done: [] });
        return [{ type: 'RewardPushStarted', at, ...ref, push: 1, amount: 0, body }];
      }
      case 'refuse': {
        const refused = { push: 1, reason: 'no', done: personal(ref.person, []) };
        return [{ type: 'RewardPushRefused', at, ...ref, ...refused }];
      }
      case 'pay': {
        const reference = personal(ref.person, 'paid');
        return [{ type: 'RewardPushed', at, ...ref, push: 1, reference }];
      }
    }
  });
const listed: fc.Arbitrary<Step> = fc.constant((state) => {
  const decision = listRedeemedRewards(state);
  return 'events' in decision ? decision.events : [];
});
const forgotten: fc.Arbitrary<Step> = owner.map(
  ({ person }) =>
    (_state, now) =>
      [{ ...erasureRequested([person]), at: now }] as readonly AccountEvent[],
);
const steps = fc.array(
  fc.tuple(
    fc.nat(3),
    fc.oneof(
      { weight: 10, arbitrary: given },
      { weight: 4, arbitrary: taken },
      { weight: 3, arbitrary: changed },
      { weight: 2, arbitrary: listed },
      { weight: 1, arbitrary: forgotten },
    ),
  ),
  { minLength: 10, maxLength: 60 },
);

const isPosted = ({ type }: AccountEvent): boolean =>
  POSTED_TYPES.some((posted) => posted === type);

it('at every event the available credit is that of the decision state', () => {
  fc.assert(
    fc.property(steps, (plan) => {
      let state = opening.reduce<AccountState>(evolve, initialState);
      const postings = new AccountPostings();
      let now = 1;
      for (const [index, [passed, step]] of plan.entries()) {
        if (state.status !== 'open') return;
        now += passed;
        for (const event of step(state, now, `id-${index}`)) {
          state = evolve(state, event);
          if (isPosted(event)) postings.post(entry(event, now));
          postings.settle(now);
          if (state.status !== 'open') return;
          for (const unit of ['cents', 'points'])
            expect(postings.available().get(unit) ?? 0).toBe(pushingToo(state, unit, now));
        }
      }
    }),
    { numRuns: runs(150) },
  );
});

/** Credit on its way to the payment provider is available and cannot be spent. */
function pushingToo(state: OpenAccount, unit: string, now: number): number {
  const waiting = [...state.rewards.values()].filter(
    ({ pushed, value, person, phase, dateCancelled, dateScheduledFor, dateExpires }) =>
      pushed?.status === 'STARTED' &&
      value.type === 'CREDIT' &&
      value.unit.toLowerCase() === unit &&
      !state.remains.forgotten.has(person) &&
      dateCancelled === null &&
      phase !== 'EXPIRED' &&
      (phase === 'AVAILABLE' || (dateScheduledFor ?? 0) <= now) &&
      (dateExpires ?? Infinity) > now,
  );
  const left = waiting.reduce(
    (sum, { value, redeemed }) =>
      sum + (value.type === 'CREDIT' ? value.assignedCredit - redeemed : 0),
    0,
  );
  return availableCredit(state, unit, now) + left;
}
