import type { PersonId, WithheldReason } from '../../domain/account/account.events.js';
import type { PromisedValue, RewardValue } from '../../domain/program.js';
import type { Money } from '../registry/printing.js';

/** Facts that the words of an event name, next to the event itself. */
export interface Known {
  /** A person of the account, as its reader may see them. */
  readonly nameOf: (person: PersonId) => string;
  /** The code that was applied to the account; null: none, or not to be shown. */
  readonly code: string | null;
  /** False: what a person chose is not shown. */
  readonly showsPersonal: boolean;
  /** An amount of a unit for people: `$12.50`. */
  readonly amountText: AmountText;
}

/** A person without a name: for readers without personal data. 0: of another account. */
export const numberedPerson = (number: number): string =>
  number === 0 ? ANOTHER_PERSON : `person ${number}`;

const ANOTHER_PERSON = 'a person of another account';
const PERSON_AT_START = new RegExp(`^(?:${ANOTHER_PERSON}|person \\d+ )`);

/** Words as a sentence: names and ids keep their spelling. */
export const asSentence = (words: string): string =>
  PERSON_AT_START.test(words) ? words.slice(0, 1).toUpperCase() + words.slice(1) : words;

/** Writes an amount of a unit for people. */
export type AmountText = (amount: number, unit: string | null) => string;

/** `1,000 CENTS`, where the unit has no format. */
export const plainAmount: AmountText = (amount, unit) =>
  `${amount.toLocaleString('en-US')} ${unit ?? ''}`.trim();

/** Amounts of an account as the pages show them. */
export const amountsOf =
  (money: Money | undefined, accountId: string): AmountText =>
  (amount, unit) =>
    (unit === null ? undefined : money?.(unit, accountId)?.(amount)) ?? plainAmount(amount, unit);

/** `10% discount`, `500 CENTS`. */
export function valueInWords(
  value: RewardValue | PromisedValue,
  amountText: AmountText = plainAmount,
): string {
  switch (value.type) {
    case 'PCT_DISCOUNT':
      return `${value.discountPercent}% discount`;
    case 'CREDIT':
      return amountText(value.assignedCredit, value.unit);
    case 'FUELTANK':
      return 'A code from the pool';
  }
}

const BECAUSE: Readonly<Record<WithheldReason, string>> = {
  AMOUNT_TOO_LARGE: 'the credit of the account would become too large',
  CURRENCY_DIFFERS: "the account's credit is in another currency",
  LIMIT_REACHED: 'the limit of the reward rule was reached',
  POOL_EMPTY: 'the pool of codes was empty',
  SIDE_NOT_APPROVED: 'moderation had not approved the referral',
  REFERRER_BLOCKED: 'the referrer was blocked',
  REFERRER_GONE: 'the referrer had been forgotten',
  REFERRAL_REFUNDED: 'the first invoice of the referral was refunded',
  EVENT_REFUNDED: 'the event that earned it was refunded',
};

export const withheldBecause = (reason: WithheldReason): string => BECAUSE[reason];
