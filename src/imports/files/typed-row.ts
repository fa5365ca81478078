import { instant } from '../../foundation/instant.js';
import { CUSTOM, filledColumns, type Columns, type ColumnType } from './columns.js';

/** The typed values of a row by field, or the reason why one is invalid. */
export type TypedRow =
  { readonly values: Readonly<Record<string, unknown>> } | { readonly reason: string };

class WrongValue extends Error {
  override readonly name = 'WrongValue';
}

/** Earlier times are probably in seconds. */
const EARLIEST = Date.UTC(2000, 0, 1);

/** @param given fields with values, as texts or JSON. */
export function typedRow(
  columns: Columns,
  given: Iterable<readonly [field: string, value: unknown]>,
): TypedRow {
  const values = new Map<string, unknown>();
  const custom = new Map<string, unknown>();
  const put = (into: Map<string, unknown>, name: string, value: unknown): void => {
    if (into.has(name)) throw new WrongValue(`${name} is given twice`);
    into.set(name, value);
  };
  try {
    for (const [field, value] of given) {
      if (value === '' || value === null || value === undefined) continue;
      if (field === 'customFields')
        for (const [name, member] of membersOf(value)) put(custom, name, member);
      else if (field.startsWith(CUSTOM)) put(custom, field.slice(CUSTOM.length), value);
      else put(values, field, valueOf(field, columns.typeOf(field) ?? 'text', value));
    }
    for (const [name, value] of custom) checkCustom(name, value);
    const missing = filledColumns(columns.kind).find((name) => !values.has(name));
    if (missing !== undefined) throw new WrongValue(`${missing} is required`);
  } catch (error) {
    if (error instanceof WrongValue) return { reason: `BAD_REQUEST: ${error.message}` };
    throw error;
  }
  if (custom.size > 0) values.set('customFields', custom);
  return { values: Object.fromEntries(values) };
}

const membersOf = (value: unknown): readonly (readonly [string, unknown])[] => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new WrongValue('customFields must be an object');
  return Object.entries(value).filter(([, member]) => member !== null && member !== '');
};

function checkCustom(name: string, value: unknown): void {
  if (name === '__proto__') throw new WrongValue(`${CUSTOM}__proto__ is not allowed`);
  if (!['string', 'number', 'boolean'].includes(typeof value))
    throw new WrongValue(`${CUSTOM}${name} must be a text, a number or a boolean`);
}

function valueOf(field: string, type: ColumnType, value: unknown): unknown {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
  const wrong = (must: string): WrongValue => new WrongValue(`${field} must be ${must}`);
  switch (type) {
    case 'text':
      if (text === undefined) throw wrong('a text');
      return text;
    case 'date': {
      const time = instant(text?.trim() ?? '');
      if (time === null) throw wrong('a date: epoch milliseconds or ISO 8601');
      if (time < EARLIEST) throw wrong('2000-01-01 or later: write milliseconds, not seconds');
      return time;
    }
    case 'integer': {
      const number = /^\s*-?\d+\s*$/.test(text ?? '') ? Number(text) : NaN;
      if (!Number.isSafeInteger(number)) throw wrong(`a whole number up to ${2 ** 53 - 1}`);
      return number;
    }
    case 'boolean': {
      const word = typeof value === 'boolean' ? String(value) : text?.trim();
      if (word !== 'true' && word !== 'false') throw wrong('true or false');
      return word === 'true';
    }
    case 'segments':
      return segmentsOf(value);
    case 'fields':
      throw wrong('an object');
  }
}

function segmentsOf(value: unknown): readonly string[] {
  const words: readonly unknown[] = Array.isArray(value)
    ? (value as readonly unknown[])
    : typeof value === 'string'
      ? value.split(/\s+/)
      : [undefined];
  const segments = words.map((word) => {
    if (typeof word !== 'string') throw new WrongValue('segments must be texts');
    return word.trim();
  });
  if (segments.some((segment) => segment.startsWith('~')))
    throw new WrongValue('segments must not begin with ~: a row names those that are there');
  return segments.filter((segment) => segment !== '');
}
