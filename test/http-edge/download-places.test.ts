import { Readable } from 'node:stream';
import { ApiError } from '../../src/http/edge/api-error.js';
import { DownloadPlaces } from '../../src/http/exports/download-places.js';
import { openForEach } from '../support/opened.js';

const content = (): Readable => {
  const stream = new Readable({ read: () => undefined });
  stream.on('error', () => undefined);
  return stream;
};

const closed = (stream: Readable): Promise<unknown> =>
  new Promise((resolve) => stream.once('close', resolve));

const places = openForEach(() => new DownloadPlaces({ all: 5, perHolder: 3 }));

const enter = (tenant: string, stream = content()): Readable => places.enter(tenant, () => stream);

/** The status and `Retry-After` of a refusal; nothing is opened. */
function refusalOf(tenant: string): unknown {
  try {
    places.enter(tenant, () => {
      throw new Error('it was opened');
    });
  } catch (error) {
    return error instanceof ApiError
      ? [error.getStatus(), error.headers['Retry-After']]
      : String(error);
  }
  return undefined;
}

test('a tenant downloads a few files concurrently, and another when one is closed', async () => {
  const [first] = [enter('a'), enter('a'), enter('a')];
  expect(refusalOf('a')).toEqual([429, '5']);
  enter('b');
  const isClosed = closed(first);
  first.destroy();
  await isClosed;
  enter('a');
  expect(refusalOf('a')).toEqual([429, '5']);
});

test('a file that was read to its end leaves its place, too', async () => {
  const read = Readable.from([Buffer.from('x')]);
  for (const stream of [read, content(), content()]) enter('a', stream);
  for await (const _ of read);
  expect(refusalOf('a')).toBe('Error: it was opened');
});

test('where all places are taken, the next tenant waits', () => {
  for (const tenant of ['a', 'a', 'a', 'b', 'b']) enter(tenant);
  expect(refusalOf('c')).toEqual([503, '5']);
});
