import type { Core } from '../../core/core.js';
import { previewMail, type PreviewedMail } from '../../mails/content/mail-preview.js';
import { isLocale } from '../../themes/theme-locale.js';
import type { MailType } from '../../themes/theme-instance.js';
import { Themes } from '../../themes/themes.js';
import { NotDone, type Outcome } from '../outcome.js';
import { tenantMissing } from '../tenants/tenant-operation.js';

export interface ShownPreview {
  readonly type: MailType;
  /** As it was asked for; null: the default. */
  readonly locale: string | null;
  readonly subject: string;
  readonly html: string;
}

/** A mail with sample values, in the theme that the log has. */
export async function previewTheme(
  core: Pick<Core, 'tenants' | 'themeChanges'>,
  preview: PreviewedMail,
  publicUrl: string,
): Promise<Outcome<ShownPreview>> {
  const { scope, type, locale } = preview;
  if (locale !== null && !isLocale(locale))
    return new NotDone({ code: 'LOCALE_MALFORMED', argument: 'locale' });
  const missing = await tenantMissing(core, scope);
  if (missing) return missing;
  const localized = await new Themes(core.themeChanges).themeFor(scope.tenant, scope.mode, locale);
  const { subject, html } = previewMail(localized, preview, publicUrl);
  return { type, locale, subject, html };
}
