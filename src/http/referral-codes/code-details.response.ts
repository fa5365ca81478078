import { ApiProperty, OmitType } from '@nestjs/swagger';
import { REWARD_TYPES, type RewardType } from '../../domain/program.js';
import { Text, TextOrNull, TextUntilForgotten, Time } from '../shapes/shape.js';

class ProspectResponse {
  @ApiProperty({ enum: REWARD_TYPES })
  type: RewardType;

  @TextOrNull()
  unit: string | null;

  @ApiProperty({ type: 'integer', required: false, description: 'CREDIT' })
  credit?: number;

  @ApiProperty({ type: 'integer', required: false, description: 'PCT_DISCOUNT' })
  discountPercent?: number;

  @ApiProperty({ type: 'integer', required: false, description: 'PCT_DISCOUNT' })
  monthsDiscountIsValid?: number;
}

export class CodeDetailsResponse {
  @Text({ description: 'As its owner spells it' })
  code: string;

  @Time()
  dateCreated: number;

  @TextOrNull({ description: 'First name and initial', example: 'Ann L' })
  referrerName: string | null;

  @Text()
  programId: string;

  @ApiProperty({ type: ProspectResponse, nullable: true, description: 'What the referred side would earn; null: nothing' })
  reward: ProspectResponse | null;
}

export class AppliedCodeResponse extends OmitType(CodeDetailsResponse, ['code']) {
  @TextUntilForgotten()
  code: string | null;
}
