import fc from 'fast-check';
import { canonicalJson } from '../../src/foundation/canonical-json.js';
import { runs } from '../support/property-runs.js';

/** By definition: every object with its members in order, those that are undefined left out. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return members.map(([name, member]) => [name, sorted(member)]);
}

const values = fc.jsonValue({ maxDepth: 4 });

test('a value has one text, whatever the order of its members', () => {
  fc.assert(
    fc.property(values, (value) => {
      const text = canonicalJson(value);
      const read: unknown = JSON.parse(text);
      // JSON has no −0.
      expect(sorted(read)).toEqual(sorted(JSON.parse(JSON.stringify(value))));
      expect(canonicalJson(read)).toBe(text);
      expect(text).not.toMatch(/^\s|\s$/);
    }),
    { numRuns: runs(300) },
  );
});

test.each([
  [{ b: 1, a: 2 }, '{"a":2,"b":1}'],
  [
    [
      { b: 1, a: [] },
      { a: { d: 1, c: null }, b: 2 },
      { a: 1, b: 2, c: 3 },
    ],
    '[{"a":[],"b":1},{"a":{"c":null,"d":1},"b":2},{"a":1,"b":2,"c":3}]',
  ],
  [{ b: undefined, a: undefined, c: 'x"' }, '{"c":"x\\""}'],
  [[undefined, null], '[null,null]'],
])('%j is %s', (value, text) => expect(canonicalJson(value)).toBe(text));
