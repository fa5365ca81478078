/** Postgres cannot store these characters, and UTF-8 cannot encode them. */
const UNSTORABLE = /[\p{Surrogate}\0]/u;

export const NOT_STORABLE = 'holds a NUL character or half a surrogate pair';

export const isStorable = (text: string): boolean => !UNSTORABLE.test(text);

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Without the byte order mark. Undefined: the bytes are not UTF-8. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** The text of an operator's file, or its fault. @param before lines before these bytes. */
export function fileText(
  bytes: Uint8Array,
  before = 0,
): { readonly text: string } | { readonly fault: string } {
  const text = utf8Text(bytes);
  if (text === undefined) {
    const broken = before + firstBrokenLine(bytes);
    return { fault: `line ${broken} is not valid UTF-8; save the file as UTF-8` };
  }
  const nul = text.indexOf('\0');
  if (nul < 0) return { text };
  return { fault: `line ${before + text.slice(0, nul).split('\n').length} holds a NUL character` };
}

const NEW_LINE = 0x0a;

/** Splitting by bytes is safe: no multi-byte character contains a line feed. */
function firstBrokenLine(bytes: Uint8Array): number {
  let number = 1;
  for (let from = 0; from < bytes.length; number += 1) {
    const found = bytes.indexOf(NEW_LINE, from);
    const end = found < 0 ? bytes.length : found + 1;
    if (utf8Text(bytes.subarray(from, end)) === undefined) break;
    from = end;
  }
  return number;
}

interface Place {
  readonly node: unknown;
  readonly name: string;
  readonly parent: Place | undefined;
}

/** A JSON pointer. Iterative: a deep document cannot overflow the call stack. */
export function unstorablePath(root: unknown): string | undefined {
  const open: Place[] = [{ node: root, name: '', parent: undefined }];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const { node, name } = place;
    if (!isStorable(name) || (typeof node === 'string' && !isStorable(node)))
      return pointerOf(place);
    if (typeof node !== 'object' || node === null) continue;
    for (const [member, child] of Object.entries(node))
      open.push({ node: child, name: member, parent: place });
  }
  return undefined;
}

function pointerOf(place: Place): string {
  const names: string[] = [];
  for (let at = place; at.parent !== undefined; at = at.parent)
    names.push(
      at.name.replaceAll('~', '~0').replaceAll('/', '~1').replace(EVERY_UNSTORABLE, '\uFFFD'),
    );
  return `/${names.reverse().join('/')}`;
}

const EVERY_UNSTORABLE = new RegExp(UNSTORABLE, 'gu');

/** A pair of escapes, an escape that cannot be stored, or any other escape. */
const ESCAPES = /\\ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|\\u(?:0000|d[89a-f][\da-f]{2})|\\./gi;
const ONE_ESCAPE = '\\u0000'.length;

/** Older releases recorded NUL and unpaired surrogates, which JSON always escapes. */
export const storableJson = (json: string): string =>
  json.includes('\\u')
    ? json.replace(ESCAPES, (found) => (found.length === ONE_ESCAPE ? '\uFFFD' : found))
    : json;

/** For a character class in a pattern of the API description. */
export const CONTROLS = '\\u0000-\\u001f\\u007f-\\u009f';

export const PLAIN = `[^${CONTROLS}]*`;
export const ID_PATTERN = `^${PLAIN}$`;

/** 1 to `max` characters without control characters, between any white space. */
export const trimmedPattern = (max: number): string =>
  `^\\s*[^\\s${CONTROLS}](?:[^${CONTROLS}]{0,${max - 2}}[^\\s${CONTROLS}])?\\s*$`;
