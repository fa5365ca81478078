/** Nesting that bodies of clients may have. */

export const DEPTH_MAX = 32;

/** Before parsing: building a million nested arrays takes seconds. */
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

/** For an error message: the problem of a member and its remedy. */
export const ROUNDED = 'is an integer beyond 2^53-1 and would be rounded: send it as a string';

/** Half a surrogate pair, which no accepted text contains. */
const MARK = '\ud800';
/** A JSON string or number. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** Marks integers that a double would round. Undefined: none. @param json valid, storable. */
export function withRoundedMarked(json: string): unknown {
  // Keeps the second parse away from most bodies, which have no number of 16 digits.
  if (!/\d{16}/.test(json)) return undefined;
  const marked = json.replace(TOKENS, (token) => (isRounded(token) ? '"\\ud800"' : token));
  return marked === json ? undefined : (JSON.parse(marked) as unknown);
}

const isRounded = (token: string): boolean =>
  /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token));

/** Paths of the marked members, such as `events[0].fields.order`. */
export function roundedIn(value: unknown, path = ''): readonly string[] {
  if (value === MARK) return [path];
  if (Array.isArray(value)) return value.flatMap((item, at) => roundedIn(item, `${path}[${at}]`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    roundedIn(member, path === '' ? name : `${path}.${name}`),
  );
}
