import juice from 'juice';
import {
  escapeHtml,
  renderLines,
  renderMarkdown,
  renderText,
  type TemplateValues,
} from '../../templates/render-template.js';
import type { MailType, ThemeInstance } from '../../themes/theme-instance.js';
import { buttonColors, MAIL_STYLE } from './mail-style.js';

/** What a mail shows besides its texts. */
export interface MailFrame {
  /** `language` or `language_COUNTRY`; null: unknown. */
  readonly locale: string | null;
  /** Where one click ends the mails; null: in a preview there is none. */
  readonly unsubscribeUrl: string | null;
}

export interface RenderedMail {
  /** One line. */
  readonly subject: string;
  /** A document whose title is the subject, with the styles in its elements. */
  readonly html: string;
  readonly text: string;
}

/**
 * A mail of a theme. Values are text in it, whatever they hold.
 *
 * @throws UnrenderableTemplate when a text of the theme was stored under other rules.
 */
export function renderMail(
  theme: Pick<ThemeInstance, 'email' | 'page'>,
  type: MailType,
  values: TemplateValues,
  frame: MailFrame,
): RenderedMail {
  const { configuration, content } = theme.email[type];
  const subject = renderText(configuration.subject, values);
  const link = content.hasShareLink ? (values['shareLink'] ?? '') : '';
  const html = (template: string): string => renderMarkdown(template, values);
  const parts = [
    imageOf(content.headerImageUrl),
    section('header', html(content.headerContent)),
    section('body', html(content.bodyContent)),
    link === '' ? '' : section('share', html(content.shareCTA) + button(link)),
    section('footer', html(content.footer) + unsubscribing(frame.unsubscribeUrl)),
  ];
  const text = [
    content.headerContent,
    content.bodyContent,
    ...(link === '' ? [] : [content.shareCTA]),
  ].map((template) => renderLines(template, values));
  const ends = [link, renderLines(content.footer, values), endOfText(frame.unsubscribeUrl)];
  return {
    subject,
    html: juice(document(subject, parts.join('\n'), frame.locale), {
      removeStyleTags: true,
      preserveMediaQueries: true,
      preserveFontFaces: false,
      preserveImportant: true,
      applyHeightAttributes: false,
    }),
    text: `${[...text, ...ends].filter((part) => part !== '').join('\n\n')}\n`,
  };

  function button(href: string): string {
    const words = renderText(content.shareButtonHeader, values) || href;
    const { background, text: color } = buttonColors(theme.page.color);
    return (
      `<p><a class="button" href="${escapeHtml(href)}" style="background-color:${background};` +
      `color:${color}">${escapeHtml(words)}</a></p><p class="link">${escapeHtml(href)}</p>`
    );
  }
}

const section = (name: string, html: string): string =>
  html.trim() === '' ? '' : `<div class="${name}">${html}</div>`;

const imageOf = (address: string): string =>
  /^https?:\/\//i.test(address)
    ? `<img class="image" src="${escapeHtml(address)}" alt="" width="560">`
    : '';

const unsubscribing = (address: string | null): string =>
  address === null ? '' : `<p><a class="quiet" href="${escapeHtml(address)}">Unsubscribe</a></p>`;

const endOfText = (address: string | null): string =>
  address === null ? '' : `Unsubscribe: ${address}`;

const document = (subject: string, body: string, locale: string | null): string => `<!doctype html>
<html lang="${escapeHtml((locale ?? 'en').replace('_', '-'))}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escapeHtml(subject)}</title>
<style>${MAIL_STYLE}</style>
</head>
<body>
<div class="page"><div class="card" role="article" aria-label="${escapeHtml(subject)}">
${body}
</div></div>
</body>
</html>
`;
