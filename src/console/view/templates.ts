import Handlebars from 'handlebars';
import type { Money } from '../../operations/registry/operation.js';
import { withThousands } from '../../foundation/thousands.js';
import { TEXTS } from '../texts.js';
import { fieldElement, fieldInRow } from './field.js';

/** Pages are made by Handlebars from templates of ours: whatever is filled in is escaped. */
const engine = Handlebars.create();

const HELPERS = {
  /** An integer with its thousands apart: `12 345` with a narrow space. */
  amount: (value: unknown): string => amountText(value),
  /** A moment, which the script shows in the viewer's zone. */
  time: (iso: unknown): Handlebars.SafeString | string => timeElement(iso),
  /**
   * A figure that scripts may read: `{{figure 'closing:CENTS' 1200 'CENTS'}}`. With `of`, the unit
   * of an amount, it is money but never has the unit.
   */
  figure: (
    name: unknown,
    value: unknown,
    unit: unknown,
    { hash, data }: Handlebars.HelperOptions,
  ): Handlebars.SafeString => {
    const suffix = typeof unit === 'string' ? unit : '';
    const { money } = (data as { readonly root: { readonly money?: Money } }).root;
    const { of = suffix } = hash as { readonly of?: string };
    const text = money?.(of);
    return text !== undefined && (typeof value === 'number' || typeof value === 'bigint')
      ? figureElement(name, value, '', text(value).replace('-', '−'))
      : figureElement(name, value, suffix);
  },
  /** A moment that is a figure too. */
  moment: (name: unknown, iso: unknown): Handlebars.SafeString => {
    const [of, exact] = [name, iso].map((text) => Handlebars.escapeExpression(plain(text)));
    return asHtml(
      `<span data-figure="${of}" data-value="${exact}">${String(timeElement(iso))}</span>`,
    );
  },
  /** An account's name as a link to its page: `{{accountLink accounts account}}`. */
  accountLink: (accounts: unknown, account: unknown): Handlebars.SafeString | string =>
    accountLink(plain(accounts), account),
  eq: (one: unknown, other: unknown): boolean => one === other,
  json: (value: unknown): string => JSON.stringify(value, undefined, 2),
  formField: fieldElement,
  formFieldInRow: fieldInRow,
} as const;

for (const [name, helper] of Object.entries(HELPERS)) engine.registerHelper(name, helper);

const knownHelpers: KnownHelpers = {
  ...Object.fromEntries(Object.keys(HELPERS).map((name) => [name, true])),
  helperMissing: false,
  blockHelperMissing: false,
  each: true,
  if: true,
  unless: true,
  with: true,
  log: false,
  lookup: false,
};

/** A page's content from its values. A value that a template names must be there. */
export type Template = (values: object) => string;

/** Compiles at the first use. */
export function template(source: string): Template {
  let compiled: Handlebars.TemplateDelegate<object> | undefined;
  return (values) => {
    compiled ??= engine.compile(source, { strict: true, knownHelpers, knownHelpersOnly: true });
    return compiled(values);
  };
}

/** Makes a template part of others: `{{> name}}`. */
export function partial(name: string, source: string): void {
  engine.registerPartial(name, source);
}

/** For texts that are HTML already. */
export const asHtml = (html: string): Handlebars.SafeString => new Handlebars.SafeString(html);

function amountText(value: unknown): string {
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value)))
    return withThousands(String(value)).replace('-', '−');
  return plain(value);
}

function timeElement(iso: unknown): Handlebars.SafeString | string {
  if (typeof iso !== 'string' || Number.isNaN(Date.parse(iso))) return '–';
  const utc = `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;
  const escaped = Handlebars.escapeExpression(iso);
  return asHtml(
    `<time datetime="${escaped}" title="${TEXTS.common.utc(utc)}">${utc}<span class="zone"> ${TEXTS.common.zone}</span></time>`,
  );
}

/** @param accounts the path of the pages of accounts. */
function accountLink(accounts: string, account: unknown): Handlebars.SafeString | string {
  if (typeof account !== 'string' || NOT_NAMED.has(account)) return plain(account);
  const [path, name] = [`${accounts}/${encodeURIComponent(account)}`, account].map((text) =>
    Handlebars.escapeExpression(text),
  );
  return asHtml(`<a href="${path}">${name}</a>`);
}

/** What a difference says where it has no account, or nobody knows its name any more. */
const NOT_NAMED: ReadonlySet<string> = new Set(['anonymous', 'unknown']);

function figureElement(
  name: unknown,
  value: unknown,
  unit: string,
  visible = shownText(value),
): Handlebars.SafeString {
  const [of, exact, shown, suffix] = [plain(name), plain(value), visible, unit].map((text) =>
    Handlebars.escapeExpression(text),
  );
  const end = suffix === '' ? '' : ` <span class="unit">${suffix}</span>`;
  return asHtml(`<span data-figure="${of}" data-value="${exact}">${shown}${end}</span>`);
}

/** For people: `yes` and `no`, and numbers with their thousands apart. */
function shownText(value: unknown): string {
  if (typeof value === 'boolean') return value ? TEXTS.common.yes : TEXTS.common.no;
  return amountText(value);
}

function plain(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean'
    ? String(value)
    : '–';
}
