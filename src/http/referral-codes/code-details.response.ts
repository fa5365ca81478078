import { ApiProperty, OmitType } from '@nestjs/swagger';
import type { UserFacts } from '../../domain/account/account.facts.js';
import { REWARD_TYPES, type PromisedValue, type RewardType } from '../../domain/program.js';
import { Text, TextOrNull, TextUntilForgotten, Time } from '../../presenting/answer-members.js';
import { initialOf } from '../../presenting/user.response.js';

class ProspectResponse {
  @ApiProperty({ enum: REWARD_TYPES })
  type: RewardType;

  @TextOrNull()
  unit: string | null;

  @ApiProperty({ type: 'integer', required: false })
  credit?: number;

  @ApiProperty({ type: 'integer', required: false })
  discountPercent?: number;

  @ApiProperty({ type: 'integer', required: false })
  monthsDiscountIsValid?: number;
}

export class CodeDetailsResponse {
  @Text()
  code: string;

  @Time()
  dateCreated: number;

  @TextOrNull({ example: 'Ann L' })
  referrerName: string | null;

  @Text()
  programId: string;

  @ApiProperty({ type: ProspectResponse, nullable: true })
  reward: ProspectResponse | null;
}

export class AppliedCodeResponse extends OmitType(CodeDetailsResponse, ['code']) {
  @TextUntilForgotten()
  code: string | null;
}

/** A code and the reward of the referred side. */
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

/** Everybody may read it: a first name and an initial are enough to recognise a friend. */
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
      // The fuel-tank code itself is part of the granted reward.
      return { type: value.type, unit: value.unit };
  }
}
