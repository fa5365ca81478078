/** JSON that clients send, as text. */

export const DEPTH_MAX = 32;

/**
 * Scans the text before it is parsed: building a million nested arrays only to refuse them takes
 * seconds.
 */
export function isDeeperThan(text: string, max: number): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length && depth <= max; at += 1) {
    const character = text[at];
    if (isInString && character === '\\') at += 1;
    else if (character === '"') isInString = !isInString;
    else if (isInString) continue;
    else if (character === '[' || character === '{') depth += 1;
    else if (character === ']' || character === '}') depth -= 1;
  }
  return depth > max;
}

/** What is wrong with such a member, and what to do. */
export const ROUNDED = 'is an integer beyond 2^53-1 and would be rounded: send it as a string';

/** Half a surrogate pair: no text that is accepted holds one. */
const MARK = '\ud800';
/** A text, or a number. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/**
 * The parsed value, with a mark in the place of each integer that a double rounds: one beyond
 * 2^53-1, written without point and exponent. Undefined: there is none.
 * @param json valid, and without text that cannot be stored.
 */
export function withRoundedMarked(json: string): unknown {
  // Most bodies have no number so long, not even a time: only this search is spent on them.
  if (!/\d{16}/.test(json)) return undefined;
  const marked = json.replace(TOKENS, (token) => (isRounded(token) ? '"\\ud800"' : token));
  return marked === json ? undefined : (JSON.parse(marked) as unknown);
}

const isRounded = (token: string): boolean =>
  /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token));

/** The members that hold a mark, such as `events[0].fields.order`. */
export function roundedIn(value: unknown, path = ''): readonly string[] {
  if (value === MARK) return [path];
  if (Array.isArray(value)) return value.flatMap((item, at) => roundedIn(item, `${path}[${at}]`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    roundedIn(member, path === '' ? name : `${path}.${name}`),
  );
}
