import { WEBHOOK_TYPES, type WebhookType } from '../../webhooks/payloads/announced.js';
import type { Subscription } from '../../webhooks/subscriptions/webhook-subscriptions.js';
import { answerOf, described, optional, orNull, text } from '../../presenting/answer-members.js';

const SUBSCRIPTION = { endpointUrl: text, name: orNull(text) };

export class NewWebhookSubscriptionResponse extends answerOf({
  ...SUBSCRIPTION,
  secret: optional(text),
}) {}

export class WebhookSubscriptionResponse extends answerOf({
  ...SUBSCRIPTION,
  eventTypes: optional(described<readonly WebhookType[]>({ enum: WEBHOOK_TYPES, isArray: true })),
}) {}

export const subscriptionJson = ({
  endpointUrl,
  name,
  eventTypes,
}: Subscription): WebhookSubscriptionResponse => ({
  endpointUrl,
  name,
  ...(eventTypes !== null && { eventTypes }),
});

/** @param isNew whether the call created it: only then the secret is shown. */
export const newSubscriptionJson = (
  { endpointUrl, name, secrets: [secret = ''] }: Subscription,
  isNew: boolean,
): NewWebhookSubscriptionResponse => ({ endpointUrl, name, ...(isNew && { secret }) });
