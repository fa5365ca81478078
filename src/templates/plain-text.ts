import { compile } from 'html-to-text';

const heading = { uppercase: false, leadingLineBreaks: 2, trailingLineBreaks: 2 };

/**
 * Converts HTML of `cleanHtml` to text: links as `text (address)`, images as their descriptions.
 */
export const plainText: (html: string) => string = compile({
  wordwrap: false,
  selectors: [
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: heading })),
    {
      selector: 'a',
      options: {
        linkBrackets: ['(', ')'],
        hideLinkHrefIfSameAsText: true,
        pathRewrite: (address: string) => address.replace(/^(https?:\/\/[^/]+)\/$/, '$1'),
      },
    },
    { selector: 'img', options: { pathRewrite: () => '' } },
  ],
});
