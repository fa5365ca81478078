import { newBytes, timeNow } from '../../foundation/world.js';
import type { WebhookType } from '../payloads/announced.js';
import { signatureHeaders, type SignatureInput } from './signature-headers.js';
import type { SigningKey } from './signing-keys.js';

/** The JSON body of a webhook, in this order of members. */
export interface WebhookEnvelope {
  readonly id: string;
  readonly type: WebhookType;
  readonly tenantAlias: string;
  readonly live: boolean;
  /** Recording of the event, epoch milliseconds. */
  readonly created: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The part that is the same for all endpoints and attempts. */
type WebhookBody = Pick<SignatureInput, 'id' | 'tenantAlias' | 'body'>;

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
  { endpointUrl, secrets }: Pick<SignatureInput, 'endpointUrl' | 'secrets'>,
  key: SigningKey,
) {
  const timestamp = Math.floor(timeNow() / 1_000);
  const signatures = await signatureHeaders({ ...made, timestamp, endpointUrl, secrets, key });
  return { headers: { 'content-type': 'application/json', ...signatures }, body: made.body };
}

/** A new secret of an endpoint: `whsec_` and 32 random bytes in base64. */
export const newEndpointSecret = (): string => `whsec_${newBytes(32).toString('base64')}`;
