import juice from 'juice';
import {
  escapeHtml,
  renderedOr,
  renderImageAddress,
  renderRich,
  renderText,
  type RichText,
  type TemplateValues,
} from '../../templates/render-template.js';
import { oneLine } from '../../templates/template-values.js';
import { BUILT_IN_THEME } from '../../themes/built-in-theme.js';
import { readableColors } from '../../themes/readable-color.js';
import type { MailContent, MailType, ThemeInstance } from '../../themes/theme-instance.js';
import { MAIL_STYLE } from './mail-style.js';
import { mailWords } from './mail-words.js';

/** The parts of a mail around its texts. */
export interface MailFrame {
  /** `language` or `language_COUNTRY` of the texts. */
  readonly locale: string;
  /** Address for one-click unsubscription; null: a preview. */
  readonly unsubscribeUrl: string | null;
}

export interface RenderedMail {
  /** One line. */
  readonly subject: string;
  /** A document whose title is the subject, with the styles in its elements. */
  readonly html: string;
  readonly text: string;
}

type Texts = Omit<MailContent, 'headerImageUrl' | 'hasShareLink'>;

/**
 * Renders a mail of a theme; values are always plain text. A text that cannot be rendered, because
 * older rules allowed it, is replaced by the built-in one, and so is an empty subject.
 */
export function renderMail(
  theme: Pick<ThemeInstance, 'email' | 'page'>,
  type: MailType,
  values: TemplateValues,
  { locale, unsubscribeUrl }: MailFrame,
): RenderedMail {
  const { configuration, content } = theme.email[type];
  const ours = BUILT_IN_THEME.email[type];
  const line = (own: string, ofOurs: string): string =>
    renderedOr(own, ofOurs, (template) => renderText(template, values));
  const ourSubject = ours.configuration.subject;
  // A subject that only shows a missing name is empty.
  const subject = line(configuration.subject, ourSubject) || line(ourSubject, ourSubject);
  const rich = (name: keyof Texts): RichText =>
    renderedOr(content[name], ours.content[name], (template) => renderRich(template, values));
  const link = content.hasShareLink ? (values['shareLink'] ?? '') : '';
  const [header, body, footer] = [rich('headerContent'), rich('bodyContent'), rich('footer')];
  const share = link === '' ? undefined : rich('shareCTA');
  const { unsubscribe } = mailWords(locale);
  const image = renderedOr(content.headerImageUrl, '', (template) =>
    renderImageAddress(template, values),
  );
  const parts = [
    imageOf(image),
    section('header', header.html),
    section('body', body.html),
    share === undefined ? '' : section('share', share.html + button(link)),
    section('footer', footer.html + unsubscribing(unsubscribe, unsubscribeUrl)),
  ];
  const ends = [
    link,
    footer.text,
    unsubscribeUrl === null ? '' : `${unsubscribe}: ${unsubscribeUrl}`,
  ];
  const texts = [header.text, body.text, share?.text ?? '', ...ends];
  return {
    subject,
    html: juice(document(subject, parts.join('\n'), locale), {
      removeStyleTags: true,
      preserveMediaQueries: true,
      preserveFontFaces: false,
      preserveImportant: true,
      applyHeightAttributes: false,
    }),
    text: `${texts.filter((part) => part !== '').join('\n\n')}\n`,
  };

  function button(href: string): string {
    const words = oneLine(rich('shareButtonHeader').text) || href;
    const { background, text } = readableColors(theme.page.color);
    // `!important` overrides the colour of links in dark mode.
    return (
      `<p><a class="button" href="${escapeHtml(href)}" style="background-color:${background};` +
      `color:${text} !important">${escapeHtml(words)}</a></p><p class="link">${escapeHtml(href)}</p>`
    );
  }
}

const section = (name: string, html: string): string =>
  html.trim() === '' ? '' : `<div class="${name}">${html}</div>`;

const imageOf = (address: string): string =>
  address === '' ? '' : `<img class="image" src="${escapeHtml(address)}" alt="" width="560">`;

const unsubscribing = (words: string, address: string | null): string =>
  address === null ? '' : `<p><a class="quiet" href="${escapeHtml(address)}">${words}</a></p>`;

const document = (subject: string, body: string, locale: string): string => `<!doctype html>
<html lang="${escapeHtml(locale.replace('_', '-'))}">
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
