import { Map } from 'immutable';
import { ownMember } from '../../own-member.js';
import type {
  EventField,
  PersonId,
  RefundableEarning,
  UserEventContent,
} from '../account.events.js';

/** By the key of the refund, its field, and the digest of the value; oldest first. */
export type Refundable = Map<string, Map<string, Map<string, readonly RefundableEarning[]>>>;

type RefundableByPerson = Map<PersonId, Refundable>;

/** The keyed digest of a value of a person's event. */
export type ValueRef = (person: PersonId, value: EventField) => string;

/** The value of the refund's field; undefined: nothing can refund the event. */
export function refundValue({ fields }: UserEventContent, field: string): EventField | undefined {
  return ownMember(fields, field) ?? undefined;
}

/** An erased value matches no refund. */
export const addEarning = (
  all: RefundableByPerson,
  earning: RefundableEarning,
): RefundableByPerson => change(all, earning, (earnings) => [...earnings, earning]);

export const withoutEarning = (
  all: RefundableByPerson,
  refunded: RefundableEarning,
): RefundableByPerson =>
  change(all, refunded, (earnings) =>
    earnings.filter(
      ({ userEventId, programId, rule }) =>
        userEventId !== refunded.userEventId ||
        programId !== refunded.programId ||
        rule !== refunded.rule,
    ),
  );

function change(
  all: RefundableByPerson,
  { person, refund: { key, field }, value: { value } }: RefundableEarning,
  to: (earnings: readonly RefundableEarning[]) => readonly RefundableEarning[],
): RefundableByPerson {
  if (value === null) return all;
  const ofPerson: Refundable = all.get(person) ?? Map();
  const ofKey = ofPerson.get(key) ?? Map();
  const ofField = ofKey.get(field) ?? Map();
  const after = to(ofField.get(value) ?? []);
  const values = after.length > 0 ? ofField.set(value, after) : ofField.delete(value);
  return all.set(person, ofPerson.set(key, ofKey.set(field, values)));
}

/** Earnings that this event of the person refunds, oldest first. */
export function refundedBy(
  all: RefundableByPerson,
  person: PersonId,
  content: UserEventContent,
  valueRef: ValueRef,
): readonly RefundableEarning[] {
  return [...(all.get(person)?.get(content.key) ?? [])].flatMap(([field, values]) => {
    const value = refundValue(content, field);
    return value === undefined ? [] : (values.get(valueRef(person, value)) ?? []);
  });
}
