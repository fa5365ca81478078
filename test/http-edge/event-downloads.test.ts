import type { Readable } from 'node:stream';
import { EVENT_DOWNLOADS, EventDownloads } from '../../src/http/console/event-downloads.js';
import type { TenantPages } from '../../src/http/console/pages/tenant-pages.js';
import { GivingWay } from '../../src/foundation/giving-way.js';
import { ApiError } from '../../src/http/edge/api-error.js';

/** Nothing is written as long as a test lasts. */
const pages: Pick<TenantPages, 'recorded' | 'givingWay'> = {
  recorded: () => new Promise(() => undefined),
  givingWay: (signal) => new GivingWay(undefined, signal),
};
const scope = { tenant: 'a', mode: 'live' } as const;

let downloads: EventDownloads;
beforeEach(() => (downloads = new EventDownloads(pages)));

function begin(name: string, departure = new AbortController().signal): Readable {
  const call = { operator: { name, roles: ['finance'] }, departure } as const;
  const file = downloads.begin(call, scope, {});
  file.on('error', () => undefined);
  return file;
}

function statusOf(name: string): number {
  try {
    begin(name);
    return 200;
  } catch (error) {
    return error instanceof ApiError ? error.getStatus() : NaN;
  }
}

const closed = (file: Readable): Promise<unknown> =>
  new Promise((resolve) => file.once('close', resolve));

test('an operator downloads few at once, and others besides', () => {
  for (let begun = 0; begun < EVENT_DOWNLOADS.perHolder; begun += 1) begin('fay');
  expect(statusOf('fay')).toBe(429);
  expect(statusOf('flo')).toBe(200);
});

test('one whose reader left before it was read leaves its place', async () => {
  const reader = new AbortController();
  const files = Array.from({ length: EVENT_DOWNLOADS.perHolder }, () =>
    begin('fay', reader.signal),
  );
  const all = Promise.all(files.map(closed));
  reader.abort();
  await all;
  expect(statusOf('fay')).toBe(200);
});

test('one whose reader had left before it began holds no place', async () => {
  for (let begun = 0; begun < EVENT_DOWNLOADS.all; begun += 1)
    await closed(begin('fay', AbortSignal.abort()));
  expect(statusOf('fay')).toBe(200);
});
