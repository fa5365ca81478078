import {
  escapeHtml,
  renderedOr,
  renderImageAddress,
  renderMarkdown,
  renderText,
} from '../../templates/render-template.js';
import { oneLine, wellFormed } from '../../templates/template-values.js';
import { BUILT_IN_THEME } from '../../themes/built-in-theme.js';
import type { PageTheme } from '../../themes/theme-instance.js';
import { documentOf, policyOf, styleWith, type HtmlPage } from './page-document.js';

export interface SharePageContent {
  readonly theme: PageTheme;
  /** `language` or `language_COUNTRY`. */
  readonly locale: string;
  /** Name of the person who shared the link. */
  readonly name: string | null;
  readonly code: string;
  /** The promised reward in words. */
  readonly reward: string | null;
  /** The page's address, and the short link to it. */
  readonly url: string;
  readonly shareLink: string;
}

const NAME_CHARACTERS_MAX = 100;

const DESCRIPTION_CHARACTERS_MAX = 200;
/** Other characters could end the directive of the policy. */
const PLAIN_ORIGIN = /^https?:\/\/[a-z0-9.-]+(?::\d+)?$/;

export function sharePage(content: SharePageContent): HtmlPage {
  const { theme, locale, code, url } = content;
  const ours = BUILT_IN_THEME.page;
  const values = {
    'friend.name': wellFormed(oneLine(content.name).slice(0, NAME_CHARACTERS_MAX)) || null,
    'reward.text': content.reward,
    code,
    shareLink: content.shareLink,
  };
  const line = (own: string, ofOurs: string): string =>
    escapeHtml(renderedOr(own, ofOurs, (template) => renderText(template, values)));
  // A heading that only shows a missing name is empty.
  const heading = line(theme.heading, ours.heading) || line(ours.heading, ours.heading);
  const text = renderedOr(theme.text, ours.text, (template) => renderMarkdown(template, values));
  const siteUrl = addressOf(theme.siteUrl);
  const logoUrl = renderedOr(theme.logoUrl, '', (one) => renderImageAddress(one, values));
  const logo = logoOf(logoUrl);
  const description = descriptionOf(text);
  const style = styleWith(theme.color);
  const meta = [
    ['og:type', 'website'],
    ['og:title', heading],
    ['og:description', description],
    ['og:url', escapeHtml(url)],
    ...(logo === undefined ? [] : [['og:image', escapeHtml(logo.href)] as const]),
  ].map(([property, content]) => `<meta property="${property}" content="${content}">`);
  const image =
    logo === undefined ? '' : `<img class="logo" src="${escapeHtml(logo.href)}" alt="">`;
  const label = line(theme.buttonText, ours.buttonText);
  const button =
    siteUrl === undefined || label === ''
      ? ''
      : `<p><a class="button" href="${escapeHtml(siteUrl.href)}">${label}</a></p>`;
  const html = documentOf({
    lang: locale.replace('_', '-'),
    title: heading,
    head: [`<meta name="description" content="${description}">`, ...meta],
    style,
    body: [
      image,
      `<h1 dir="auto">${heading}</h1>`,
      `<div class="text" dir="auto">${text}</div>`,
      `<p><code class="code" translate="no">${escapeHtml(code)}</code></p>`,
      button,
    ],
  });
  return { html, contentSecurityPolicy: policyOf(style, { logo }) };
}

function addressOf(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  return url.protocol === 'https:' || url.protocol === 'http:' ? url : undefined;
}

function logoOf(text: string): URL | undefined {
  const url = addressOf(text);
  return url !== undefined && PLAIN_ORIGIN.test(url.origin) ? url : undefined;
}

/** Removes tags for an attribute; entities stay. */
function descriptionOf(html: string): string {
  const text = html
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .replace(/"/g, '&#34;')
    .trim();
  if (text.length <= DESCRIPTION_CHARACTERS_MAX) return text;
  const cut = text.lastIndexOf(' ', DESCRIPTION_CHARACTERS_MAX);
  return cut <= 0 ? '' : `${text.slice(0, cut)} …`;
}
