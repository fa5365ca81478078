import { openPool } from '../../src/postgres/database.js';
import type { Follower } from '../../src/following/follower.js';
import type { Page } from '../../src/projecting/page.js';
import { followedAlone } from '../support/followed.js';
import { postgresAnnouncementsStore } from '../../src/webhooks/deliveries/announcements-store.js';
import {
  AnnouncementsHandler,
  type AnnouncementsHandlerOptions,
} from '../../src/webhooks/deliveries/announcements-handler.js';
import { anAccount, userIdentified } from '../support/account-events.js';
import { createTestDatabase } from '../support/database.js';
import { eventually } from '../support/embedded.js';
import { ErrorLines } from '../support/error-lines.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { TestLedger } from '../support/test-ledger.js';

test('an event that this release cannot read is logged when its webhooks are put off, and shown until they are not', async () => {
  const database = await createTestDatabase();
  const pool = openPool({ url: database.url, max: 6, applicationName: 'test' });
  const log = new InMemoryEventLog();
  const ledger = new TestLedger(log);
  const logger = new ErrorLines();
  const store = postgresAnnouncementsStore(pool);
  const endpoint = { tenant: 'demo', mode: 'live', endpointId: 'e' } as const;
  await store.begin(null, [{ ...endpoint, state: 'ACTIVE', position: null }]);
  const never = () => Promise.reject(new Error('nothing is looked up'));
  const options = {
    log,
    decode: ledger.decode,
    logger,
    translate: never,
    receivedTypes: never,
    streams: { tenantRegister: { load: never } },
    names: {},
  } as unknown as Omit<AnnouncementsHandlerOptions, 'store'>;
  const followers: Follower<Page>[] = [];
  const started = () => {
    const handler = new AnnouncementsHandler({
      ...options,
      store: postgresAnnouncementsStore(pool),
    });
    const follower = followedAlone(handler, { pool, log, decode: ledger.decode });
    followers.push(follower);
    follower.start();
    return { status: () => handler.status(Date.now(), follower), stop: () => follower.stop() };
  };
  const reason = 'written by a later release';
  const account = { ...anAccount('acme'), stream: 'referral-account-live.demo.acme' };
  const { id, position } = await ledger.happenedUndecodably(account, userIdentified(account, 'u'));
  try {
    // Another release begins to lead, and cannot read the event either.
    for (const _ of ['older', 'another']) {
      const follower = started();
      await eventually(async () => (await follower.status()).parkedBecause === reason);
      expect(await follower.status()).toMatchObject({ lastError: null, position });
      await follower.stop();
    }
    expect(logger.lines).toEqual([
      {
        position,
        error: reason,
        message: 'an event cannot be read or announced: its webhooks are parked',
      },
    ]);
    ledger.undecodable.delete(id);
    const newer = started();
    await eventually(async () => (await newer.status()).parkedBecause === null);
  } finally {
    await Promise.all(followers.map((follower) => follower.stop()));
    await pool.end();
    await database.drop();
  }
});
