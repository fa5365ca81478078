import { Map, Set, type OrderedMap } from 'immutable';
import type { EventCondition } from '../../program.js';
import type {
  AccountEventOf,
  PersonId,
  RecalledNumbers,
  UserEventContent,
} from '../account.events.js';
import { ownMember } from '../../own-member.js';

/**
 * A user's earlier events, to recognise repeated ids and the first time of a rule. Clients choose
 * keys and field names, so names are kept up to `NAMES_BYTES_MAX`. A rule with another name reads
 * the account's stream once, and the event decided then keeps that name (`recalled`).
 */
export interface EventsSeen {
  /** By key, the greatest number of each field. */
  readonly greatest: NamedNumbers;
  /** Estimated memory of the names. */
  readonly bytes: number;
  /** No name was left out. After the first omission none is added: it may have come before. */
  readonly isComplete: boolean;
  /** Keyed hashes of the newest ids of clients, at most `IDS_MAX`. */
  readonly ids: Set<string>;
  /** The `IDS_MAX` ids before these. */
  readonly earlierIds: Set<string>;
}

/** By key and field, the greatest number. */
export type NamedNumbers = Map<string, Map<string, number>>;

export const NAMES_BYTES_MAX = 8 * 1024;
/** Bytes of a map entry without its name. */
const ENTRY_BYTES = 64;

/** The contract promises the last 1,000 ids of a user. */
export const IDS_MAX = 1_000;

const NOTHING_SEEN: EventsSeen = {
  greatest: Map(),
  bytes: 0,
  isComplete: true,
  ids: Set(),
  earlierIds: Set(),
};

export function rememberEvent(
  seen: Map<PersonId, EventsSeen>,
  {
    person,
    content: { value: content },
    recalled,
    idRef,
    repeated,
  }: Pick<
    AccountEventOf<'UserEventReceived'>,
    'person' | 'content' | 'recalled' | 'idRef' | 'repeated'
  >,
): Map<PersonId, EventsSeen> {
  if (!content) return seen;
  const before = withId(seen.get(person) ?? NOTHING_SEEN, idRef);
  if (repeated) return seen.set(person, before);
  const known = recalled?.value ? keepRecalled(before, content.key, recalled.value) : before;
  return seen.set(person, rememberNames(known, content));
}

/** Two sets replace an order: ids are dropped `IDS_MAX` at a time. */
function withId(seen: EventsSeen, idRef: string | undefined): EventsSeen {
  if (idRef === undefined || seen.ids.has(idRef)) return seen;
  return seen.ids.size < IDS_MAX
    ? { ...seen, ids: seen.ids.add(idRef) }
    : { ...seen, ids: Set([idRef]), earlierIds: seen.ids };
}

/** An event with this id was received. */
export const hasId = (seen: EventsSeen | undefined, idRef: string): boolean =>
  seen !== undefined && (seen.ids.has(idRef) || seen.earlierIds.has(idRef));

function rememberNames(seen: EventsSeen, { key, fields }: UserEventContent): EventsSeen {
  let { bytes, isComplete } = seen;
  const fitsIn = (name: string): boolean => {
    if (isComplete && bytes + sizeOf(name) <= NAMES_BYTES_MAX) bytes += sizeOf(name);
    else isComplete = false;
    return isComplete;
  };
  const before = seen.greatest.get(key);
  if (before === undefined && !fitsIn(key)) return { ...seen, isComplete };
  const numbers = (before ?? Map<string, number>()).withMutations((kept) => {
    // Once no name is added, an event may have many more fields than are kept.
    for (const field of isComplete ? Object.keys(fields) : (before?.keys() ?? [])) {
      const value = ownMember(fields, field);
      if (typeof value !== 'number') continue;
      const known = kept.get(field);
      if (known !== undefined || fitsIn(field)) kept.set(field, Math.max(known ?? value, value));
    }
  });
  return { ...seen, greatest: seen.greatest.set(key, numbers), bytes, isComplete };
}

/** Keeps the key and these fields. Rules name them, so operators choose their number. */
function keepRecalled(seen: EventsSeen, key: string, recalled: RecalledNumbers): EventsSeen {
  const numbers = recalled.reduce(
    (kept, [field, greatest]) => kept.set(field, kept.get(field) ?? greatest ?? -Infinity),
    seen.greatest.get(key) ?? Map<string, number>(),
  );
  return { ...seen, greatest: seen.greatest.set(key, numbers) };
}

const sizeOf = (name: string): number => 2 * name.length + ENTRY_BYTES;

export function matches({ key, minimum }: EventCondition, content: UserEventContent): boolean {
  if (content.key !== key) return false;
  if (minimum === null) return true;
  const value = ownMember(content.fields, minimum.field);
  return typeof value === 'number' && value >= minimum.value;
}

/** Whether an earlier event matched the rule; undefined: its names were left out. */
export function hasMatchedBefore(
  condition: EventCondition,
  seen: EventsSeen = NOTHING_SEEN,
): boolean | undefined {
  const { key, minimum } = condition;
  const { greatest, isComplete } = seen;
  const isKept = minimum === null ? greatest.has(key) : greatest.get(key)?.has(minimum.field);
  return isKept || isComplete ? hasMatched(condition, greatest) : undefined;
}

/** Whether one of these events matched the rule. */
export function hasMatched({ key, minimum }: EventCondition, numbers: NamedNumbers): boolean {
  const greatest = numbers.get(key);
  return (
    greatest !== undefined &&
    (minimum === null || (greatest.get(minimum.field) ?? -Infinity) >= minimum.value)
  );
}

/** Adds an event to the numbers of named fields. */
export function addNumbers(
  numbers: NamedNumbers,
  { key, fields }: UserEventContent,
  conditions: readonly EventCondition[],
): NamedNumbers {
  const named = conditions.filter((condition) => condition.key === key);
  if (named.length === 0) return numbers;
  const greatest = named.reduce(
    (kept, { minimum }) => {
      const value = minimum && ownMember(fields, minimum.field);
      return minimum && typeof value === 'number'
        ? kept.set(minimum.field, Math.max(kept.get(minimum.field) ?? value, value))
        : kept;
    },
    numbers.get(key) ?? Map<string, number>(),
  );
  return numbers.set(key, greatest);
}

/** Idempotency keys of batches are promised for a day of the real clock. */
const BATCH_REMEMBERED_MS = 7 * 24 * 60 * 60 * 1000;

/** A user id that is used again after an erasure starts without keys. */
export const batchKey = (person: PersonId, batch: string): string => `${person}/${batch}`;

export function rememberBatch(
  batches: OrderedMap<string, number>,
  batch: string,
  at: number,
): OrderedMap<string, number> {
  const recent = batches
    .takeWhile((since) => since <= at - BATCH_REMEMBERED_MS)
    .reduce((left, _, old) => left.delete(old), batches);
  return recent.set(batch, at);
}
