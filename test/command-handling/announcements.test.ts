import { SharedLedger, type TestProcess } from './support/processes.js';

let ledger: SharedLedger;
let processes: readonly [TestProcess, TestProcess];
beforeAll(async () => {
  ledger = await SharedLedger.open();
  processes = [await ledger.process(), await ledger.process()];
});

it('an announced referral that does not start is withdrawn', async () => {
  const [one, other] = processes;
  await one.userWithCode('anns', 'ann', 'ANN');
  await one.userWithCode('dans', 'dan', 'DAN');
  const rounds = Array.from({ length: 4 }, (_, index) => `friend-${index}`);
  for (const friend of rounds) {
    await one.userWithCode(friend, 'user', friend.replace('-', ''));
    const outcomes = await Promise.all([
      one.send(friend, { type: 'ApplyCode', userId: 'user', code: 'ANN' }),
      other.send(friend, { type: 'ApplyCode', userId: 'user', code: 'DAN' }),
    ]);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['accepted', 'refused']);
  }
  const started = await Promise.all(
    rounds.map(async (friend) => (await one.referralOf(friend)).referralId),
  );
  const announced = [
    ...(await one.account('anns')).announced,
    ...(await one.account('dans')).announced,
  ];
  expect(announced.flatMap((one) => one?.referralId ?? []).sort()).toEqual([...started].sort());
  // Else nothing had to be withdrawn, and the test would say little.
  const facts = [...(await one.factsOf('anns')), ...(await one.factsOf('dans'))].map(
    ({ type }) => type,
  );
  expect(facts).toContain('ReferralWithdrawn');
});

it('of two accounts that refer each other at the same moment, at most one is referred', async () => {
  const [one, other] = processes;
  const rounds = Array.from({ length: 4 }, (_, index) => index);
  const referred = await Promise.all(
    rounds.map(async (round) => {
      const [left, right] = [`left-${round}`, `right-${round}`];
      await one.userWithCode(left, 'user', `LEFT${round}`);
      await one.userWithCode(right, 'user', `RIGHT${round}`);
      await Promise.all([
        one.send(left, { type: 'ApplyCode', userId: 'user', code: `RIGHT${round}` }),
        other.send(right, { type: 'ApplyCode', userId: 'user', code: `LEFT${round}` }),
      ]);
      const accounts = [await one.account(left), await one.account(right)];
      return accounts.filter(({ attribution }) => attribution !== null).length;
    }),
  );
  expect(Math.max(...referred)).toBeLessThanOrEqual(1);
  // Afterwards one of them can be referred, and the other one is refused.
  const again = await one.send('left-0', { type: 'ApplyCode', userId: 'user', code: 'RIGHT0' });
  await other.send('right-0', { type: 'ApplyCode', userId: 'user', code: 'LEFT0' });
  const last = await other.send('right-0', { type: 'ApplyCode', userId: 'user', code: 'LEFT0' });
  expect([again.kind, last.kind]).toContain('refused');
  expect([
    (await one.account('left-0')).attribution,
    (await one.account('right-0')).attribution,
  ]).toContain(null);
});
