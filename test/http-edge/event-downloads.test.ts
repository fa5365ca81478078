import type { Readable } from 'node:stream';
import { EVENT_DOWNLOADS, EventDownloads } from '../../src/console/event-downloads.js';
import type { TenantPages } from '../../src/console/pages/tenant-pages.js';
import { BackgroundPacer } from '../../src/foundation/background-pacer.js';
import { ApiError } from '../../src/http/edge/api-error.js';

/** Nothing is written as long as a test lasts. */
const pages: Pick<TenantPages, 'recorded' | 'givingWay'> = {
  recorded: () => new Promise(() => undefined),
  givingWay: (signal) => new BackgroundPacer(undefined, signal),
};
const scope = { tenant: 'a', mode: 'live' } as const;

let downloads: EventDownloads;
beforeEach(() => (downloads = new EventDownloads(pages)));

function begin(name: string, departure = new AbortController().signal): Readable {
  const operator = { name, roles: ['finance'] } as const;
  const call = { operator, ledger: scope, departure: () => departure };
  const file = downloads.begin(call, {});
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

test('an operator downloads few files concurrently, and other operators, too', () => {
  for (let begun = 0; begun < EVENT_DOWNLOADS.perHolder; begun += 1) begin('fay');
  expect(statusOf('fay')).toBe(429);
  expect(statusOf('flo')).toBe(200);
});

test('a download whose reader left before it was read leaves its place', async () => {
  const reader = new AbortController();
  const files = Array.from({ length: EVENT_DOWNLOADS.perHolder }, () =>
    begin('fay', reader.signal),
  );
  const all = Promise.all(files.map(closed));
  reader.abort();
  await all;
  expect(statusOf('fay')).toBe(200);
});

test('a download whose reader had left before it began holds no place', async () => {
  for (let begun = 0; begun < EVENT_DOWNLOADS.all; begun += 1)
    await closed(begin('fay', AbortSignal.abort()));
  expect(statusOf('fay')).toBe(200);
});

test('a download is recorded before its first byte is read', async () => {
  const asked: string[] = [];
  let recorded = (): void => undefined;
  const sends = new Promise<void>((resolve) => {
    downloads = new EventDownloads({
      ...pages,
      recorded: (_call, operation) => {
        asked.push(operation);
        if (operation === 'ledger export') resolve();
        return new Promise((done) => (recorded = () => done(null as never)));
      },
    });
  });
  begin('fay');
  expect(asked).toEqual(['ledger export begun']);
  recorded();
  await sends;
  expect(asked).toEqual(['ledger export begun', 'ledger export']);
});

test('a download that cannot be recorded has no content', async () => {
  downloads = new EventDownloads({ ...pages, recorded: () => Promise.reject(new Error('away')) });
  const file = begin('fay');
  await closed(file);
  expect(file.errored?.message).toBe('away');
  expect(file.readableLength).toBe(0);
});
