// Over 5 s: a property over hundreds of histories of 50 commands each, folded after every command.
import fc from 'fast-check';
import { Map } from 'immutable';
import { decide, type CompleteCommand } from '../domain/support/decisions.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { accountFacts, rewardFacts, userFacts } from '../../src/domain/account/account.facts.js';
import {
  amountLeft,
  evolve,
  initialState,
  type AccountState,
  type OpenAccount,
} from '../../src/domain/account/account.state.js';
import { availableCredit } from '../../src/domain/account/rewards/redemption.js';
import { availableByFacts } from './support/available-by-facts.js';
import { anyEvents } from './support/account-events-of-any-kind.js';
import { historyWithErasure, playOut, UNITS } from './support/account-histories.js';
import { ACME } from '../domain/support/account-scenario.js';
import { runs } from '../support/property-runs.js';

const fold = (events: readonly AccountEvent[]): AccountState =>
  events.reduce<AccountState>(evolve, initialState);

/** Plain members all the way down, so that states are compared by what they hold. */
const plain = (state: AccountState): unknown => Map(Object.entries(state)).toJS();

function decided(state: AccountState, command: CompleteCommand): readonly AccountEvent[] {
  const decision = decide(state, command);
  return 'events' in decision ? decision.events : [];
}

/** Which promises a state breaks. */
function brokenPromises(state: OpenAccount, facts: readonly AccountEvent[], now: number): string[] {
  const rewards = [...state.rewards.values()].flatMap((reward) => {
    const assigned = reward.value.type === 'CREDIT' ? reward.value.assignedCredit : 0;
    const holds =
      0 <= reward.redeemed &&
      reward.redeemed <= assigned &&
      amountLeft(reward) === assigned - reward.redeemed;
    return holds ? [] : [`${reward.rewardId}: ${reward.redeemed} of ${assigned} are redeemed`];
  });
  const known = availableByFacts(facts, now);
  const balances = UNITS.flatMap((unit) => {
    const [available, expected] = [
      availableCredit(state, unit, now),
      known[unit.toLowerCase()] ?? 0,
    ];
    const isCountable =
      (state.assignedEver.get(unit.toLowerCase()) ?? 0) <= Number.MAX_SAFE_INTEGER;
    return available === expected && isCountable
      ? []
      : [`${available} ${unit} are available, by the facts ${expected}`];
  });
  return [...rewards, ...balances];
}

it('under any commands no reward is redeemed twice and the balance follows from the events', async () => {
  await fc.assert(
    fc.asyncProperty(historyWithErasure, async (steps) => {
      const facts: AccountEvent[] = [];
      const broken: string[] = [];
      let state: AccountState = initialState;
      await playOut(steps, (command, _, now) => {
        const events = decided(state, command);
        facts.push(...events);
        state = events.reduce(evolve, state);
        if (state.status === 'open') broken.push(...brokenPromises(state, facts, now));
        return state;
      });
      expect(broken).toEqual([]);
    }),
    { numRuns: runs(60) },
  );
});

it('a fold never throws for any events, nor does a decision or an answer from its state', async () => {
  await fc.assert(
    fc.asyncProperty(anyEvents, historyWithErasure, async (events, steps) => {
      const state = fold(events);
      expect(plain(fold(events))).toEqual(plain(state));
      await playOut(steps.slice(0, 5), (command) => decided(state, command).reduce(evolve, state));
      if (state.status === 'absent') return;
      accountFacts(state);
      for (const person of state.users.keys()) userFacts(state, ACME.accountRef, person);
      for (const reward of state.rewards.values()) rewardFacts(state, ACME.accountRef, reward);
    }),
    { numRuns: runs(100) },
  );
});
