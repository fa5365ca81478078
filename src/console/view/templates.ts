import Handlebars from 'handlebars';
import { ownMember } from '../../domain/own-member.js';
import type { Money } from '../../operations/registry/printing.js';
import { withThousands } from '../../foundation/thousands.js';
import { assetPath } from '../assets/assets.js';
import { valueIn, type FieldOption, type Wrong } from './field.js';
import { ownFile, ownFiles } from './own-files.js';

/** Pages are made by Handlebars from the files in `templates`: values are escaped. */
const engine = Handlebars.create();

/** What every page gives its templates. */
interface Root {
  readonly money?: Money | undefined;
  readonly wrong?: Wrong;
}

const rootOf = ({ data }: Handlebars.HelperOptions): Root => (data as { readonly root: Root }).root;

const HELPERS = {
  asset: (name: string): string => assetPath(name),
  /** A number for people: thousands with commas, a true minus sign; other values as they are. */
  number: (value: unknown): string => numberText(value),
  /** An amount as the tenant shows its unit: `$12.50`, `1,250 POINTS`. */
  amount: (value: unknown, unit: unknown, options: Handlebars.HelperOptions): string =>
    amountText(value, unit, rootOf(options).money),
  /** The exact value, for scripts that read figures. */
  exact: (value: unknown): string => (typeof value === 'boolean' ? String(value) : plain(value)),
  isoOf: (at: unknown): string => isoOf(at),
  /** `2026-11-30 14:05:07`. */
  utcOf: (at: unknown): string => isoOf(at).slice(0, 19).replace('T', ' '),
  /** `2026-11-30`, of UTC. */
  utcDayOf: (at: unknown): string => isoOf(at).slice(0, 10),
  /** An id, shortened to what stays unambiguous in a list. */
  short: (id: unknown): string => shortId(plain(id)),
  isNegative: (value: unknown): boolean =>
    (typeof value === 'number' || typeof value === 'bigint') && value < 0,
  concat: (...texts: readonly unknown[]): string => texts.slice(0, -1).map(plain).join(''),
  eq: (one: unknown, other: unknown): boolean => one === other,
  or: (one: unknown, other: unknown): unknown => one ?? other,
  isGiven: (value: unknown): boolean => value !== undefined && value !== null,
  json: (value: unknown): string => JSON.stringify(value, undefined, 2),
  compact: (value: unknown): string => JSON.stringify(value),
  join: (values: unknown, separator: string): string =>
    Array.isArray(values) ? values.join(separator) : '',
  /** What is wrong with a field. */
  wrongOf: (id: unknown, options: Handlebars.HelperOptions): string | undefined =>
    ownMember(rootOf(options).wrong ?? {}, plain(id)),
  /** The first field that is wrong has the focus: reading begins there. */
  isFocused: (wanted: unknown, id: unknown, options: Handlebars.HelperOptions): boolean =>
    wanted === true || Object.keys(rootOf(options).wrong ?? {})[0] === id,
  optionValue: valueIn,
  optionWords: (option: FieldOption): string =>
    typeof option === 'string' ? option : option.words,
} as const;

for (const [name, helper] of Object.entries(HELPERS)) engine.registerHelper(name, helper);

const OPTIONS: CompileOptions = {
  knownHelpers: {
    ...Object.fromEntries(Object.keys(HELPERS).map((name) => [name, true])),
    helperMissing: false,
    blockHelperMissing: false,
    each: true,
    if: true,
    unless: true,
    with: true,
    log: false,
    lookup: true,
  },
  knownHelpersOnly: true,
  preventIndent: true,
  explicitPartialContext: true,
};

/** A page's content from its values. A value that a template names must be there. */
export type Template = (values: object) => string;

let hasPartials = false;

/** Parts of pages, `{{> name member=value}}`: they see these members alone, or none. */
function registerPartials(): void {
  if (hasPartials) return;
  hasPartials = true;
  for (const file of ownFiles('templates/partials')) {
    const source = ownFile(`templates/partials/${file}`).toString('utf8').trimEnd();
    engine.registerPartial(file.replace(/\.hbs$/, ''), engine.compile(source, OPTIONS));
  }
}

/** @param name of a file in `templates`: `corrections`. Compiles at the first use. */
export function template(name: string): Template {
  let compiled: Handlebars.TemplateDelegate<object> | undefined;
  return (values) => {
    registerPartials();
    compiled ??= engine.compile(ownFile(`templates/${name}.hbs`).toString('utf8'), {
      ...OPTIONS,
      strict: true,
    });
    return compiled(values);
  };
}

/** For texts that are HTML already. */
export const asHtml = (html: string): Handlebars.SafeString => new Handlebars.SafeString(html);

/** `Issued` of `issued`. */
export const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

/** A number for people: `1,234`, `−1,234`; other values as they are. */
export function numberText(value: unknown): string {
  if (typeof value !== 'bigint' && typeof value !== 'number') return plain(value);
  const [whole = '', ...fraction] = String(value).split('.');
  return [withThousands(whole), ...fraction].join('.').replace('-', '−');
}

/** An amount of a unit: as money where the unit has a format, otherwise with the unit. */
export function amountText(value: unknown, unit: unknown, money: Money | undefined): string {
  if (typeof value !== 'number' && typeof value !== 'bigint') return plain(value);
  const text = typeof unit === 'string' ? money?.(unit) : undefined;
  if (text !== undefined) return text(value).replace('-', '−');
  return [numberText(value), typeof unit === 'string' ? unit : ''].join(' ').trim();
}

/** Both ends of an id: ids of rewards of one account begin alike. */
export const shortId = (id: string): string =>
  id.length <= 16 ? id : `${id.slice(0, 6)}…${id.slice(-6)}`;

function isoOf(at: unknown): string {
  if (typeof at === 'number') return new Date(at).toISOString();
  return typeof at === 'string' && !Number.isNaN(Date.parse(at)) ? at : '';
}

function plain(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : '–';
}
