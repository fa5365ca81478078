import { capital, numberText } from './templates.js';

/** What a replay or a comparison of generations compares, in words for people. */

/** What a replay or a reconciliation compares, as a cell of a file: numbers stay numbers. */
export const shownValue = (value: unknown): string | number =>
  typeof value === 'number' || typeof value === 'string' ? value : JSON.stringify(value ?? null);

/** `Available credit` of `available_credit`, `Daily figures` of `daily-figures`. */
export const nameInWords = (name: string): string =>
  capital(name.replaceAll(/[_-]/g, ' ').toLowerCase().trim());

const IS_TIME = /(^|_)(date|at)(_|$)/;
const IS_CREDIT = /credit|quantity|^(amount|assigned|redeemed|issued|outstanding|expired)$/;
const IS_CONSTANT = /^[A-Z][A-Z_]+$/;

/** @param amount of the row's unit. */
export function valueInWords(
  column: string,
  value: unknown,
  amount: (value: number) => string = numberText,
): string {
  if (value === null || value === undefined || value === '') return 'None';
  if (typeof value === 'number') {
    if (IS_TIME.test(column) && Math.abs(value) <= 8.64e15)
      return `${new Date(value).toISOString().slice(0, 19)} UTC`.replace('T', ' ');
    return IS_CREDIT.test(column) ? amount(value) : numberText(value);
  }
  if (Array.isArray(value)) return value.map((one) => valueInWords(column, one, amount)).join(', ');
  if (typeof value === 'object')
    return Object.entries(value)
      .map(([name, one]) => `${nameInWords(name)}: ${valueInWords(name, one, amount)}`)
      .join(', ');
  if (typeof value !== 'string') return value === true ? 'Yes' : 'No';
  return IS_CONSTANT.test(value) && value.length > 3 ? nameInWords(value) : value;
}

/** The parts of `<table>/<key>.<column>`; without a column the row as a whole. */
export function partsOfField(field: string) {
  const [, table = '', key = '', column = ''] =
    /^([^/.]+)(?:\/(.*?))?(?:\.([a-z_]+))?$/.exec(field) ?? [];
  return { table, key, column };
}
