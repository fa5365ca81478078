import { randomUUID } from 'node:crypto';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { EventCodec } from '../../src/event-log/codec.js';
import type { ReadStreamOptions, RecordedEvent, StreamEnd } from '../../src/event-log/event-log.js';
import { RememberedCredit, type ShownUnit } from '../../src/operations/accounts/account-credit.js';
import {
  anAccount,
  credit,
  aboutReward,
  creditRedeemed,
  partyOf,
  rewardCancelled,
  rewardGranted,
} from '../support/account-events.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';

/** Credit that operators looked at before, read on from where it was. */

const ACCOUNT = anAccount('acme');
const BOB = partyOf(ACCOUNT, 'bob');
const CLOCK = 1_000_000;

/** A log that counts the events that were read of streams. */
class CountedLog extends InMemoryEventLog {
  handedOut = 0;

  override async *readStream(
    stream: string,
    options?: ReadStreamOptions,
  ): AsyncIterable<RecordedEvent> {
    for await (const event of super.readStream(stream, options)) {
      this.handedOut += 1;
      yield event;
    }
  }
}

let log: CountedLog;
let codec: EventCodec;
let credits: RememberedCredit;
beforeEach(() => {
  log = new CountedLog();
  codec = new EventCodec(new InMemorySubjectKeys());
  credits = new RememberedCredit();
});

const { tenant, mode, stream } = ACCOUNT;
const envelope = {
  tenant,
  mode,
  correlationId: 'c',
  causationId: 'c',
  commandId: 'c',
  actor: { kind: 'api-key', id: 'key' },
  idempotency: null,
} as const;

async function newest(): Promise<StreamEnd> {
  let end: StreamEnd | undefined;
  const { epoch } = log;
  for await (const { revision, id } of InMemoryEventLog.prototype.readStream.call(log, stream))
    end = { revision, eventId: id, epoch };
  if (end === undefined) throw new Error('the account has no events');
  return end;
}

/** @returns the newest event. */
async function happened(...events: readonly AccountEvent[]): Promise<StreamEnd> {
  const ids = events.map(() => randomUUID());
  const known = await newest().catch(() => undefined);
  const revision = known === undefined ? 'no-stream' : known.revision;
  await log.append(stream, revision, await codec.encode(events, envelope, ids));
  return newest();
}

const granted = (rewardId: string, over: Parameters<typeof rewardGranted>[3] = {}) =>
  rewardGranted(rewardId, BOB, credit(100), { at: 1_000, ...over });
const redeemed = (reward: ReturnType<typeof granted>, amount: number, at = 2_000): AccountEvent =>
  creditRedeemed(reward, randomUUID(), amount, at);

/** What a look shows, and how many events it read. */
async function look(end: StreamEnd, clock = CLOCK) {
  log.handedOut = 0;
  const units = await credits.unitsAt({ log, codec }, stream, end, clock);
  return { units, read: log.handedOut };
}

const fresh = (end: StreamEnd, clock = CLOCK): Promise<readonly ShownUnit[]> =>
  new RememberedCredit().unitsAt({ log, codec }, stream, end, clock);

test('a further look reads what was recorded since, and shows the same as a new one', async () => {
  const reward = granted('w1');
  const first = await look(await happened(reward, redeemed(reward, 30)));
  expect(first).toMatchObject({ read: 2, units: [{ available: 70, redeemed: 30 }] });
  const end = await happened(redeemed(reward, 5, CLOCK + 1));
  const second = await look(end, CLOCK + 2);
  expect(second).toMatchObject({ read: 1, units: [{ available: 65, redeemed: 35 }] });
  expect(await look(end, CLOCK + 2)).toEqual({ read: 0, units: second.units });
  expect(second.units).toEqual(await fresh(end, CLOCK + 2));
});

test('a date that passes between two looks counts, without an event', async () => {
  const end = await happened(granted('w1', { dateExpires: 5_000 }));
  expect((await look(end, 4_999)).units).toMatchObject([{ available: 100, expired: 0 }]);
  expect(await look(end, 5_000)).toMatchObject({
    read: 0,
    units: [{ available: 0, expired: 100 }],
  });
});

test('credit that was cancelled before its date counts, and what was restored no longer does', async () => {
  const [waiting, moderated] = [granted('w1', { dateScheduledFor: 5_000 }), granted('w2')];
  const end = await happened(
    waiting,
    rewardCancelled(waiting, 100, 2_000),
    moderated,
    rewardCancelled(moderated, 100, 2_000, 'MODERATION'),
    aboutReward('RewardRestored', moderated, 100, 3_000),
  );
  expect((await look(end)).units).toMatchObject([
    { assigned: 200, available: 100, pending: 0, cancelled: 100 },
  ]);
});

test('an event of a time that a look has settled begins anew', async () => {
  const reward = granted('w1', { dateExpires: 5_000 });
  await look(await happened(reward), 6_000);
  const end = await happened(redeemed(reward, 40, 4_000));
  const late = await look(end, 6_000);
  expect(late.units).toEqual(await fresh(end, 6_000));
  expect(late.units).toMatchObject([{ redeemed: 40, expired: 60 }]);
  expect(late.read).toBeGreaterThanOrEqual(2);
});

test('a log that lost its end is read from its beginning', async () => {
  const reward = granted('w1');
  await happened(reward);
  await look(await happened(redeemed(reward, 10)));
  log.loseTail(1);
  const end = await happened(redeemed(reward, 25));
  expect(await look(end)).toMatchObject({ read: 2, units: [{ available: 75, redeemed: 25 }] });
});

test('an account that is too large is read at each look, and two at once do not mix', async () => {
  credits = new RememberedCredit(64 * 1024);
  const end = await happened(...['w1', 'w2', 'w3'].map((id) => granted(id)));
  expect((await look(end)).read).toBe(3);
  expect((await look(end)).read).toBe(3);
  credits = new RememberedCredit();
  const looks = await Promise.all([1, 2, 3].map(() => look(end)));
  expect(looks.map(({ units }) => units[0]?.available)).toEqual([300, 300, 300]);
  expect(log.handedOut).toBe(3);
});

test('it stays true over looks at any time and events in any order', async () => {
  const rewards = Array.from({ length: 12 }, (_, at) =>
    granted(`w${at}`, { dateExpires: at % 3 === 0 ? 3_000 + at * 500 : null }),
  );
  for (const [at, reward] of rewards.entries()) {
    const end = await happened(reward, redeemed(reward, at + 1, 1_500 + at * 300));
    const clock = 2_000 + at * 400;
    expect((await look(end, clock)).units).toEqual(await fresh(end, clock));
  }
});
