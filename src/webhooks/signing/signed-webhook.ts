import { timeNow } from '../../foundation/world.js';
import type { WebhookType } from '../payloads/announced.js';
import { signatureHeaders, type ToSign } from './signature-headers.js';
import type { SigningKey } from './signing-keys.js';

/** What a receiver is sent, as JSON in this order of its members. */
export interface WebhookEnvelope {
  readonly id: string;
  readonly type: WebhookType;
  readonly tenantAlias: string;
  readonly live: boolean;
  /** When the event was recorded, epoch milliseconds. */
  readonly created: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** What does not depend on the endpoint, nor on the time. */
type WebhookBody = Pick<ToSign, 'id' | 'tenantAlias' | 'body'>;

export const webhookBody = ({
  id,
  type,
  tenantAlias,
  live,
  created,
  data,
}: WebhookEnvelope): WebhookBody => ({
  id,
  tenantAlias,
  body: Buffer.from(JSON.stringify({ id, type, tenantAlias, live, created, data })),
});

export async function signedWebhook(
  made: WebhookBody,
  { endpointUrl, secrets }: Pick<ToSign, 'endpointUrl' | 'secrets'>,
  key: SigningKey,
) {
  const timestamp = Math.floor(timeNow() / 1_000);
  const signatures = await signatureHeaders({ ...made, timestamp, endpointUrl, secrets, key });
  return { headers: { 'content-type': 'application/json', ...signatures }, body: made.body };
}
