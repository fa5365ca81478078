import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { Must, numberAsText } from '../shapes/members.js';
import { REFERRAL_CODE } from '../shapes/parameters.js';
import { Member } from '../shapes/request-shape.js';

/**
 * A code that comes with something else never fails the call: what cannot be a code is passed over
 * like one that nobody holds.
 */
export function codeInPassing(value: unknown): unknown {
  const text = numberAsText(value);
  return text === null || (typeof text === 'string' && !REFERRAL_CODE.test(text))
    ? undefined
    : text;
}

export class CodeInPassingRequest {
  @Member(codeInPassing)
  @IsOptional()
  @Must('be a text', (value) => typeof value === 'string')
  @ApiPropertyOptional({
    type: String,
    nullable: true,
    description: 'A code that cannot be used is passed over: the call succeeds.',
  })
  code?: string;
}

export class ReferredByRequest extends CodeInPassingRequest {
  @Member()
  @IsOptional()
  @ApiPropertyOptional({ type: Boolean, nullable: true, description: 'Ignored.' })
  isConverted?: unknown;
}
