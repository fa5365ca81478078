import { ApiProperty } from '@nestjs/swagger';
import { API_ERROR_CODES, type ApiErrorCode } from '../edge/api-error.js';
import { Integer, Text, TextOrNull } from '../../presenting/answer-members.js';

export class ErrorResponse {
  @Integer({ description: 'Equal to the HTTP status' })
  statusCode: number;

  @Text({ description: 'For people; may change' })
  message: string;

  @ApiProperty({ enum: API_ERROR_CODES })
  apiErrorCode: ApiErrorCode;

  @TextOrNull({ description: 'A numeric code, where one fits', example: 'RS042' })
  rsCode: string | null;

  @ApiProperty({
    type: [String],
    required: false,
    description: 'One line per reason, beginning with what it is about',
  })
  validationErrors?: string[];
}
