import { randomUUID } from 'node:crypto';
import { EventCodec } from '../../src/event-log/codec.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { accountHistory } from '../../src/operations/accounts/account-history.js';
import { KeyedNames } from '../../src/privacy/keyed-names.js';
import {
  accountOpened,
  anAccount,
  credit,
  creditRedeemed,
  partyOf,
  rewardGranted,
  userIdentified,
} from '../support/account-events.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';
import { done } from '../support/operations.js';

/** An account whose first events were recorded under a clock that was 40 days ahead. */

const DAY_MS = 86_400_000;
const NOW = Date.parse('2026-10-01T12:00:00Z');
const ACCOUNT = anAccount('acme');
const { tenant, mode, accountId } = ACCOUNT;
const names = new KeyedNames(Buffer.alloc(32, 1));
const scope = { tenant, mode };
const stream = names.accountStream(scope, names.accountRef(scope, accountId));

const codec = new EventCodec(new InMemorySubjectKeys());
let clock: number;
let log: InMemoryEventLog;
beforeEach(() => {
  log = new InMemoryEventLog(() => clock);
});

let revision: bigint | 'no-stream';
async function happened(at: number, ...events: readonly AccountEvent[]): Promise<void> {
  clock = at;
  log.acceptClock();
  const ids = events.map(() => randomUUID());
  const actor = { kind: 'api-key', id: 'key' } as const;
  const envelope = { tenant, mode, correlationId: 'c', causationId: 'c', commandId: 'c' };
  const encoded = await codec.encode(events, { ...envelope, actor, idempotency: null }, ids);
  await log.append(stream, revision, encoded);
  revision = (revision === 'no-stream' ? -1n : revision) + BigInt(events.length);
}

async function shownAt(asOf: string) {
  type HistoryCore = Parameters<typeof accountHistory>[0];
  const core: Partial<HistoryCore> = { log, codec, names };
  const request = { accountId, asOf, showsPersonal: true };
  return done(await accountHistory(core as HistoryCore, scope, request, NOW));
}

beforeEach(async () => {
  revision = 'no-stream';
  const ahead = NOW + 40 * DAY_MS;
  const reward = rewardGranted('w1', partyOf(ACCOUNT, 'bob'), credit(100), { at: ahead });
  const opened = accountOpened(ACCOUNT, { at: ahead });
  await happened(ahead, opened, userIdentified(ACCOUNT, 'bob', {}, ahead), reward);
  await happened(NOW - 1_000, creditRedeemed(reward, randomUUID(), 30, NOW - 1_000));
});

test('an earlier moment has every event before the last one that counts by then', async () => {
  expect(await shownAt('2026-10-01')).toMatchObject({
    isOpen: true,
    people: [{ userId: 'bob' }],
    eventCount: 4,
    units: [{ available: 70, redeemed: 30 }],
    later: 1,
  });
});

test('before its first entry that counts an account does not exist', async () => {
  expect(await shownAt('2026-09-30')).toMatchObject({ isOpen: false, eventCount: 0, later: 1 });
});
