import { BUILT_IN_THEME } from '../../themes/built-in-theme.js';
import { documentOf, policyOf, styleWith, type HtmlPage } from './page-document.js';

const title = 'This link leads nowhere';
const text =
  'The link may have been mistyped, or it is no longer in use. Ask the person who sent it to you for a new one.';
const style = styleWith(BUILT_IN_THEME.page.color);

/** The page for all addresses without a page: reveals nothing about people, tenants and themes. */
export const NOT_FOUND_PAGE: HtmlPage = {
  html: documentOf({
    lang: 'en',
    title,
    head: [],
    style,
    body: [`<h1>${title}</h1>`, `<div class="text"><p>${text}</p></div>`],
  }),
  contentSecurityPolicy: policyOf(style, {}),
};
