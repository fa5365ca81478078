import { knownTemplate } from '../templates/known-template.js';
import { templateFaults } from '../templates/template-faults.js';
import { THEME_VARIABLES, type MailType, type ThemeInstance } from './theme-instance.js';
import type { DefinedKind } from './theme-schema.js';
import { textsOf } from './theme-texts.js';

/** Kinds of texts that mails and pages render; tenants fill in widgets themselves. */
const RENDERED: ReadonlySet<DefinedKind> = new Set<DefinedKind>(['markdown', 'line', 'image']);

/** Variables and helpers of a text that render as nothing. */
export interface UnknownNames {
  /** Path of the member, such as `/email/WELCOME/content/bodyContent`. */
  readonly path: string;
  /** Each once, in their order. */
  readonly names: readonly string[];
}

/** Texts of mails and pages with names that render as nothing. */
export const unknownNames = (values: unknown): readonly UnknownNames[] =>
  [...textsOf(values)]
    .filter(({ path, kind }) => RENDERED.has(kind) && !path.startsWith('/widget/'))
    .filter(({ text }) => text.includes('{{') && templateFaults(text).length === 0)
    .map(({ path, text }) => ({ path, names: knownTemplate(text, THEME_VARIABLES).unknown }))
    .filter(({ names }) => names.length > 0);

/** The names of one mail, each once. */
export function unknownNamesOfMail(
  { email }: Pick<ThemeInstance, 'email'>,
  type: MailType,
): readonly string[] {
  const texts = unknownNames({ email: { [type]: email[type] } });
  return [...new Set(texts.flatMap(({ names }) => names))];
}
