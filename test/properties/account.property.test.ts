// Over 5 s: a property over hundreds of histories of 50 commands each, folded after every command.
import fc from 'fast-check';
import { Map } from 'immutable';
import { CommandHandling } from '../../src/command-handling/handle-command.js';
import { deterministicId } from '../../src/command-handling/deterministic-id.js';
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
import { EventCodec } from '../../src/event-log/codec.js';
import type { CommandMeta } from '../../src/event-log/envelope.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';
import { availableByFacts } from './support/available-by-facts.js';
import { ACCOUNT_EVENT_TYPES, anyEvents } from './support/account-events-of-any-kind.js';
import {
  ACME,
  history,
  historyWithErasure,
  playOut,
  UNITS,
  type Step,
} from './support/account-histories.js';
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

/** Everything that a history brought about. */
async function factsOf(steps: readonly Step[]): Promise<readonly AccountEvent[]> {
  const facts: AccountEvent[] = [];
  let state: AccountState = initialState;
  await playOut(steps, (command) => {
    const events = decided(state, command);
    facts.push(...events);
    state = events.reduce(evolve, state);
    return state;
  });
  return facts;
}

const ONCE: readonly AccountEvent['type'][] = [
  ...([
    'AccountOpened',
    'AccountAttributed',
    'PaymentProviderIdSet',
    'ReferralStarted',
    'ReferralConverted',
    'ReferralEnded',
  ] as const),
];

it('an account is referred, converted and ended once, and each side is paid once for a referral', async () => {
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const keys = (await factsOf(steps)).flatMap((event) => {
        if (event.type !== 'RewardGranted') return ONCE.includes(event.type) ? [event.type] : [];
        return [
          event.rewardId,
          ...(event.referralId === null ? [] : [`${event.source} ${event.referralId}`]),
        ];
      });
      expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
    }),
    { numRuns: runs(60) },
  );
});

const ELSEWHERE: readonly AccountEvent['type'][] = [
  ...(['ErasureRequested', 'ErasureCompleted'] as const),
  ...(['AccountCreditRedeemed', 'RedeemedRewardsListed'] as const),
  ...(['ReferralRefunded', 'ReferrerSideRefunded', 'MailsUnsubscribed'] as const),
  ...(['RewardPushStarted', 'RewardPushed', 'RewardPushRefused'] as const),
];

it('the random histories contain every type of event', async () => {
  const reached = await Promise.all(fc.sample(history, { numRuns: 500, seed: 1 }).map(factsOf));
  expect(new Set(reached.flat().map(({ type }) => type))).toEqual(
    // An erasure ends what these properties count over: an account's one life. It has tests of its
    // own.
    new Set(ACCOUNT_EVENT_TYPES.filter((type) => !ELSEWHERE.includes(type))),
  );
});

interface Effect {
  readonly commandId: string;
  readonly command: CompleteCommand;
  readonly events: readonly AccountEvent[];
  readonly state: AccountState;
}

it('every command sent twice takes effect once, and a fold of the log equals the live state', async () => {
  const meta = (commandId: string): CommandMeta => ({
    scope: ACME,
    commandId,
    correlationId: commandId,
    causationId: commandId,
    actor: { kind: 'api-key', id: 'key' },
    idempotency: { key: commandId, fingerprint: 'the same' },
  });
  await fc.assert(
    fc.asyncProperty(history, fc.boolean(), async (steps, isOtherProcess) => {
      const log = new InMemoryEventLog(() => 0);
      const codec = new EventCodec(new InMemorySubjectKeys());
      const open = () =>
        new CommandHandling<AccountState, AccountEvent>(log, codec, { initialState, evolve });
      const live = open();
      // The second time the command may reach the same process or another one, which remembers
      // nothing.
      const other = isOtherProcess ? open() : live;
      const sent: Effect[] = [];
      const again = async (
        process: typeof live,
        { commandId, command, events, state }: Effect,
      ): Promise<void> => {
        const outcome = await process.handle(ACME.stream, meta(commandId), (now) =>
          decide(now, command),
        );
        if (outcome.kind !== 'accepted')
          throw new Error('what was accepted once is accepted again');
        expect(outcome.events).toEqual(events);
        expect(outcome.replayed).toBe(true);
        expect(plain(outcome.state)).toEqual(plain(state));
      };

      await playOut(steps, async (command, step) => {
        const commandId = deterministicId('command', step);
        const first = await live.handle(ACME.stream, meta(commandId), (state) =>
          decide(state, command),
        );
        const before = await log.head();
        if (first.kind === 'accepted' && first.events.length > 0) {
          expect(first.replayed).toBe(false);
          const effect = { commandId, command, events: first.events, state: first.state };
          sent.push(effect);
          await again(other, effect);
        } else {
          expect(
            await other.handle(ACME.stream, meta(commandId), (state) => decide(state, command)),
          ).toMatchObject({ kind: first.kind });
        }
        expect(await log.head()).toBe(before);
        return (await live.load(ACME.stream)).state;
      });

      const before = await log.head();
      for (const earlier of sent.slice(0, 3)) await again(open(), earlier);
      expect(await log.head()).toBe(before);

      const replayed = await open().load(ACME.stream);
      const remembered = await live.load(ACME.stream);
      expect(plain(replayed.state)).toEqual(plain(remembered.state));
      expect(plain(fold(sent.flatMap(({ events }) => events)))).toEqual(plain(remembered.state));
    }),
    { numRuns: runs(40) },
  );
});

it('a fold never throws for any events, nor does a decision or an answer from its state', async () => {
  await fc.assert(
    fc.asyncProperty(anyEvents, history, async (events, steps) => {
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
