import { NeedResolver, type NeedSources } from '../../src/command-handling/needs/need-resolver.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { reservationKey, type NeededReservation } from '../../src/domain/need.js';
import { credit } from '../support/account-events.js';
import { loseTail, numberOf } from '../support/lost-tail.js';
import { encodedEvents } from '../support/encoded-events.js';
import { aRequest, refOf, SharedLedger, type TestProcess } from './support/processes.js';
import { InterruptedLog } from './support/troubled-logs.js';
import { openOnce, openForEach } from '../support/opened.js';
import { useSql } from '../support/database.js';

const ledger = openOnce(() => SharedLedger.onPostgres(), 'close');
const sql = useSql(() => ledger.url);
const one = openForEach(() => ledger.process());
const other = openForEach(() => ledger.process());

async function headOf({ log }: TestProcess): Promise<number> {
  return numberOf(await log.head());
}

const spend = async (process: TestProcess, account: string, amount: number): Promise<string> =>
  (await process.send(account, { type: 'RedeemAccountCredit', amount, unit: 'CENTS' })).kind;

/** The state in a new process without a cache. */
async function inLog(account: string): Promise<{ assigned: number; redeemed: number }> {
  const fresh = await ledger.process();
  const rewards = await fresh.rewardsOf(account);
  await fresh.close();
  return {
    assigned: rewards.reduce(
      (sum, { value }) => sum + (value.type === 'CREDIT' ? value.assignedCredit : 0),
      0,
    ),
    redeemed: rewards.reduce((sum, { redeemed }) => sum + redeemed, 0),
  };
}

async function fill(process: TestProcess, account: string, events: number): Promise<void> {
  for (let n = 0; n < events; n++) await process.sync(account, n % 2 === 0 ? 'CANCELLED' : 'TRIAL');
}

it('a lost reward is not redeemed, although the stream is as long as before', async () => {
  await one.userWithCode('phantom', 'user', 'PHANTOM');
  const kept = await headOf(one);
  await one.reward('phantom', 'user', credit(800));
  const lost = (await headOf(one)) - kept;
  await loseTail(sql, kept);
  await fill(other, 'phantom', lost);
  expect(await headOf(other)).toBe(kept + lost);
  expect(await spend(one, 'phantom', 800)).toBe('refused');
  expect(await inLog('phantom')).toEqual({ assigned: 0, redeemed: 0 });
});

it('a stream that is lost and filled again between two pages of a read is read again', async () => {
  /** Of one append, beyond what a page holds. */
  const fillAtOnce = async (): Promise<void> => {
    const process = await ledger.process();
    const stream = process.names.accountStream(aRequest().scope, refOf('paged'));
    const { revision } = await process.streams.accounts.load(stream);
    const events = Array.from({ length: 1_200 }, (): AccountEvent => ({
      type: 'CurrencyChanged',
      at: 0,
      currency: 'EUR',
    }));
    const encoded = await encodedEvents(process.codec, aRequest().scope, events);
    await process.log.append(stream, revision, encoded);
    await process.close();
  };
  await one.userWithCode('paged', 'user', 'PAGED');
  const kept = await headOf(one);
  await one.reward('paged', 'user', credit(800));
  await fillAtOnce();
  const reading = await ledger.process({
    around: (log) =>
      new InterruptedLog(log, 1_000, async () => {
        await loseTail(sql, kept);
        await fillAtOnce();
      }),
  });
  expect(await spend(reading, 'paged', 800)).toBe('refused');
  expect(await inLog('paged')).toEqual({ assigned: 0, redeemed: 0 });
});

it('needs that were fetched before a loss are fetched again', async () => {
  const log = { epoch: 0 };
  const reserve = () => Promise.resolve({ code: 'LUCKY', stream: 'code', claim: 'claim' });
  const sources = { log, reservations: { reserve } } as unknown as NeedSources;
  const resolver = new NeedResolver(sources, aRequest(), refOf('needs'));
  const what = { kind: 'code', code: 'LUCKY', person: 'ann', programId: 'default' } as const;
  const need: NeededReservation = { kind: 'reservation', what, lapses: 0 };
  const isReserved = async () => {
    let found: unknown;
    await resolver.decide(({ reservations }) => {
      found = reservations[reservationKey(need)];
      return { events: [] };
    });
    return found !== undefined;
  };
  await resolver.resolve([need]);
  expect(await isReserved()).toBe(true);
  log.epoch += 1;
  expect(await isReserved()).toBe(false);
  await resolver.resolve([need]);
  expect(await isReserved()).toBe(true);
});

it('caches are dropped once after a loss, which is logged', async () => {
  await one.userWithCode('notified', 'user', 'NOTIFIED');
  const kept = (await headOf(one)) - 1;
  const from = one.log.newestSeen;
  const heard: unknown[] = [];
  one.log.onWentBack((newest) => heard.push(newest));
  await loseTail(sql, kept);
  await one.log.checkNewestSeen();
  await one.log.checkNewestSeen();
  expect(heard).toEqual([{ position: from?.position, eventId: from?.eventId }]);
  expect(one.log.newestSeen).toBeUndefined();
});

it('a loss between two checks is noticed although the log was filled beyond it and read since', async () => {
  await one.userWithCode('hidden', 'user', 'HIDDEN');
  const kept = await headOf(one);
  await one.reward('hidden', 'user', credit(800));
  await loseTail(sql, kept);
  await fill(other, 'hidden', 3);
  await one.log.readAll(undefined, 10_000);
  const { epoch } = one.log;
  await one.log.checkNewestSeen();
  expect(one.log.epoch).toBe(epoch + 1);
});
