import { ApiProperty } from '@nestjs/swagger';
import { API_ERROR_CODES, type ApiErrorCode } from '../edge/api-error.js';
import { Integer, Text, TextOrNull } from '../../presenting/answer-members.js';

export class ErrorResponse {
  @Integer()
  statusCode: number;

  @Text()
  message: string;

  @ApiProperty({ enum: API_ERROR_CODES })
  apiErrorCode: ApiErrorCode;

  @TextOrNull({ example: 'RS042' })
  rsCode: string | null;

  @ApiProperty({ type: [String], required: false })
  validationErrors?: string[];
}
