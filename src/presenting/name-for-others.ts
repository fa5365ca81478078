const CHARACTERS_MAX = 40;
/** RFC 2047: a mail program would decode it. */
const ENCODED_WORD = /=\?[^\s?]*\?[bq]\?[^\s?]*\?=/gi;
const NOT_OF_A_NAME = /[^\p{L}\p{M}\p{Nd} '’.-]/gu;
/** A dot within a word makes it a link in many mail programs. */
const DOT_WITHIN = /\.(?! |$)/g;

/**
 * A name in a text for another person. Its owner chooses it, and could send a message or a link
 * with it.
 */
export const nameForOthers = (name: string): string =>
  [
    ...name
      .replace(ENCODED_WORD, '')
      .replace(/\s+/gu, ' ')
      .replace(NOT_OF_A_NAME, '')
      .replace(DOT_WITHIN, '')
      .trim(),
  ]
    .slice(0, CHARACTERS_MAX)
    .join('')
    .trim();
