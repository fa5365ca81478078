import { ApiProperty } from '@nestjs/swagger';
import { trimmedUnit } from '../../domain/units.js';
import { Id, Must } from '../shapes/request-members.js';
import { Member } from '../shapes/request-shape.js';

/** POST credit/{id}/redeem. */
export class RedeemRequest {
  /**
   * Any JSON number, including Infinity: the decision refuses the amount, not the validation. The
   * mark of a rounded integer is a text, which is dropped.
   */
  @Member((value) => (typeof value === 'string' ? null : value))
  @Must('be a number', (value) => typeof value === 'number' && !Number.isNaN(value))
  @ApiProperty({ type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
  amount: number;

  @Member((value) => (typeof value === 'string' ? trimmedUnit(value) : value))
  @Must('be a text', (value) => typeof value === 'string' && value !== '')
  @ApiProperty({ type: String, pattern: '\\S', example: 'CENTS' })
  unit: string;
}

/** POST credit/bulkredeem. */
export class BulkRedeemRequest extends RedeemRequest {
  @Id({ required: true })
  accountId: string;
}
