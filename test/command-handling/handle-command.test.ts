import { Map } from 'immutable';
import { enterWorldWith } from '../support/clock-of-process.js';
import { credit } from '../support/account-events.js';
import { EventLogUnavailable, type EventLog } from '../../src/event-log/event-log.js';
import { TooBusy } from '../../src/command-handling/stream-queues.js';
import { aReward } from '../domain/support/commands.js';
import { accepted, aRequest, SharedLedger } from './support/processes.js';
import { ForgetfulLog } from './support/troubled-logs.js';
import { openOnce } from '../support/opened.js';

const ledger = openOnce(() => SharedLedger.open());
const one = openOnce(() => ledger.process());
const other = openOnce(() => ledger.process());

const redeem = (rewardId: string, amount: number) =>
  ({ type: 'RedeemCredit', rewardId, amount, unit: 'CENTS' }) as const;
const plain = (state: object): unknown => Map(Object.entries(state)).toJS();

async function rewardOf(accountId: string, amount: number): Promise<string> {
  await one.sync(accountId);
  await one.upsert(accountId, 'user');
  return one.reward(accountId, 'user', credit(amount));
}

it('two processes meet at one stream: the second decides again on the events of the first', async () => {
  const rewardId = await rewardOf('conflict', 10);
  await other.account('conflict');
  accepted(await one.send('conflict', redeem(rewardId, 6)));
  expect(await other.send('conflict', redeem(rewardId, 6))).toMatchObject({
    kind: 'refused',
    refused: 'REDEMPTION_NOT_POSSIBLE',
  });
  accepted(await other.send('conflict', redeem(rewardId, 4)));
  expect(await one.rewardsOf('conflict')).toMatchObject([{ redeemed: 10 }]);
});

it('two processes refuse on the newest state only: a command that a cached state refuses may be possible by now', async () => {
  const rewardId = await rewardOf('refusal', 10);
  await other.account('refusal');
  accepted(await one.send('refusal', redeem(rewardId, 10)));
  expect(await one.send('refusal', redeem(rewardId, 1))).toMatchObject({ kind: 'refused' });
  const second = await other.reward('refusal', 'user', credit(5));
  // This process has never seen the second reward.
  accepted(await one.send('refusal', redeem(second, 5)));
});

const DAY_MS = 24 * 60 * 60 * 1000;
const give = (amount: number) => aReward('user', credit(amount));
/** A request with the key, as it comes so many days from now: under a command id of its own. */
const comes = (key: string, days: number, fingerprint = 'the same') => ({
  ...aRequest(),
  idempotency: { key: `hash of ${key}`, fingerprint },
  askedAt: Date.now() + days * DAY_MS,
});

it('a key whose kept answer is gone is answered with its effect for seven days, and another request gets the key after them alone', async () => {
  await one.sync('aged');
  await one.upsert('aged', 'user');
  const first = accepted(await one.send('aged', give(600), comes('aged', 0)));
  const restarted = await ledger.process();
  for (const process of [one, other, restarted]) {
    for (const days of [0, 6.9])
      expect(accepted(await process.send('aged', give(600), comes('aged', days)))).toMatchObject({
        replayed: true,
        events: first.events,
      });
    expect(await process.send('aged', give(5), comes('aged', 6.9, 'another'))).toMatchObject({
      refused: 'IDEMPOTENCY_KEY_REUSED',
    });
  }
  expect(await one.rewardsOf('aged')).toHaveLength(1);
  const later = await one.send('aged', give(5), comes('aged', 7.1, 'another'));
  expect(accepted(later)).toMatchObject({ replayed: false });
});

it('a command whose events exceed the limit of one append is refused', async () => {
  const text = 'x'.repeat(1024);
  const fields = Array.from({ length: 1_000 }, (_, n) => [`field_${n}`, text] as const);
  accepted(await one.sync('large'));
  const customFields = Object.fromEntries(fields);
  expect(await one.upsert('large', 'bob', { changes: { customFields } })).toMatchObject({
    refused: 'RECORD_TOO_LARGE',
  });
});

