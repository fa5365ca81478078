import { Map, type OrderedMap } from 'immutable';
import type { EventCondition } from '../program.js';
import type { PersonId, UserEventContent } from './account.events.js';

/**
 * A user's events so far: by key, the greatest number of each field. Enough for any rule, also a
 * future one, to know whether an earlier event matched it; and small for any number of events.
 */
export type EventsSeen = Map<string, Map<string, number>>;

export function noteEvent(
  seen: Map<PersonId, EventsSeen>,
  person: PersonId,
  content: UserEventContent | null,
): Map<PersonId, EventsSeen> {
  if (!content) return seen;
  const numbers = Object.entries(content.fields).filter(
    (field): field is [string, number] => typeof field[1] === 'number',
  );
  const ofPerson = seen.get(person) ?? Map<string, Map<string, number>>();
  const before = ofPerson.get(content.key) ?? Map<string, number>();
  const greatest = numbers.reduce(
    (known, [field, value]) => known.set(field, Math.max(known.get(field) ?? value, value)),
    before,
  );
  return seen.set(person, ofPerson.set(content.key, greatest));
}

export function fits({ key, minimum }: EventCondition, content: UserEventContent): boolean {
  if (content.key !== key) return false;
  if (minimum === null) return true;
  const value = Object.hasOwn(content.fields, minimum.field)
    ? content.fields[minimum.field]
    : undefined;
  return typeof value === 'number' && value >= minimum.value;
}

export function hasFittedBefore(
  { key, minimum }: EventCondition,
  seen: EventsSeen | undefined,
): boolean {
  const greatest = seen?.get(key);
  return (
    greatest !== undefined &&
    (minimum === null || (greatest.get(minimum.field) ?? -Infinity) >= minimum.value)
  );
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
