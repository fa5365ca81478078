import Handlebars from 'handlebars';
import { ownMember } from '../../domain/own-member.js';

/** What is wrong with the fields of a page's forms, by their ids. */
export type Wrong = Readonly<Record<string, string>>;

/** A choice; one without words shows its value. */
export type Option = string | { readonly value: string; readonly words: string };

/** Attributes of the element itself; true: without a value, null and false: not there. */
type Attributes = Readonly<Record<string, unknown>>;

interface Control extends Attributes {
  /** What is filled in; of a file there is nothing. */
  readonly value?: unknown;
  readonly hint?: string | null;
  /** Unless it is the id. */
  readonly name?: string;
  /** Makes it a text of several lines. */
  readonly rows?: unknown;
  /** Makes it a choice. */
  readonly options?: readonly Option[] | null;
  /** The words of the choice of none. */
  readonly none?: string;
}

interface FieldHash extends Control {
  readonly label: string;
  /** Over the whole width of its form. */
  readonly wide?: boolean;
}

const escaped = (value: unknown): string => Handlebars.escapeExpression(String(value));

/**
 * A field of a form with its label, its hint, and what is wrong with it:
 * `{{formField 'from' label="From" value=asked.from placeholder="2026-10-01"}}`.
 */
export function fieldElement(
  id: unknown,
  { hash, data }: Handlebars.HelperOptions,
): Handlebars.SafeString {
  const { label, wide = false, ...control } = hash as FieldHash;
  const { html, notes } = controlOf(String(id), control, wrongOf(data));
  return new Handlebars.SafeString(
    `<div class="field${wide ? ' wide' : ''}"><label for="${escaped(id)}">${escaped(label)}</label>${html}${notes}</div>`,
  );
}

/** A field in a row of a table: its label is read out only. */
export function fieldInRow(
  id: unknown,
  { hash, data }: Handlebars.HelperOptions,
): Handlebars.SafeString {
  const { label, ...control } = hash as FieldHash;
  const { html, notes } = controlOf(String(id), { ...control, 'aria-label': label }, wrongOf(data));
  return new Handlebars.SafeString(html + notes);
}

const wrongOf = (data: unknown): Wrong =>
  (data as { readonly root: { readonly wrong?: Wrong } }).root.wrong ?? {};

function controlOf(
  id: string,
  { value, hint, rows, options, none, name = id, ...others }: Control,
  wrong: Wrong,
): { readonly html: string; readonly notes: string } {
  const notes = [
    { of: `${id}-hint`, kind: 'hint', text: hint },
    { of: `${id}-wrong`, kind: 'wrong', text: ownMember(wrong, id) },
  ].filter(({ text }) => text !== undefined && text !== null && text !== '');
  const isInput = rows === undefined && !options;
  const attributes = attributesOf({
    id,
    name,
    value: isInput ? value : null,
    ...others,
    rows,
    'aria-invalid': ownMember(wrong, id) === undefined ? null : 'true',
    'aria-describedby': notes.map(({ of }) => of).join(' ') || null,
    // Whoever hears the page begins at the first fault.
    autofocus: others['autofocus'] ?? Object.keys(wrong)[0] === id,
  });
  return {
    html: controlWith(attributes, { value, rows, options, none }),
    notes: notes
      .map(
        ({ of, kind, text }) => `<span class="${kind}" id="${escaped(of)}">${escaped(text)}</span>`,
      )
      .join(''),
  };
}

function controlWith(
  attributes: string,
  { value, rows, options, none }: Pick<Control, 'value' | 'rows' | 'options' | 'none'>,
): string {
  if (options) {
    const choices = none === undefined ? options : [{ value: '', words: none }, ...options];
    return `<select${attributes}>${choices.map((option) => optionElement(option, value)).join('')}</select>`;
  }
  if (rows !== undefined) return `<textarea${attributes}>${escaped(value ?? '')}</textarea>`;
  return `<input${attributes}>`;
}

function optionElement(option: Option, chosen: unknown): string {
  const { value, words } = typeof option === 'string' ? { value: option, words: option } : option;
  const isChosen = value === chosen ? ' selected' : '';
  return `<option value="${escaped(value)}"${isChosen}>${escaped(words)}</option>`;
}

const attributesOf = (attributes: Attributes): string =>
  Object.entries(attributes)
    .filter(([, value]) => value !== undefined && value !== null && value !== false)
    .map(([name, value]) => (value === true ? ` ${name}` : ` ${name}="${escaped(value)}"`))
    .join('');
