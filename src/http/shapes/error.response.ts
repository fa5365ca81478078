import { API_ERROR_CODES } from '../edge/api-error.js';
import {
  answerOf,
  described,
  integer,
  oneOf,
  optional,
  text,
  texts,
} from '../../presenting/answer-members.js';

export class ErrorResponse extends answerOf({
  statusCode: integer,
  message: text,
  apiErrorCode: oneOf(API_ERROR_CODES),
  rsCode: described<string | null>({ type: 'string', nullable: true, example: 'RS042' }),
  validationErrors: optional(texts),
}) {}
