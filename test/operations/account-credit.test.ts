import { randomUUID } from 'node:crypto';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
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
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';

const { tenant, mode, stream, ...account } = anAccount('acme');
const BOB = partyOf({ tenant, mode, stream, ...account }, 'bob');

const granted = (rewardId: string, over: Parameters<typeof rewardGranted>[3] = {}) =>
  rewardGranted(rewardId, BOB, credit(100), { at: 1_000, ...over });

/** The credit of an account with these events. */
async function creditAt(clock: number, ...events: readonly AccountEvent[]) {
  const log = new InMemoryEventLog();
  const codec = new EventCodec(new InMemorySubjectKeys());
  const actor = { kind: 'api-key', id: 'key' } as const;
  const ids = { correlationId: 'c', causationId: 'c', commandId: 'c', idempotency: null };
  const eventIds = events.map(() => randomUUID());
  const envelope = { tenant, mode, actor, ...ids };
  await log.append(stream, 'no-stream', await codec.encode(events, envelope, eventIds));
  const end = { revision: BigInt(events.length - 1), eventId: eventIds.at(-1) ?? '', epoch: 0 };
  return (await creditUpTo({ log, codec }, stream, end)).unitsAt(clock);
}

test('credit that was cancelled before its date counts, and what was restored no longer does', async () => {
  const [waiting, moderated] = [granted('w1', { dateScheduledFor: 5_000 }), granted('w2')];
  const units = await creditAt(
    1_000_000,
    waiting,
    rewardCancelled(waiting, 100, 2_000),
    moderated,
    rewardCancelled(moderated, 100, 2_000, 'MODERATION'),
    aboutReward('RewardRestored', moderated, 100, 3_000),
  );
  expect(units).toMatchObject([{ assigned: 200, available: 100, pending: 0, cancelled: 100 }]);
});

test('credit expires at its date without an event, but for what was redeemed before', async () => {
  const reward = granted('w1', { dateExpires: 5_000 });
  const redeemed = creditRedeemed(reward, randomUUID(), 40, 4_000);
  expect(await creditAt(4_999, reward, redeemed)).toMatchObject([{ available: 60, expired: 0 }]);
  const units = await creditAt(5_000, reward, redeemed);
  expect(units).toMatchObject([{ available: 0, redeemed: 40, expired: 60 }]);
});
