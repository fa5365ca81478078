import { writeFile } from 'node:fs/promises';
import type { Core } from '../../stores/core.js';
import type { Scope } from '../../domain/scope.js';
import { previewMail } from '../../mails/content/mail-preview.js';
import { errorCode } from '../../foundation/error-code.js';
import { isMembers } from '../../themes/merge-members.js';
import { resolveTheme } from '../../themes/resolve-theme.js';
import type { MailType } from '../../themes/theme-instance.js';
import { DEFAULT_LANGUAGE, fallbacksOf } from '../../themes/theme-locale.js';
import { Themes, type LocalizedTheme } from '../../themes/themes.js';
import { unknownNamesOfMail } from '../../themes/unknown-names.js';
import type { ScopedContext } from '../registry/context.js';
import { ThemeNotDone, checkLocale, type NamedTheme } from './theme-commands.js';
import { notDone } from '../outcome.js';

/** A mail with sample values, in the theme that the log has. @param out a file, or `-` for none. */
export async function previewTheme(
  { core, scope, payments, note }: ScopedContext,
  { type, locale, out }: NamedTheme & { readonly type: MailType; readonly out: string },
) {
  checkLocale(locale);
  const localized = await new Themes(core.themeRows).themeFor(scope.tenant, scope.mode, locale);
  const preview = { scope, type, locale };
  const { subject, html } = previewMail(localized, preview, payments.publicUrl());
  const unknown = unknownNamesOfMail(localized.theme, type);
  if (unknown.length > 0) note(`The mail leaves out unknown names: ${unknown.join(', ')}`);
  if (out === '-') return { type, locale, subject, out: null, html };
  try {
    await writeFile(out, html);
  } catch (error) {
    throw notDone(`cannot write ${out}: ${errorCode(error) ?? 'unknown error'}`);
  }
  return { type, locale, subject, out, html: null };
}

/**
 * The theme as these values of a locale would make it; nothing is stored.
 * @throws {NotDone} with a line for each fault.
 */
export async function themeWith(
  core: Pick<Core, 'themeChanges' | 'themeRows'>,
  scope: Scope,
  { locale, values }: { readonly locale: string | null; readonly values: unknown },
): Promise<LocalizedTheme> {
  checkLocale(locale);
  const refused = await core.themeChanges.refusalOf(values);
  if (refused !== undefined || !isMembers(values))
    throw new ThemeNotDone(refused ?? { refused: 'THEME_INVALID' });
  const fallbacks = fallbacksOf(locale);
  const stored = await core.themeRows.ownValues(scope, fallbacks);
  const own = new Map([...stored, [locale, values] as const]);
  const theme = resolveTheme(...fallbacks.map((one) => own.get(one) ?? {}));
  return { theme, locale: locale ?? DEFAULT_LANGUAGE };
}
