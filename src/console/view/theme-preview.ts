import { sampleValues } from '../../mails/content/sample-values.js';
import { BUILT_IN_THEME } from '../../themes/built-in-theme.js';
import { previewMail } from '../../mails/content/mail-preview.js';
import type { Scope } from '../../domain/scope.js';
import type { LocalizedTheme } from '../../themes/themes.js';
import { MAIL_TYPES } from '../../themes/theme-instance.js';
import {
  documentOf,
  policyOf,
  styleWith,
  type HtmlPage,
} from '../../http/share-pages/page-document.js';
import { sharePage } from '../../http/share-pages/share-page.js';
import type { ConsoleCall } from '../console-call.js';
import { template } from './templates.js';

/** What the frame of the theme's page shows: nothing of another origin is fetched. */

const linkOf = (code: string): string => `https://example.com/s/${code}`;

/** The page of a made-up code, without the logo. */
export function sampleSharePage({ theme: { page: theme }, locale }: LocalizedTheme): HtmlPage {
  const values = sampleValues(locale, linkOf);
  const code = 'ANNLEE';
  return sharePage({
    theme: { ...theme, logoUrl: '' },
    locale,
    name: values['friend.name'] ?? null,
    reward: values['reward.text'] ?? null,
    code,
    url: linkOf(code),
    shareLink: linkOf(code),
  });
}

/** Inline styles, as mails have them, and nothing that is fetched. */
const MAIL_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; " +
  "frame-ancestors 'none'";

/** The mail of a part of the theme's form; of another part the page behind a share link. */
export function samplePart(part: string, themed: LocalizedTheme, scope: Scope): HtmlPage {
  const type = MAIL_TYPES.find((one) => part === `/email/${one}`);
  const shown = part === '/email/configuration' ? 'WELCOME' : type;
  if (shown === undefined) return sampleSharePage(themed);
  const { html } = previewMail(
    themed,
    { scope, type: shown, locale: themed.locale },
    'https://example.com',
  );
  return { html, contentSecurityPolicy: MAIL_POLICY };
}

const faults = template('theme-faults');

/** Instead of a page that cannot be made. */
export function faultsPage(problems: readonly string[]): HtmlPage {
  const title = 'No preview';
  const style = styleWith(BUILT_IN_THEME.page.color);
  const html = documentOf({
    lang: 'en',
    title,
    head: [],
    style,
    body: [faults({ title, problems })],
  });
  return { html, contentSecurityPolicy: policyOf(style, {}) };
}

/** Prepares the answer with a page for a frame of the console. @returns its body. */
export function sendPreview(
  { reply }: Pick<ConsoleCall, 'reply'>,
  { html, contentSecurityPolicy }: HtmlPage,
): string {
  const framed = contentSecurityPolicy.replace("frame-ancestors 'none'", "frame-ancestors 'self'");
  void reply.headers({
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': `${framed}; sandbox`,
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
  });
  return html;
}
