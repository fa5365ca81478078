import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import {
  atTime,
  contribution,
  type BalanceItem,
} from '../../projections/reward-balances/contribution.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import {
  evolve,
  initialState,
  type AccountState,
  type OpenAccount,
} from '../../src/domain/account/account.state.js';
import { EventCodec } from '../../src/event-log/codec.js';
import { creditUpTo } from '../../src/operations/accounts/account-credit.js';
import {
  anAccount,
  credit,
  aboutReward,
  creditRedeemed,
  partyOf,
  rewardCancelled,
  rewardGranted,
} from '../support/account-events.js';
import { encodedEvents } from '../support/encoded-events.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { decide } from '../domain/support/decisions.js';
import { historyWithErasure, playOut } from '../properties/support/account-histories.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';
import { runs } from '../support/property-runs.js';

const { tenant, mode, stream, ...account } = anAccount('acme');
const BOB = partyOf({ tenant, mode, stream, ...account }, 'bob');

const granted = (rewardId: string, over: Parameters<typeof rewardGranted>[3] = {}) =>
  rewardGranted(rewardId, BOB, credit(100), { at: 1_000, ...over });

async function creditAt(clock: number, ...events: readonly AccountEvent[]) {
  const log = new InMemoryEventLog();
  const codec = new EventCodec(new InMemorySubjectKeys());
  const encoded = await encodedEvents(codec, { tenant, mode }, events);
  await log.append(stream, 'no-stream', encoded);
  const end = { revision: BigInt(events.length - 1), eventId: encoded.at(-1)?.id ?? '', epoch: 0 };
  return (await creditUpTo({ log, codec }, stream, end)).unitsAt(clock);
}

test('credit that was cancelled before its date is cancelled, and restored credit is assigned', async () => {
  const [waiting, moderated] = [granted('w1', { dateScheduledFor: 5_000 }), granted('w2')];
  const units = await creditAt(
    1_000_000,
    waiting,
    rewardCancelled(waiting, 100, 2_000),
    moderated,
    rewardCancelled(moderated, 100, 2_000, 'MODERATION'),
    aboutReward('RewardRestored', moderated, 100, 3_000),
  );
  expect(units).toMatchObject([{ assigned: 100, available: 100, pending: 0, cancelled: 100 }]);
});

test('credit expires at its date without an event, but for what was redeemed before', async () => {
  const reward = granted('w1', { dateExpires: 5_000 });
  const redeemed = creditRedeemed(reward, randomUUID(), 40, 4_000);
  expect(await creditAt(4_999, reward, redeemed)).toMatchObject([{ available: 60, expired: 0 }]);
  const units = await creditAt(5_000, reward, redeemed);
  expect(units).toMatchObject([{ available: 0, redeemed: 40, expired: 60 }]);
});

/** As the API answers: `totalAssignedCredit` is the redeemed and the available credit. */
function figuresOfApi(state: OpenAccount, clock: number) {
  const sums = new Map<string, { redeemed: number; available: number }>();
  for (const reward of state.rewards.values()) {
    const { value, source, phase, redeemed, person } = reward;
    if (value.type !== 'CREDIT' || state.remains.forgotten.has(person)) continue;
    const item: BalanceItem = {
      type: 'CREDIT',
      source,
      phase,
      cancelled: reward.dateCancelled !== null,
      assigned: value.assignedCredit,
      redeemed,
      percent: 0,
      date_scheduled_for: reward.dateScheduledFor,
      date_expires: reward.dateExpires,
      redeems_automatically: reward.redeemsAutomatically,
    };
    const figures = contribution(atTime(item, clock));
    const unit = value.unit.toLowerCase();
    const sum = sums.get(unit) ?? { redeemed: 0, available: 0 };
    sums.set(unit, {
      redeemed: sum.redeemed + figures.redeemed_credit,
      available: sum.available + figures.available_credit,
    });
  }
  return [...sums].map(([unit, { redeemed, available }]) => ({
    unit,
    redeemed,
    assigned: redeemed + available,
  }));
}

const EXACT_MAX = Number.MAX_SAFE_INTEGER / 100;

test('assigned and redeemed are those of the API, under any commands', async () => {
  await fc.assert(
    fc.asyncProperty(historyWithErasure, async (steps) => {
      const facts: AccountEvent[] = [];
      let state: AccountState = initialState;
      let clock = 0;
      await playOut(steps, (command, _, now) => {
        const decision = decide(state, command);
        const events = 'events' in decision ? decision.events : [];
        facts.push(...events);
        clock = now;
        return (state = events.reduce<AccountState>(evolve, state));
      });
      const shown = new Map(
        (await creditAt(clock, ...facts)).map(({ unit, redeemed, assigned }) => [
          unit.toLowerCase(),
          { redeemed, assigned },
        ]),
      );
      if (state.status !== 'open') return;
      for (const { unit, ...figures } of figuresOfApi(state, clock))
        // Sums beyond the exact integers are not shown.
        if ((state.assignedEver.get(unit) ?? 0) < EXACT_MAX)
          expect(shown.get(unit)).toEqual(figures);
    }),
    { numRuns: runs(30) },
  );
});

test('imported redemptions are redeemed', async () => {
  const imported = {
    ref: 'ref',
    row: { subject: BOB.person, value: {} },
    at: 1_000,
    side: null,
    redeemed: 30,
    phase: 'AVAILABLE',
    dateCancelled: null,
  } as const;
  const units = await creditAt(1_000_000, granted('w1', { imported }));
  expect(units).toMatchObject([{ assigned: 100, available: 70, redeemed: 30 }]);
});
