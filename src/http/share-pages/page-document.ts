import { createHash } from 'node:crypto';
import { readableColors } from '../../themes/readable-color.js';

/** A page with escaped content. */
export interface HtmlPage {
  readonly html: string;
  readonly contentSecurityPolicy: string;
}

/** Not cached, because the page names a person. */
export const pageHeaders = (policy: string): Readonly<Record<string, string>> => ({
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': policy,
  'Cache-Control': 'no-store',
  Vary: 'Accept-Language',
  // The address contains a person's code.
  'Referrer-Policy': 'no-referrer',
});

export function documentOf(page: {
  readonly lang: string;
  readonly title: string;
  readonly head: readonly string[];
  readonly style: string;
  readonly body: readonly string[];
}): string {
  return [
    '<!doctype html>',
    `<html lang="${page.lang}">`,
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    // Search engines must not list pages about people.
    '<meta name="robots" content="noindex">',
    `<title>${page.title}</title>`,
    ...page.head,
    `<style>${page.style}</style>`,
    '</head>',
    '<body>',
    '<main>',
    ...page.body.filter((part) => part !== ''),
    '</main>',
    '</body>',
    '</html>',
    '',
  ].join('\n');
}

/** Allows this style, the logo and a form only, whatever a theme contains. */
export function policyOf(
  style: string,
  {
    logo,
    form = "'none'",
  }: { readonly logo?: URL | undefined; readonly form?: "'self'" | "'none'" },
): string {
  const hash = createHash('sha256').update(style).digest('base64');
  return [
    "default-src 'none'",
    `style-src 'sha256-${hash}'`,
    ...(logo === undefined ? [] : [`img-src ${logo.origin}`]),
    "base-uri 'none'",
    `form-action ${form}`,
    "frame-ancestors 'none'",
  ].join('; ');
}

/** @param themeColor hex; otherwise the built-in colour. */
export function styleWith(themeColor: string): string {
  const { background, text } = readableColors(themeColor);
  return `
:root { color-scheme: light dark; --color: ${background}; --on-color: ${text}; }
* { box-sizing: border-box; }
body { margin: 0; background: #fff; color: #1b1b1f; border-top: 0.5rem solid var(--color);
  font: 1.125rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; }
main { max-width: 38rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; text-align: center;
  overflow-wrap: anywhere; }
h1 { margin: 0 0 1rem; font-size: clamp(1.625rem, 6vw, 2.5rem); line-height: 1.2;
  text-wrap: balance; }
.text h1, .text h2, .text h3 { font-size: 1.25rem; }
img { max-width: 100%; height: auto; }
.logo { display: block; max-height: 6rem; margin: 0 auto 2rem; }
.text table { display: block; overflow-x: auto; }
.text pre { white-space: pre-wrap; }
.text { hyphens: auto; }
.text ul, .text ol, .text pre, .text blockquote { text-align: start; }
.text blockquote { margin-inline: 0; padding-inline-start: 1rem; border-inline-start: 3px solid; }
a { color: inherit; }
.code { display: inline-block; margin: 0.5rem 0; padding: 0.75rem 1.5rem; border: 2px dashed;
  border-radius: 0.5rem; font: 700 1.5rem/1.2 ui-monospace, Menlo, Consolas, monospace;
  letter-spacing: 0.08em; -webkit-user-select: all; user-select: all; }
.button { display: inline-block; padding: 0.75rem 1.75rem; border: 1px solid currentcolor;
  border-radius: 0.5rem; background: var(--color); color: var(--on-color); font: inherit;
  font-weight: 700; text-decoration: none; cursor: pointer; }
a:focus-visible { outline: 3px solid currentcolor; outline-offset: 3px; }
.button:focus-visible { outline-color: CanvasText; }
@media (prefers-color-scheme: dark) { body { background: #16171b; color: #ececf1; } }
`;
}
