import sanitize from 'sanitize-html';
import type { Placeholders } from './template-values.js';

/** Escapes a text for an element or a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`);
}

const TEXT_TAGS = [
  'p',
  'br',
  'hr',
  'strong',
  'b',
  'em',
  'i',
  'u',
  's',
  'del',
  'small',
  'sub',
  'sup',
];
const BLOCK_TAGS = [
  'h1',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
  'ul',
  'ol',
  'li',
  'blockquote',
  'pre',
  'code',
];
const NESTING_MAX = 40;

/**
 * Reduces rendered markdown to text, links and images, without scripts, styles, forms and frames.
 * Inserts values into addresses and checks them; in texts they stay placeholders.
 */
export function cleanHtml(html: string, placeholders: Placeholders): string {
  return sanitize(html, {
    allowedTags: [...TEXT_TAGS, ...BLOCK_TAGS, 'a', 'img'],
    allowedAttributes: {
      a: ['href'],
      img: ['src', 'alt'],
      ol: ['start'],
    },
    allowedSchemes: ['http', 'https', 'mailto'],
    allowedSchemesByTag: { img: ['http', 'https'] },
    allowProtocolRelative: false,
    disallowedTagsMode: 'discard',
    nestingLimit: NESTING_MAX,
    transformTags: {
      a: (tagName, { href }) => ({
        tagName,
        attribs: only('href', checkedAddress(href, placeholders)),
      }),
      img: (tagName, { src, alt }) => ({
        tagName,
        attribs: { ...only('src', checkedAddress(src, placeholders)), alt: alt ?? '' },
      }),
    },
    exclusiveFilter: ({ tag, attribs }) => tag === 'img' && attribs.src === undefined,
  });
}

const only = (name: string, value: string | undefined): Record<string, string> =>
  value === undefined ? {} : { [name]: value };

const LINK_SCHEMES = ['http:', 'https:', 'mailto:'];

/** The address with its values; undefined: it is not allowed. */
const checkedAddress = (
  address: string | undefined,
  placeholders: Placeholders,
): string | undefined =>
  allowedAddress(address === undefined ? undefined : placeholders.replacedInAddress(address));

/** An absolute address of one of these schemes without credentials; undefined: it is not one. */
export function allowedAddress(
  address: string | undefined,
  schemes: readonly string[] = LINK_SCHEMES,
): string | undefined {
  if (address === undefined || !URL.canParse(address)) return undefined;
  const { protocol, href, username, password } = new URL(address);
  if (username !== '' || password !== '') return undefined;
  return schemes.includes(protocol) ? href : undefined;
}
