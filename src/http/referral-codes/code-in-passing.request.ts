import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { REFERRAL_CODE } from '../../domain/referral-code.js';
import {
  ANY_VALUE,
  Must,
  NUMBER_AS_TEXT,
  numberAsText,
  trimmed,
} from '../shapes/request-members.js';
import { Member } from '../shapes/request-shape.js';

/**
 * A code in another request never fails the call: an invalid one is ignored like an unknown one.
 */
export function optionalCode(value: unknown): unknown {
  const text = trimmed(numberAsText(value));
  return text === null || (typeof text === 'string' && !REFERRAL_CODE.test(text))
    ? undefined
    : text;
}

export const OPTIONAL_CODE = { anyOf: [{ type: 'string' }, NUMBER_AS_TEXT], nullable: true };

export class CodeInPassingRequest {
  @Member(optionalCode)
  @IsOptional()
  @Must('be a text', (value) => typeof value === 'string')
  @ApiPropertyOptional(OPTIONAL_CODE)
  code?: string;
}

export class ReferredByRequest extends CodeInPassingRequest {
  @Member()
  @IsOptional()
  @ApiPropertyOptional(ANY_VALUE)
  isConverted?: unknown;
}
