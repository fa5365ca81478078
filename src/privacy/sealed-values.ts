import type { Personal, SubjectId } from '../domain/personal.js';
import { openBytes, sealBytes } from './sealed-bytes.js';
import { storableJson } from '../foundation/outside-text.js';

/**
 * Personal values in stored JSON: `{"subject": …, "sealed": text or null}` in place of `{subject,
 * value}`. The text is base64; after the prefix `2.` it is bound to its place of storage as well as
 * to the subject.
 */

type Json = unknown;
interface SealedValue {
  readonly subject: SubjectId;
  readonly sealed: string | null;
}
type Keys = ReadonlyMap<SubjectId, Buffer | null>;

/** Of all personal values at any depth. A missing value in memory needs no key. */
export function subjectsIn(json: Json, found = new Set<SubjectId>()): Set<SubjectId> {
  if (Array.isArray(json)) for (const item of json) subjectsIn(item, found);
  else if (isObject(json)) {
    if (isSealed(json) || (isPersonal(json) && json.value !== null)) found.add(json.subject);
    else for (const member of Object.values(json)) subjectsIn(member, found);
  }
  return found;
}

/**
 * Encrypts every personal value; without a key (forgotten) the value is dropped.
 * @param holder the id of the event that stores the JSON: a value opens only there, in the same
 * field. Undefined: bound to the subject alone, as earlier releases read it.
 */
export function sealValues(json: Json, keys: Keys, holder?: string): Json {
  return replace(json, isPersonal, ({ subject, value }, path) => {
    const key = keys.get(subject);
    if (!key || value === null) return { subject, sealed: null };
    const plain = Buffer.from(JSON.stringify(value));
    const sealed =
      holder === undefined
        ? sealBytes(key, plain, subject).toString('base64')
        : BOUND + sealBytes(key, plain, contextOf(subject, holder, path)).toString('base64');
    return { subject, sealed };
  });
}

const BOUND = '2.';

const contextOf = (subject: SubjectId, holder: string, path: string): string =>
  JSON.stringify([subject, holder, path]);

/**
 * Appends to each bound value the place where it was sealed, so that it still opens after an
 * upcaster moved it. Changes the JSON in place.
 */
export function recordPlaces(json: Json, holder: string, path = ''): void {
  if (!isObject(json)) return;
  for (const [name, member] of Object.entries(json)) {
    if (!isObject(member)) continue;
    const place = placeIn(path, name);
    if (!isSealed(member)) recordPlaces(member, holder, place);
    else if (member.sealed?.startsWith(BOUND))
      (member as { sealed: string }).sealed += `.${contextOf(member.subject, holder, place)}`;
  }
}

const placeIn = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);

/** The place of a personal value in stored JSON. */
export interface StoredPlace {
  readonly holder: Record<string, Json>;
  readonly name: string;
  readonly stored: Personal<unknown> | SealedValue;
}

/** The places of all personal values in stored JSON, in one walk, for `openAt`. */
export function storedPlaces(json: Json, found: StoredPlace[] = []): StoredPlace[] {
  if (!isObject(json)) return found;
  const holder = json as Record<string, Json>;
  for (const name of Object.keys(holder)) {
    const member = holder[name];
    if (!isObject(member)) continue;
    if (isStored(member)) found.push({ holder, name, stored: member });
    else storedPlaces(member, found);
  }
  return found;
}

/** Replaces stored values in place by those of `openValues`: the JSON must not be shared. */
export function openAt(places: readonly StoredPlace[], keys: Keys): void {
  for (const { holder, name, stored } of places) holder[name] = opened(stored, keys);
}

/**
 * Decrypts every personal value whose key exists; the others become null, including those that an
 * older version stored in plain. For values that are bound to their subject alone.
 */
export function openValues(json: Json, keys: Keys): Json {
  return replace(json, isStored, (stored) => opened(stored, keys));
}

function opened(stored: Personal<unknown> | SealedValue, keys: Keys): Personal<unknown> {
  const { subject } = stored;
  const key = keys.get(subject);
  if (!isSealed(stored)) return { subject, value: key ? stored.value : null };
  const { sealed } = stored;
  return { subject, value: key && sealed !== null ? openSealed(key, sealed, subject) : null };
}

function openSealed(key: Buffer, sealed: string, subject: SubjectId): unknown {
  const [text, context] = sealed.startsWith(BOUND)
    ? splitAt(sealed.slice(BOUND.length), '.')
    : [sealed, subject];
  return JSON.parse(storableJson(openBytes(key, Buffer.from(text, 'base64'), context).toString()));
}

/** No base64 contains a dot. */
function splitAt(text: string, mark: string): readonly [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + mark.length)];
}

function replace<T extends object>(
  json: Json,
  matches: (object: object) => object is T,
  change: (object: T, path: string) => Json,
  path = '',
): Json {
  if (Array.isArray(json))
    return json.map((item, index) => replace(item, matches, change, placeIn(path, `${index}`)));
  if (!isObject(json)) return json;
  if (matches(json)) return change(json, path);
  return Object.fromEntries(
    Object.entries(json).map(([name, member]) => [
      name,
      replace(member, matches, change, placeIn(path, name)),
    ]),
  );
}

const isObject = (json: Json): json is object => typeof json === 'object' && json !== null;
const hasExactly = (object: object, a: string, b: string): boolean =>
  a in object && b in object && Object.keys(object).length === 2;
const isPersonal = (object: object): object is Personal<unknown> =>
  hasExactly(object, 'subject', 'value');
const isStored = (object: object): object is Personal<unknown> | SealedValue =>
  isSealed(object) || isPersonal(object);
const isSealed = (object: object): object is SealedValue => hasExactly(object, 'subject', 'sealed');
