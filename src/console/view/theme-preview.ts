import { sampleValues } from '../../mails/content/sample-values.js';
import { BUILT_IN_THEME } from '../../themes/built-in-theme.js';
import type { PageTheme } from '../../themes/theme-instance.js';
import {
  documentOf,
  policyOf,
  styleWith,
  type HtmlPage,
} from '../../http/share-pages/page-document.js';
import { sharePage } from '../../http/share-pages/share-page.js';
import type { ConsoleCall } from '../console-call.js';
import { TEXTS } from '../texts.js';
import { template } from './templates.js';

/** What the frame of the theme's page shows: nothing of another origin is fetched. */

const linkOf = (code: string): string => `https://example.com/s/${code}`;

/** The page of a made-up code, without the logo. */
export function sampleSharePage({
  theme,
  locale,
}: {
  readonly theme: PageTheme;
  readonly locale: string;
}): HtmlPage {
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

const faults = template('theme-faults');

/** Instead of a page that cannot be made. */
export function faultsPage(problems: readonly string[]): HtmlPage {
  const title = TEXTS.theme.noPreview;
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
export function previewSent(
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
