import { credit } from '../support/account-events.js';
import { accepted, aRequest, SharedLedger, type TestProcess } from './support/processes.js';

let ledger: SharedLedger;
let processes: readonly [TestProcess, TestProcess];

beforeAll(async () => {
  ledger = await SharedLedger.open();
  processes = [await ledger.process(), await ledger.process()];
});
afterAll(() => ledger.close());

const processOf = (index: number): TestProcess => processes[index % 2 === 0 ? 0 : 1];

it('64 redemptions of one reward at once in two processes take what is there and no more', async () => {
  const [one, other] = processes;
  await one.userWithCode('hot', 'ann', 'HOT');
  const rewardId = await one.reward('hot', 'ann', credit(100));
  const outcomes = await Promise.all(
    Array.from({ length: 64 }, (_, index) =>
      processOf(index).send('hot', { type: 'RedeemCredit', rewardId, amount: 3, unit: 'CENTS' }, aRequest(`hot-${index}`)),
    ),
  );
  expect(outcomes.filter(({ kind }) => kind === 'accepted').length).toBe(33);
  for (const outcome of outcomes) if (outcome.kind === 'refused') expect(outcome.refused).toBe('REDEMPTION_NOT_POSSIBLE');
  expect(await other.rewardsOf('hot')).toMatchObject([{ redeemed: 99 }]);
  const redeemed = (await one.factsOf('hot')).flatMap((event) => (event.type === 'CreditRedeemed' ? [event.amount] : []));
  expect(redeemed).toEqual(Array.from({ length: 33 }, () => 3));
});

it('bulk redemptions and redemptions of one reward at once spend the account’s credit exactly', async () => {
  const [one] = processes;
  await one.userWithCode('mixed', 'ann', 'MIXED');
  const rewards: string[] = [];
  for (const amount of [40, 30, 30]) rewards.push(await one.reward('mixed', 'ann', credit(amount)));
  const outcomes = await Promise.all(
    Array.from({ length: 40 }, (_, index) => {
      const ofOne = { type: 'RedeemCredit', rewardId: rewards[index % 3] ?? '', amount: 5, unit: 'CENTS' } as const;
      return processOf(index >> 1).send('mixed', index % 2 === 0 ? ofOne : { type: 'RedeemAccountCredit', amount: 7, unit: 'cents' });
    }),
  );
  const spent = outcomes.reduce((sum, outcome, index) => sum + (outcome.kind === 'accepted' ? (index % 2 === 0 ? 5 : 7) : 0), 0);
  const states = await one.rewardsOf('mixed');
  expect(states.reduce((sum, { redeemed }) => sum + redeemed, 0)).toBe(spent);
  for (const { redeemed, value } of states) expect(redeemed).toBeLessThanOrEqual(value.type === 'CREDIT' ? value.assignedCredit : 0);
  expect(spent).toBeGreaterThan(100 - 7);
});

it('the same redemption sent by 16 clients at once is one redemption, and all are told the same', async () => {
  const [one] = processes;
  await one.userWithCode('same', 'ann', 'SAME');
  const rewardId = await one.reward('same', 'ann', credit(100));
  const outcomes = await Promise.all(
    Array.from({ length: 16 }, (_, index) =>
      processOf(index).send('same', { type: 'RedeemCredit', rewardId, amount: 60, unit: 'CENTS' }, aRequest('one key')),
    ),
  );
  const told = outcomes.map((outcome) => accepted(outcome));
  expect(told.filter(({ replayed }) => !replayed).length).toBe(1);
  for (const { events, position } of told) expect({ events, position }).toEqual({ events: told[0]?.events, position: told[0]?.position });
  expect(await one.rewardsOf('same')).toMatchObject([{ redeemed: 60 }]);
});

it('of redeeming and cancelling at once, one wins', async () => {
  const [one, other] = processes;
  await one.userWithCode('either', 'ann', 'EITHER');
  for (let round = 0; round < 8; round++) {
    const rewardId = await one.reward('either', 'ann', credit(10));
    await other.account('either');
    const [redeemed, cancelled] = await Promise.all([
      one.send('either', { type: 'RedeemCredit', rewardId, amount: 1, unit: 'CENTS' }),
      other.send('either', { type: 'CancelReward', rewardId }),
    ]);
    expect([redeemed.kind, cancelled.kind].sort()).toEqual(['accepted', 'refused']);
  }
});
