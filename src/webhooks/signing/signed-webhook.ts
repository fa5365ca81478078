import { timeNow } from '../../foundation/world.js';
import type { WebhookType } from '../payloads/announced.js';
import { signatureHeaders } from './signature-headers.js';
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

export interface SignedWebhook {
  readonly headers: Readonly<Record<string, string>>;
  /** The raw bytes that are signed. */
  readonly body: Buffer;
}

/** @param secrets of the endpoint, as `whsec_…`; the newest one first. */
export async function signedWebhook(
  { id, type, tenantAlias, live, created, data }: WebhookEnvelope,
  secrets: readonly string[],
  key: SigningKey,
): Promise<SignedWebhook> {
  const body = Buffer.from(JSON.stringify({ id, type, tenantAlias, live, created, data }));
  const timestamp = Math.floor(timeNow() / 1_000);
  const signatures = await signatureHeaders({ id, timestamp, body, secrets, key });
  return { headers: { 'content-type': 'application/json', ...signatures }, body };
}
