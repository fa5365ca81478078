import { Map } from 'immutable';
import { ownMember } from '../../own-member.js';
import type {
  EventField,
  PersonId,
  RefundableEarning,
  UserEventContent,
} from '../account.events.js';

/** What a user's events earned and a later event may refund. */

/** By the key of the refund, its field, and the digest of the value; oldest first. */
export type Refundable = Map<string, Map<string, Map<string, readonly RefundableEarning[]>>>;

type OfPersons = Map<PersonId, Refundable>;

/** The keyed digest of a value of a person's event. */
export type ValueRef = (person: PersonId, value: EventField) => string;

/** The value of the field that a refund compares; undefined: nothing can refund the event. */
export function refundValue({ fields }: UserEventContent, field: string): EventField | undefined {
  return ownMember(fields, field) ?? undefined;
}

/** A value that was erased is that of no refund. */
export const noteEarning = (all: OfPersons, earning: RefundableEarning): OfPersons =>
  change(all, earning, (earnings) => [...earnings, earning]);

export const withoutEarning = (all: OfPersons, refunded: RefundableEarning): OfPersons =>
  change(all, refunded, (earnings) =>
    earnings.filter(
      ({ userEventId, programId, rule }) =>
        userEventId !== refunded.userEventId ||
        programId !== refunded.programId ||
        rule !== refunded.rule,
    ),
  );

function change(
  all: OfPersons,
  { person, refund: { key, field }, value: { value } }: RefundableEarning,
  to: (earnings: readonly RefundableEarning[]) => readonly RefundableEarning[],
): OfPersons {
  if (value === null) return all;
  const ofPerson: Refundable = all.get(person) ?? Map();
  const ofKey = ofPerson.get(key) ?? Map();
  const ofField = ofKey.get(field) ?? Map();
  const after = to(ofField.get(value) ?? []);
  const values = after.length > 0 ? ofField.set(value, after) : ofField.delete(value);
  return all.set(person, ofPerson.set(key, ofKey.set(field, values)));
}

/** What this event of the person refunds, oldest first. */
export function refundedBy(
  all: OfPersons,
  person: PersonId,
  content: UserEventContent,
  valueRef: ValueRef,
): readonly RefundableEarning[] {
  return [...(all.get(person)?.get(content.key) ?? [])].flatMap(([field, values]) => {
    const value = refundValue(content, field);
    return value === undefined ? [] : (values.get(valueRef(person, value)) ?? []);
  });
}
