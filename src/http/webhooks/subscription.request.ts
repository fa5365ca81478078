import { ApiProperty } from '@nestjs/swagger';
import { Must, OptionalText } from '../shapes/request-members.js';
import { Member } from '../shapes/request-shape.js';

/** Longest URL of an endpoint, in characters. */
export const ENDPOINT_URL_LENGTH_MAX = 2_000;
const NAME_LENGTH_MAX = 255;

export class WebhookSubscriptionRequest {
  @Member()
  @Must(
    `be a URL of at most ${ENDPOINT_URL_LENGTH_MAX} characters`,
    (value) =>
      typeof value === 'string' && value.length <= ENDPOINT_URL_LENGTH_MAX && URL.canParse(value),
  )
  @ApiProperty({
    type: String,
    format: 'uri',
    maxLength: ENDPOINT_URL_LENGTH_MAX,
    description: 'http or https, without credentials and without a fragment',
  })
  endpointUrl: string;

  @OptionalText({
    words: `be a text of at most ${NAME_LENGTH_MAX} characters`,
    test: (name) => name.length <= NAME_LENGTH_MAX,
  })
  name?: string;
}
