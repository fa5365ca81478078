/** Longest URL of an endpoint, in characters. */
export const ENDPOINT_URL_MAX = 2_000;

const PLAIN = '[^\\u0000-\\u0020\\u007f\\\\#';
/** Texts that `parseEndpoint` may accept, for JSON Schema. */
export const URL_PATTERN = `^[Hh][Tt][Tt][Pp][Ss]?://${PLAIN}@/?]+(?:[/?]${PLAIN}]*)?$`;

export type ParsedEndpoint = { readonly url: URL } | { readonly problem: string };

/**
 * Parses the URL of an endpoint: absolute, http or https, without credentials and fragment. Checks
 * the text first, because the URL parser drops white space and an empty fragment.
 */
export function parseEndpoint(text: string): ParsedEndpoint {
  if ([...text].length > ENDPOINT_URL_MAX)
    return { problem: `must be at most ${ENDPOINT_URL_MAX} characters` };
  // URL parsers disagree about control characters, white space and backslashes.
  if (/[\u0000-\u0020\u007f\\]/.test(text) || !URL.canParse(text))
    return { problem: 'must be an absolute URL' };
  const [, authority] = /^https?:\/\/([^/?#]+)/i.exec(text) ?? [];
  if (authority === undefined) return { problem: 'must be an http or https URL' };
  if (authority.includes('@')) return { problem: 'must not contain credentials' };
  if (text.includes('#')) return { problem: 'must not contain a fragment' };
  return { url: new URL(text) };
}

/** The host without the brackets of IPv6. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');
