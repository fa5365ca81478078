import { ApiProperty, OmitType } from '@nestjs/swagger';
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
]) {}

export const subscriptionJson = ({
  endpointUrl,
  name,
}: Subscription): WebhookSubscriptionResponse => ({
  endpointUrl,
  name,
});

export const newSubscriptionJson = (
  subscription: Subscription,
): NewWebhookSubscriptionResponse => ({
  ...subscriptionJson(subscription),
  secret: subscription.secrets[0] ?? '',
});
