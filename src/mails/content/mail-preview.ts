import type { Scope } from '../../domain/scope.js';
import { ShareLinks } from '../../presenting/share-links.js';
import type { MailType } from '../../themes/theme-instance.js';
import type { LocalizedTheme } from '../../themes/themes.js';
import { renderMail, type RenderedMail } from './rendered-mail.js';
import { sampleValues } from './sample-values.js';

export interface PreviewedMail {
  readonly scope: Scope;
  readonly type: MailType;
  /** `language` or `language_COUNTRY`; null: the default. */
  readonly locale: string | null;
}

/** A mail with sample values and without an unsubscription link. */
export function previewMail(
  { theme, locale }: LocalizedTheme,
  { scope, type }: PreviewedMail,
  publicUrl: string,
): RenderedMail {
  const links = new ShareLinks(publicUrl, scope);
  const values = sampleValues(locale, (code) => links.link(code, 'EMAIL', 'EMAIL'));
  return renderMail(theme, type, values, { locale, unsubscribeUrl: null });
}
