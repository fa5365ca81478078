import { randomUUID } from 'node:crypto';
import { EventStoreDbEventLog } from '../../src/event-log/eventstoredb/eventstoredb-event-log.js';
import { parseEventStoreUrl } from '../../src/config/event-store-url.js';
import {
  startEventStoreDbDouble,
  type EventStoreDbDouble,
} from '../support/eventstoredb-double/double.js';

const EVENTS = 3_000;
const PAGE = 500;
const event = () => ({ id: randomUUID(), type: 'CreditRedeemed', data: '{}', metadata: '{"v":1}' });

let double: EventStoreDbDouble;
let log: EventStoreDbEventLog;
beforeAll(async () => {
  double = await startEventStoreDbDouble();
  for (let stored = 0; stored < EVENTS; stored += PAGE) {
    const stream = `account-${stored % 7}`;
    double.storedBehindTheBack(stream, Array.from({ length: PAGE }, event));
  }
  log = new EventStoreDbEventLog({
    address: parseEventStoreUrl(double.url),
    owner: 'test',
    prefix: 'account-',
  });
});
afterAll(async () => {
  await log.close();
  await double.stop();
});

it('a slow consumer stops reading ahead: a page is requested when the previous one was taken', async () => {
  const ending = new AbortController();
  const reads: number[] = [];
  let seen = 0;
  for await (const page of log.follow(undefined, { signal: ending.signal, pageSize: PAGE })) {
    seen += page.length;
    // A call that makes the way to the store and back: what a tail had asked for meanwhile would be
    // there before it.
    await log.readAll(undefined, 1);
    reads.push(double.calls.read);
    if (seen >= 4 * PAGE) break;
  }
  const [first = 0] = reads;
  // The page, and the call above.
  expect(reads).toEqual(reads.map((_, page) => first + 2 * page));
  expect(seen).toBe(4 * PAGE);
}, 60_000);
