import type { UserFacts } from '../../domain/account/account.facts.js';
import { REWARD_TYPES, type PromisedValue } from '../../domain/program.js';
import {
  answer,
  answerOf,
  integer,
  oneOf,
  optional,
  orNull,
  shortName,
  text,
  textUntilForgotten,
  time,
} from '../../presenting/answer-members.js';
import { initialOf } from '../../presenting/user.response.js';

class ProspectResponse extends answerOf({
  type: oneOf(REWARD_TYPES),
  unit: orNull(text),
  credit: optional(integer),
  discountPercent: optional(integer),
  monthsDiscountIsValid: optional(integer),
}) {}

const DETAILS = {
  code: text,
  dateCreated: time,
  referrerName: shortName,
  programId: text,
  reward: orNull(answer(ProspectResponse)),
};

export class CodeDetailsResponse extends answerOf(DETAILS) {}

export class AppliedCodeResponse extends answerOf({ ...DETAILS, code: textUntilForgotten }) {}

export interface CodeDetails {
  readonly code: string;
  readonly dateCreated: number;
  readonly programId: string;
  readonly owner: Pick<UserFacts, 'firstName' | 'lastName'>;
  /** Null: the program grants none. */
  readonly reward: PromisedValue | null;
}

export function codeDetailsJson({
  code,
  dateCreated,
  programId,
  owner,
  reward,
}: CodeDetails): CodeDetailsResponse {
  return {
    code,
    dateCreated,
    referrerName: nameOfOwner(owner),
    programId,
    reward: reward === null ? null : prospectJson(reward),
  };
}

/** Public, so only a first name and an initial: enough to recognise a friend. */
export function nameOfOwner({
  firstName,
  lastName,
}: Pick<UserFacts, 'firstName' | 'lastName'>): string | null {
  return (
    [(firstName ?? '').trim(), initialOf(lastName) ?? ''].filter((part) => part !== '').join(' ') ||
    null
  );
}

function prospectJson(value: PromisedValue): ProspectResponse {
  switch (value.type) {
    case 'CREDIT':
      return { type: value.type, unit: value.unit, credit: value.assignedCredit };
    case 'PCT_DISCOUNT':
      return {
        type: value.type,
        unit: '%',
        discountPercent: value.discountPercent,
        ...(value.monthsDiscountIsValid === null
          ? {}
          : { monthsDiscountIsValid: value.monthsDiscountIsValid }),
      };
    case 'FUELTANK':
      // The tank code itself is part of the granted reward.
      return { type: value.type, unit: value.unit };
  }
}