it('an answer that is lost on its way is found in the log when the command is repeated: as recorded, not as it would be decided now', async () => {
  let now = Date.now();
  const around = (log: EventLog) => new ForgetfulLog(log);
  const process = await ledger.process({ around, clock: () => now });
  const rewardId = await rewardOf('lost', 10);
  await process.account('lost');
  (process.log as ForgetfulLog).loseNextAnswer();
  const meta = aRequest('lost-3');
  await expect(process.send('lost', redeem(rewardId, 3), meta)).rejects.toThrow(
    EventLogUnavailable,
  );
  now += 60_000;
  const again = accepted(await process.send('lost', redeem(rewardId, 3), meta));
  const [stored] = (await process.factsOf('lost')).slice(-1);
  expect(again).toMatchObject({ replayed: true, events: [stored] });
  // The cache of this process equals the log.
  const restarted = await ledger.process();
  expect(plain(await process.account('lost'))).toEqual(plain(await restarted.account('lost')));
  expect(await restarted.rewardsOf('lost')).toMatchObject([{ redeemed: 3 }]);
});

it('a command whose stream another process writes to again and again gives up, and changes nothing', async () => {
  await one.sync('contended');
  let writes = 0;
  // Before each append of this process another one is faster.
  const process = await ledger.process({
    around: (log) =>
      new Proxy(log, {
        get: (target, member: keyof typeof log) => {
          const value: unknown = Reflect.get(target, member);
          if (member !== 'append')
            return typeof value === 'function' ? (value.bind(target) as unknown) : value;
          return async (...call: Parameters<typeof log.append>) => {
            await other.sync('contended', writes++ % 2 === 0 ? 'CANCELLED' : 'TRIAL');
            return target.append(...call);
          };
        },
      }),
  });
  await expect(process.upsert('contended', 'user', { referralCode: 'CONTENDED' })).rejects.toThrow(
    TooBusy,
  );
  expect((await one.account('contended')).users.size).toBe(0);
});

it('commands of one stream run in their order of arrival, without waiting for other streams', async () => {
  const rewardId = await rewardOf('queue', 10);
  const { process, gate } = await ledger.gated((_, events) =>
    events.some(({ type }) => type === 'CreditRedeemed'),
  );
  const first = process.send('queue', redeem(rewardId, 6));
  await gate.reached;
  const second = process.send('queue', redeem(rewardId, 6));
  accepted(await process.sync('another stream'));
  gate.open();
  expect([(await first).kind, (await second).kind]).toEqual(['accepted', 'refused']);
});

describe('commands that wait while an append of their stream fails', () => {
  let late = 0;
  let leave: () => void;
  beforeEach(() => {
    late = 0;
    leave = enterWorldWith({ elapsed: () => performance.now() + late, below: () => 0 });
  });
  afterEach(() => leave());

  /** The first append fails, after so many milliseconds. @returns how each command ended. */
  async function ends(afterMs: number): Promise<readonly string[]> {
    let reach: () => void = () => undefined;
    let fail: () => void = () => undefined;
    const reached = new Promise<void>((resolve) => (reach = resolve));
    const failed = new Promise<void>((resolve) => (fail = resolve));
    let appends = 0;
    const { tenants } = (
      await ledger.process({
        around: (log) => {
          const append = log.append.bind(log);
          log.append = async (...call) => {
            appends += 1;
            if (appends > 1) return append(...call);
            reach();
            await failed;
            throw new EventLogUnavailable('no answer in time');
          };
          return log;
        },
      })
    ).streams;
    const opened = { type: 'OpenEndpointsSwitched', at: 1, openEndpoints: true } as const;
    const send = () =>
      tenants.handle(one.names.tenantStream('demo'), aRequest(), () => ({ events: [opened] }));
    const first = send();
    await reached;
    const all = [first, send(), send()];
    late = afterMs;
    fail();
    const ended = await Promise.allSettled(all);
    expect(await send()).toMatchObject({ kind: 'accepted' });
    return ended.map((end) => (end.status === 'rejected' ? String(end.reason) : end.status));
  }

  it('fail with it when it took long: each would wait as long, one after the other', async () => {
    const behind = 'EventLogUnavailable: a command before this one failed at a store';
    expect(await ends(60_000)).toEqual(['EventLogUnavailable: no answer in time', behind, behind]);
  });

  it('are tried when it failed fast', async () => {
    expect(await ends(-60_000)).toEqual([
      'EventLogUnavailable: no answer in time',
      'fulfilled',
      'fulfilled',
    ]);
  });
});
