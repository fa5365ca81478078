const CHARACTERS_MAX = 40;
/** RFC 2047: mail programs decode it. */
const ENCODED_WORD = /=\?[^\s?]*\?[bq]\?[^\s?]*\?=/gi;
const NOT_OF_A_NAME = /[^\p{L}\p{M}\p{Nd} '’.-]/gu;
/** Many mail programs turn a dot within a word into a link. */
const DOT_WITHIN = /\.(?! |$)/g;

/** A name that another person sees, without links: its owner could send messages by it. */
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
