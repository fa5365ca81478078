/** Text from outside that Postgres cannot store and UTF-8 cannot encode is refused. */
const UNSTORABLE = /[\p{Surrogate}\0]/u;

export const NOT_STORABLE = 'holds a NUL character or half a surrogate pair';

export const isStorable = (text: string): boolean => !UNSTORABLE.test(text);

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Without a mark of its byte order. Undefined: the bytes are not UTF-8. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * The text of a file that an operator wrote, or what is wrong in which line.
 * @param before lines of the file before these bytes.
 */
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

/** No character of several bytes contains the byte of a new line. */
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

/**
 * The JSON pointer of a text or name in parsed JSON that cannot be stored. Iterative: the depth of
 * a document must not become the depth of the call stack.
 */
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

/**
 * JSON whose texts can be stored: U+FFFD in the places of NUL and of halves of surrogate pairs,
 * which older releases recorded. In JSON of UTF-8 they are always escaped.
 */
export const storableJson = (json: string): string =>
  json.includes('\\u')
    ? json.replace(ESCAPES, (found) => (found.length === ONE_ESCAPE ? '\uFFFD' : found))
    : json;

/** Control characters, for a class in a pattern of a description. */
export const CONTROLS = '\\u0000-\\u001f\\u007f-\\u009f';

export const PLAIN = `[^${CONTROLS}]*`;
export const ID_PATTERN = `^${PLAIN}$`;

/** 1 to `max` characters without control characters, and any white space around them. */
export const trimmedPattern = (max: number): string =>
  `^\\s*[^\\s${CONTROLS}](?:[^${CONTROLS}]{0,${max - 2}}[^\\s${CONTROLS}])?\\s*$`;
