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
 * A user's events so far, as far as needed to recognise a repeated id and the first time of a
 * rule. A client chooses keys and names of fields, so only the first ones are kept, up to
 * `NAMES_BYTES_MAX`: a rule that asks for another one looks it up in the account's stream, once,
 * and the event that it then decides on has it kept from there on (`recalled`).
 */
export interface EventsSeen {
  /** By key, the greatest number of each field. */
  readonly greatest: NamedNumbers;
  /** Estimated memory of the names. */
  readonly bytes: number;
  /** Whether no name was left out. After the first one none is added: it may have come before. */
  readonly isComplete: boolean;
  /** Keyed hashes of the newest ids that clients gave, at most `IDS_MAX`. */
  readonly ids: Set<string>;
  /** The `IDS_MAX` ids before these. */
  readonly earlierIds: Set<string>;
}

/** By key and field, the greatest number. */
export type NamedNumbers = Map<string, Map<string, number>>;

export const NAMES_BYTES_MAX = 8 * 1024;
/** An entry of a map, besides its name. */
const ENTRY_BYTES = 64;

/** The promise is the last 1,000 ids of a user. */
export const IDS_MAX = 1_000;

const NOTHING_SEEN: EventsSeen = {
  greatest: Map(),
  bytes: 0,
  isComplete: true,
  ids: Set(),
  earlierIds: Set(),
};

export function noteEvent(
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
  const known = recalled?.value ? recall(before, content.key, recalled.value) : before;
  return seen.set(person, note(known, content));
}

/** Two sets in place of an order: an id is forgotten with `IDS_MAX` others of its age. */
function withId(seen: EventsSeen, idRef: string | undefined): EventsSeen {
  if (idRef === undefined || seen.ids.has(idRef)) return seen;
  return seen.ids.size < IDS_MAX
    ? { ...seen, ids: seen.ids.add(idRef) }
    : { ...seen, ids: Set([idRef]), earlierIds: seen.ids };
}

/** Whether an event with this id was received of the person. */
export const hasId = (seen: EventsSeen | undefined, idRef: string): boolean =>
  seen !== undefined && (seen.ids.has(idRef) || seen.earlierIds.has(idRef));

function note(seen: EventsSeen, { key, fields }: UserEventContent): EventsSeen {
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

/** Has the key and these fields kept: rules name them, so their number is the operator's choice. */
function recall(seen: EventsSeen, key: string, recalled: RecalledNumbers): EventsSeen {
  const numbers = recalled.reduce(
    (kept, [field, greatest]) => kept.set(field, kept.get(field) ?? greatest ?? -Infinity),
    seen.greatest.get(key) ?? Map<string, number>(),
  );
  return { ...seen, greatest: seen.greatest.set(key, numbers) };
}

const sizeOf = (name: string): number => 2 * name.length + ENTRY_BYTES;

export function fits({ key, minimum }: EventCondition, content: UserEventContent): boolean {
  if (content.key !== key) return false;
  if (minimum === null) return true;
  const value = ownMember(content.fields, minimum.field);
  return typeof value === 'number' && value >= minimum.value;
}

/** Whether an earlier event matched the rule; undefined: its names were left out. */
export function hasFittedBefore(
  condition: EventCondition,
  seen: EventsSeen = NOTHING_SEEN,
): boolean | undefined {
  const { key, minimum } = condition;
  const { greatest, isComplete } = seen;
  const isKept = minimum === null ? greatest.has(key) : greatest.get(key)?.has(minimum.field);
  return isKept || isComplete ? hasFitted(condition, greatest) : undefined;
}

/** Whether an event of these matched the rule. */
export function hasFitted({ key, minimum }: EventCondition, numbers: NamedNumbers): boolean {
  const greatest = numbers.get(key);
  return (
    greatest !== undefined &&
    (minimum === null || (greatest.get(minimum.field) ?? -Infinity) >= minimum.value)
  );
}

/** Adds an event to the numbers that conditions name. */
export function noteNamed(
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

/** Idempotency keys of batches are promised for a day. */
const BATCH_REMEMBERED_MS = 7 * 24 * 60 * 60 * 1000;

/** A user id that is used again after its person was forgotten starts without keys. */
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
