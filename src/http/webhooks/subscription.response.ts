import { ApiProperty, OmitType } from '@nestjs/swagger';
import { WEBHOOK_TYPES, type WebhookType } from '../../webhooks/payloads/announced.js';
import type { Subscription } from '../../webhooks/subscriptions/webhook-subscriptions.js';
import { Text } from '../../presenting/answer-members.js';

export class NewWebhookSubscriptionResponse {
  @Text()
  endpointUrl: string;

  @ApiProperty({ type: String, nullable: true })
  name: string | null;

  @ApiProperty({ type: String, required: false })
  secret?: string;
}

export class WebhookSubscriptionResponse extends OmitType(NewWebhookSubscriptionResponse, [
  'secret',
]) {
  @ApiProperty({ enum: WEBHOOK_TYPES, isArray: true, required: false })
  eventTypes?: readonly WebhookType[];
}

export const subscriptionJson = ({
  endpointUrl,
  name,
  eventTypes,
}: Subscription): WebhookSubscriptionResponse => ({
  endpointUrl,
  name,
  ...(eventTypes !== null && { eventTypes }),
});

/** @param isNew whether the call made it: its secret is shown once. */
export const newSubscriptionJson = (
  { endpointUrl, name, secrets: [secret = ''] }: Subscription,
  isNew: boolean,
): NewWebhookSubscriptionResponse => ({ endpointUrl, name, ...(isNew && { secret }) });
