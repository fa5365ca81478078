// Over 5 s: accounts of 2,500 rewards are filled, redeemed and listed.
import { credit, rewardGranted } from '../support/account-events.js';
import { availableCredit } from '../../src/domain/account/rewards/redemption.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { EventLogUnavailable, type EventLog } from '../../src/event-log/event-log.js';
import { idWithin } from '../../src/privacy/keyed-names.js';
import { encodedEvents } from '../support/encoded-events.js';
import { DyingLog } from './support/troubled-logs.js';
import { accepted, aRequest, refOf, SharedLedger, type TestProcess } from './support/processes.js';

let ledger: SharedLedger;
let processes: readonly [TestProcess, TestProcess];

beforeAll(async () => {
  ledger = await SharedLedger.open();
  processes = [await ledger.process(), await ledger.process()];
});

const processOf = (index: number): TestProcess => processes[index % 2 === 0 ? 0 : 1];

it('the same redemption sent by 16 clients concurrently is one redemption, and all get the same answer', async () => {
  const [one] = processes;
  await one.userWithCode('same', 'ann', 'SAME');
  const rewardId = await one.reward('same', 'ann', credit(100));
  const outcomes = await Promise.all(
    Array.from({ length: 16 }, (_, index) =>
      processOf(index).send(
        'same',
        { type: 'RedeemCredit', rewardId, amount: 60, unit: 'CENTS' },
        aRequest('one key'),
      ),
    ),
  );
  const answers = outcomes.map((outcome) => accepted(outcome));
  expect(answers.filter(({ replayed }) => !replayed).length).toBe(1);
  for (const { events, position } of answers)
    expect({ events, position }).toEqual({
      events: answers[0]?.events,
      position: answers[0]?.position,
    });
  expect(await one.rewardsOf('same')).toMatchObject([{ redeemed: 60 }]);
});

const MANY = 2_500;

/** As so many rewards of 2 each, put into the log directly. */
async function richAccount(accountId: string): Promise<void> {
  const [one] = processes;
  await one.userWithCode(accountId, 'ann', accountId.toUpperCase());
  const account = await one.account(accountId);
  const person = account.persons.first() ?? '';
  const ids = { subject: person, value: { accountId, userId: 'ann' } };
  const ann = { account: refOf(accountId), person, ids };
  const stream = one.names.accountStream(aRequest().scope, refOf(accountId));
  for (let from = 0; from < MANY; from += 500) {
    const events = Array.from({ length: 500 }, (_, index) =>
      rewardGranted(idWithin(refOf(accountId), `${from + index}`), ann, credit(2), {
        at: from + index,
      }),
    );
    const { revision } = await one.streams.accounts.load(stream);
    const encoded = await encodedEvents(one.codec, aRequest().scope, events);
    expect((await one.log.append(stream, revision, encoded)).kind).toBe('appended');
  }
}

const all = { type: 'RedeemAccountCredit', amount: MANY * 2, unit: 'CENTS' } as const;
const linesOf = (facts: readonly AccountEvent[]) =>
  facts.flatMap((event) => (event.type === 'RedeemedRewardsListed' ? event.lines : []));

it('redeeming from very many rewards takes the whole amount, lists all rewards before the answer, and returns the same answer again', async () => {
  await richAccount('rich');
  const [one, other] = processes;
  const outcome = accepted(await one.send('rich', all, aRequest('rich once')));
  expect(outcome.events[0]).toMatchObject({
    type: 'AccountCreditRedeemed',
    amount: MANY * 2,
    rewards: MANY,
  });
  expect(outcome.position).toBe(await one.log.head());
  expect(linesOf(await one.factsOf('rich'))).toHaveLength(MANY);
  expect(availableCredit(await other.account('rich'), 'CENTS', Date.now())).toBe(0);
  const again = accepted(await other.send('rich', all, aRequest('rich once')));
  expect(again).toMatchObject({
    replayed: true,
    events: outcome.events,
    position: outcome.position,
  });
  expect(await one.log.head()).toBe(outcome.position);
  expect((await one.rewardsOf('rich')).every(({ redeemed }) => redeemed === 2)).toBe(true);
});

it.each([1, 2])(
  'redeeming from very many rewards that dies after append %i has taken the whole amount, and the next command of the account lists the rest, once',
  async (appends) => {
    const accountId = `rich${appends}`;
    await richAccount(accountId);
    const dying = await ledger.process({ around: (log) => new DyingLog(log, appends) });
    await dying
      .send(accountId, all, aRequest(accountId))
      .catch((error: unknown) => expect(error).toBeInstanceOf(EventLogUnavailable));
    await dying.close();
    const [one, other] = processes;
    expect(
      await one.send(accountId, { type: 'RedeemAccountCredit', amount: 1, unit: 'CENTS' }),
    ).toMatchObject({ kind: 'refused' });
    await Promise.all(
      processes
        .map((process) => process.send(accountId, { type: 'ListRedeemedRewards' }))
        .concat(other.send(accountId, all, aRequest(accountId))),
    );
    const lines = linesOf(await one.factsOf(accountId));
    expect([lines.length, new Set(lines.map(([rewardId]) => rewardId)).size]).toEqual([MANY, MANY]);
    expect((await one.account(accountId)).remains.unlisted.size).toBe(0);
  },
);

it('redeeming from very many rewards is answered although the list cannot be written yet, so that no client repeats it as failed', async () => {
  await richAccount('listed');
  let isAway = true;
  const troubled = await ledger.process({
    around: (log) =>
      Object.assign(Object.create(log) as EventLog, {
        append: (...call: Parameters<EventLog['append']>) =>
          isAway && call[2][0]?.type === 'RedeemedRewardsListed'
            ? Promise.reject(new EventLogUnavailable('the log is away'))
            : log.append(...call),
      }),
  });
  accepted(await troubled.send('listed', { ...all, amount: MANY * 2 - 1 }));
  expect(availableCredit(await troubled.account('listed'), 'CENTS', Date.now())).toBe(1);
  // The reaction whose work it is fails, so that it is tried again.
  await expect(troubled.send('listed', { type: 'ListRedeemedRewards' })).rejects.toThrow(
    EventLogUnavailable,
  );
  isAway = false;
  await troubled.send('listed', { type: 'ListRedeemedRewards' });
  expect(linesOf(await troubled.factsOf('listed'))).toHaveLength(MANY);
});
