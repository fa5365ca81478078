import fc from 'fast-check';
import { is, List, Map, OrderedMap, Set } from 'immutable';
import {
  NoText,
  stateOf,
  TextTooLong,
  textOf,
} from '../../../src/command-handling/snapshots/state-text.js';
import { evolve, initialState } from '../../../src/domain/account/account.state.js';
import { anyEvents } from '../../properties/support/account-events-of-any-kind.js';
import { runs } from '../../support/property-runs.js';

const MAX = 1_000_000;
const again = (state: unknown): unknown => stateOf(textOf(state, MAX));

test('a state of any events is the same again', () => {
  fc.assert(
    fc.property(anyEvents, (events) => {
      const state = events.reduce(evolve, initialState);
      expect(again(state)).toEqual(state);
      expect(textOf(again(state), MAX)).toBe(textOf(state, MAX));
    }),
    { numRuns: runs(300) },
  );
});

test('plain values of any kind are the same again, with names of any kind', () => {
  const value = fc.anything({
    withBigInt: true,
    key: fc.oneof(fc.string(), fc.constant('__proto__')),
  });
  fc.assert(
    fc.property(value, (plain) => {
      expect(again(plain)).toEqual(plain);
    }),
    { numRuns: runs(500) },
  );
});

test('an own member with the name of a prototype stays one, and changes no prototype', () => {
  const named = JSON.parse('{"__proto__": {"isAdmin": ["a"]}, "constructor": 1}') as object;
  const read = again(named) as Record<string, unknown>;
  expect(Object.keys(read)).toEqual(['__proto__', 'constructor']);
  expect(read['isAdmin']).toBeUndefined();
});

test('numbers that JSON does not have, and what is missing', () => {
  const state = [Infinity, -Infinity, NaN, -0, undefined, null, 2n ** 64n];
  expect(again(state)).toEqual(state);
});

test('collections keep their kind and order', () => {
  const states = [
    Map([
      ['b', 1],
      ['a', 2],
    ]),
    OrderedMap([
      ['b', 1],
      ['a', 2],
    ]),
    List([1, List(['a']), null]),
    Set(['x', 'y']),
  ];
  for (const state of states) {
    const read = again(state);
    expect(is(read, state)).toBe(true);
    expect(Object.getPrototypeOf(read)).toBe(Object.getPrototypeOf(state));
  }
  expect([...(again(states[1]) as Map<string, number>).keys()]).toEqual(['b', 'a']);
});

test('what has no text is refused, and what is too long', () => {
  class Other {
    readonly a = 1;
  }
  expect(() => textOf({ other: new Other() }, MAX)).toThrow(NoText);
  expect(() => textOf({ call: () => 1 }, MAX)).toThrow(NoText);
  expect(() => textOf('abc', 4)).toThrow(TextTooLong);
  expect(textOf('abc', 5)).toBe('"abc"');
  expect(() => stateOf('["x"]')).toThrow(NoText);
});
