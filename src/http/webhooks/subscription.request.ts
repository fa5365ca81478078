import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { WEBHOOK_TYPES, type WebhookType } from '../../webhooks/payloads/announced.js';
import {
  ENDPOINT_URL_MAX,
  parseEndpoint,
  URL_PATTERN,
} from '../../webhooks/sending/endpoint-url.js';
import { ClearableText, Must } from '../shapes/request-members.js';
import { Member } from '../shapes/request-shape.js';

const NAME_LENGTH_MAX = 255;

const isType = (value: unknown): boolean => WEBHOOK_TYPES.some((type) => type === value);

export class WebhookSubscriptionRequest {
  @Member()
  @Must(
    `be an http or https URL of at most ${ENDPOINT_URL_MAX} characters, without credentials and fragment`,
    (value) => typeof value === 'string' && !('problem' in parseEndpoint(value)),
  )
  @ApiProperty({ type: String, format: 'iri', pattern: URL_PATTERN, maxLength: ENDPOINT_URL_MAX })
  endpointUrl: string;

  @ClearableText({
    words: `be a text of at most ${NAME_LENGTH_MAX} characters`,
    test: (name) => [...name].length <= NAME_LENGTH_MAX,
    described: { pattern: `[\\s\\S]{0,${NAME_LENGTH_MAX}}` },
  })
  name?: string | null;

  @Member()
  @IsOptional()
  @Must(
    `be an array of one or more of ${WEBHOOK_TYPES.join(', ')}`,
    (value) => Array.isArray(value) && value.length > 0 && value.every(isType),
  )
  @ApiPropertyOptional({ enum: WEBHOOK_TYPES, isArray: true, minItems: 1, nullable: true })
  eventTypes?: readonly WebhookType[] | null;
}
