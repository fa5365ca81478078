import { List, Map, OrderedMap, Set, isList, isMap, isOrderedMap, isSet } from 'immutable';

/**
 * A state as JSON text, and back: plain objects and values as JSON has them, everything else as an
 * array that begins with what it is. So no name that a client chose is taken for one of these.
 */

/** A state has something that its text could not say. */
export class NoText extends Error {
  override readonly name = 'NoText';
}

/** The text would be longer than it may be. */
export class TextTooLong extends Error {
  override readonly name = 'TextTooLong';
}

/** @throws {NoText} {TextTooLong} */
export function textOf(state: unknown, charactersMax: number): string {
  const pieces: string[] = [];
  let left = charactersMax;
  const add = (piece: string): void => {
    left -= piece.length;
    if (left < 0) throw new TextTooLong();
    pieces.push(piece);
  };
  const addAll = (kind: string, values: Iterable<unknown>): void => {
    add(`["${kind}"`);
    for (const value of values) {
      add(',');
      addValue(value);
    }
    add(']');
  };
  const addValue = (value: unknown): void => {
    if (value === null || typeof value === 'string' || typeof value === 'boolean')
      return add(JSON.stringify(value));
    if (typeof value === 'number') return add(numberText(value));
    if (value === undefined) return add('["u"]');
    if (typeof value === 'bigint') return add(`["b","${value}"]`);
    if (typeof value !== 'object') throw new NoText(`a ${typeof value}`);
    if (Array.isArray(value)) return addAll('a', value);
    if (isOrderedMap(value)) return addAll('o', entriesOf(value));
    if (isMap(value)) return addAll('m', entriesOf(value));
    if (isList(value)) return addAll('l', value);
    if (isSet(value)) return addAll('s', value);
    if (!isPlain(value)) throw new NoText('an object of a class');
    let separator = '{';
    for (const [name, member] of Object.entries(value)) {
      add(`${separator}${JSON.stringify(name)}:`);
      addValue(member);
      separator = ',';
    }
    add(separator === '{' ? '{}' : '}');
  };
  addValue(state);
  return pieces.join('');
}

/** Also an object of another realm. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

const numberText = (value: number): string =>
  Number.isFinite(value) && !Object.is(value, -0)
    ? String(value)
    : `["n","${Object.is(value, -0) ? '-0' : value}"]`;

function* entriesOf(map: Map<unknown, unknown>): Iterable<unknown> {
  for (const [key, value] of map) {
    yield key;
    yield value;
  }
}

/** @throws for a text that `textOf` did not make. */
export const stateOf = (text: string): unknown => revived(JSON.parse(text));

/** Objects are changed in place: an own member may have the name of a prototype's. */
function revived(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (!Array.isArray(value)) {
    const members = value as Record<string, unknown>;
    for (const name of Object.keys(members)) {
      const member = members[name];
      if (typeof member === 'object') members[name] = revived(member);
    }
    return value;
  }
  const [kind, ...rest] = value as unknown[];
  const values = rest.map(revived);
  switch (kind) {
    case 'a':
      return values;
    case 'm':
      return Map(pairsOf(values));
    case 'o':
      return OrderedMap(pairsOf(values));
    case 'l':
      return List(values);
    case 's':
      return Set(values);
    case 'n':
      return Number(values[0]);
    case 'b':
      return BigInt(String(values[0]));
    case 'u':
      return undefined;
    default:
      throw new NoText(`no kind of value: ${String(kind)}`);
  }
}

function pairsOf(values: readonly unknown[]): [unknown, unknown][] {
  const pairs: [unknown, unknown][] = [];
  for (let at = 0; at < values.length; at += 2) pairs.push([values[at], values[at + 1]]);
  return pairs;
}
