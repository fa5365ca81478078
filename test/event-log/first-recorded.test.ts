import fc from 'fast-check';
import { InvalidAppend, checkAppend } from '../../src/event-log/append-checks.js';
import type { NewEvent } from '../../src/event-log/event-log.js';
import { asFirstRecorded, firstPosition, withOrigins } from '../../src/event-log/first-recorded.js';
import { runs } from '../support/property-runs.js';

const ID = '00000000-0000-4000-8000-000000000000';
const ORIGIN = { position: 'f453a00f-43', recordedAt: 1_790_000_000_000 };
const event = (metadata: string): NewEvent => ({ id: ID, type: 'T', data: '{}', metadata });
const stored = (metadata: string) => ({
  ...event(metadata),
  stream: 's',
  revision: 0n,
  position: 'b0b0b0b0-7-7',
  recordedAt: 1,
});
const onceCopied = (metadata: string) =>
  asFirstRecorded(stored(withOrigins([{ ...event(metadata), origin: ORIGIN }])[0]?.metadata ?? ''));

test('a copied event is returned byte for byte, with the position and time of its first log', () => {
  const object = fc
    .tuple(
      fc.constantFrom('', ' ', '\n\t'),
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom('', ' '),
    )
    .map(([a, value, b]) => {
      const members = JSON.stringify({ v: value }).slice(1, -1);
      return `{${a}${members}${b}}`;
    });
  fc.assert(
    fc.property(
      fc.oneof(object, fc.constantFrom('{}', '{ }', '{"dup":1,"dup":2}', '{"a":{"b":{}}}')),
      (metadata) => {
        expect(
          () =>
            void JSON.parse(
              withOrigins([{ ...event(metadata), origin: ORIGIN }])[0]?.metadata ?? '',
            ),
        ).not.toThrow();
        const copied = onceCopied(metadata);
        expect(copied).toEqual({
          ...stored(metadata),
          recordedAt: ORIGIN.recordedAt,
          origin: ORIGIN,
        });
        expect(firstPosition(copied)).toBe(ORIGIN.position);
        // A copy of the copy says the same.
        expect(onceCopied(copied.metadata)).toEqual(copied);
      },
    ),
    { numRuns: runs(100) },
  );
});

test('metadata that no copy wrote is unchanged', () => {
  for (const metadata of [
    '',
    '[]',
    'text}',
    '{"v":1}',
    '{"origin":{"position":"a b","recordedAt":1}}',
    '{"note":"\\"origin\\":{}"}',
  ]) {
    expect(asFirstRecorded(stored(metadata))).toEqual(stored(metadata));
    expect(firstPosition(stored(metadata))).toBe('b0b0b0b0-7-7');
  }
  for (const metadata of ['', '[]', 'text}', '"x}"'])
    expect(onceCopied(metadata)).toEqual(stored(metadata));
});

test('metadata that looks like that of a copy is not appended', () => {
  const [copy = event('')] = withOrigins([{ ...event('{"v":1}'), origin: ORIGIN }]);
  expect(() => checkAppend('s', 'no-stream', [{ ...event(''), metadata: copy.metadata }])).toThrow(
    InvalidAppend,
  );
});
