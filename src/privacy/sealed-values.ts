import type { Personal, SubjectId } from '../domain/personal.js';
import { openBytes, sealBytes } from './subject-keys.js';

/**
 * Personal values in stored JSON: `{"subject": …, "sealed": base64 or null}` in place of `{subject,
 * value}`.
 */

type Json = unknown;
interface SealedValue {
  readonly subject: SubjectId;
  readonly sealed: string | null;
}
type Keys = ReadonlyMap<SubjectId, Buffer | null>;

/** The subjects of all personal values in memory or in stored JSON, at any depth. */
export function subjectsIn(json: Json, found = new Set<SubjectId>()): Set<SubjectId> {
  if (Array.isArray(json)) for (const item of json) subjectsIn(item, found);
  else if (isObject(json)) {
    if (isPersonal(json) || isSealed(json)) found.add(json.subject);
    else for (const member of Object.values(json)) subjectsIn(member, found);
  }
  return found;
}

/** Encrypts every personal value. Without a key (forgotten) the value is dropped on purpose. */
export function sealValues(json: Json, keys: Keys): Json {
  return replace(json, isPersonal, ({ subject, value }) => {
    const key = keys.get(subject);
    const sealed =
      key && value !== null
        ? sealBytes(key, Buffer.from(JSON.stringify(value)), subject).toString('base64')
        : null;
    return { subject, sealed };
  });
}

/** The place of a personal value in stored JSON. */
export interface StoredPlace {
  readonly holder: Record<string, Json>;
  readonly name: string;
  readonly stored: Personal<unknown> | SealedValue;
}

/**
 * The places of all personal values in stored JSON, in one walk; `openAt` then needs no second one.
 */
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

/**
 * Replaces the stored values by the opened ones of `openValues`, in place: the JSON must not be
 * shared.
 */
export function openAt(places: readonly StoredPlace[], keys: Keys): void {
  for (const { holder, name, stored } of places) holder[name] = opened(stored, keys);
}

/**
 * Decrypts every personal value whose key exists; the others become null, also those that an older
 * version stored in plain.
 */
export function openValues(json: Json, keys: Keys): Json {
  return replace(json, isStored, (stored) => opened(stored, keys));
}

function opened(stored: Personal<unknown> | SealedValue, keys: Keys): Personal<unknown> {
  const { subject } = stored;
  const key = keys.get(subject);
  if (!isSealed(stored)) return { subject, value: key ? stored.value : null };
  const { sealed } = stored;
  const value: unknown =
    key && sealed !== null
      ? JSON.parse(openBytes(key, Buffer.from(sealed, 'base64'), subject).toString())
      : null;
  return { subject, value };
}

function replace<T extends object>(
  json: Json,
  matches: (object: object) => object is T,
  change: (object: T) => Json,
): Json {
  if (Array.isArray(json)) return json.map((item) => replace(item, matches, change));
  if (!isObject(json)) return json;
  if (matches(json)) return change(json);
  return Object.fromEntries(
    Object.entries(json).map(([name, member]) => [name, replace(member, matches, change)]),
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
