import type { Core } from '../../core/core.js';
import { previewMail, type PreviewedMail } from '../../mails/content/mail-preview.js';
import { isLocale } from '../../themes/theme-locale.js';
import { Themes } from '../../themes/themes.js';
import { NotDone, type Outcome } from '../outcome.js';
import { tenantMissing } from '../tenants/tenant-operation.js';

/** The HTML of a mail with sample values, in the theme that the log has. */
export async function previewTheme(
  core: Pick<Core, 'tenants' | 'themeChanges'>,
  preview: PreviewedMail,
  publicUrl: string,
): Promise<Outcome<string>> {
  const { scope, locale } = preview;
  if (locale !== null && !isLocale(locale))
    return new NotDone({ code: 'LOCALE_MALFORMED', argument: 'locale' });
  const missing = await tenantMissing(core, scope);
  if (missing) return missing;
  const localized = await new Themes(core.themeChanges).themeFor(scope.tenant, scope.mode, locale);
  return previewMail(localized, preview, publicUrl).html;
}
