import type { Core } from '../../stores/core.js';
import type { Scope } from '../../domain/scope.js';
import { previewMail, type PreviewedMail } from '../../mails/content/mail-preview.js';
import { isMembers } from '../../themes/merge-members.js';
import { resolveTheme } from '../../themes/resolve-theme.js';
import type { MailType, PageTheme } from '../../themes/theme-instance.js';
import { DEFAULT_LANGUAGE, fallbacksOf, isLocale } from '../../themes/theme-locale.js';
import { Themes } from '../../themes/themes.js';
import { unknownNamesOfMail } from '../../themes/unknown-names.js';
import { NotDone, type Outcome } from '../outcome.js';
import { tenantMissing } from '../tenants/tenant-operation.js';

export interface ShownPreview {
  readonly type: MailType;
  /** As it was asked for; null: the default. */
  readonly locale: string | null;
  readonly subject: string;
  readonly html: string;
}

export interface PreviewWithNames {
  readonly shown: ShownPreview;
  /** Variables and helpers that the mail leaves out. */
  readonly unknownNames: readonly string[];
}

/** A mail with sample values, in the theme that the log has. */
export async function previewTheme(
  core: Pick<Core, 'tenants' | 'themeRows'>,
  preview: PreviewedMail,
  publicUrl: string,
): Promise<Outcome<PreviewWithNames>> {
  const { scope, type, locale } = preview;
  if (locale !== null && !isLocale(locale))
    return new NotDone({ code: 'LOCALE_MALFORMED', argument: 'locale' });
  const missing = await tenantMissing(core, scope);
  if (missing) return missing;
  const localized = await new Themes(core.themeRows).themeFor(scope.tenant, scope.mode, locale);
  const { subject, html } = previewMail(localized, preview, publicUrl);
  const unknownNames = unknownNamesOfMail(localized.theme, type);
  return { shown: { type, locale, subject, html }, unknownNames };
}

/**
 * The page behind a share link as these values of a locale would make it; nothing is stored.
 * Refused with a line for each fault.
 */
export async function pageWith(
  core: Pick<Core, 'tenants' | 'themeChanges' | 'themeRows'>,
  scope: Scope,
  { locale, values }: { readonly locale: string | null; readonly values: unknown },
): Promise<Outcome<{ readonly theme: PageTheme; readonly locale: string }>> {
  if (locale !== null && !isLocale(locale))
    return new NotDone({ code: 'LOCALE_MALFORMED', argument: 'locale' });
  const missing = await tenantMissing(core, scope);
  if (missing) return missing;
  const refused = await core.themeChanges.refusalOf(values);
  if (refused !== undefined || !isMembers(values)) {
    const { refused: code = 'THEME_INVALID', details = [] } = refused ?? {};
    return new NotDone({ code: 'THEME_REFUSED', refused: code, details, waitMs: undefined });
  }
  const fallbacks = fallbacksOf(locale);
  const stored = await core.themeRows.ownValues(scope, fallbacks);
  const own = new Map([...stored, [locale, values] as const]);
  const theme = resolveTheme(...fallbacks.map((one) => own.get(one) ?? {}));
  return { theme: theme.page, locale: locale ?? DEFAULT_LANGUAGE };
}
