import { timeNow } from '../../foundation/world.js';
import type { WebhookType } from '../payloads/announced.js';
import { detachedJws, headersWith } from './signature-headers.js';
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

/** What does not depend on the endpoint, nor on the time. */
export interface SignedBody {
  readonly id: string;
  readonly body: Buffer;
  readonly jws: string;
}

/** @param secrets of the endpoint, as `whsec_…`; the newest one first. */
export async function signedWebhook(
  envelope: WebhookEnvelope,
  secrets: readonly string[],
  key: SigningKey,
): Promise<SignedWebhook> {
  return webhookWith(await signedBody(envelope, key), secrets);
}

export async function signedBody(
  { id, type, tenantAlias, live, created, data }: WebhookEnvelope,
  key: SigningKey,
): Promise<SignedBody> {
  const body = Buffer.from(JSON.stringify({ id, type, tenantAlias, live, created, data }));
  return { id, body, jws: await detachedJws(body, key) };
}

/** @param secrets of the endpoint, as `whsec_…`; the newest one first. */
export function webhookWith(
  { id, body, jws }: SignedBody,
  secrets: readonly string[],
): SignedWebhook {
  const timestamp = Math.floor(timeNow() / 1_000);
  const signatures = headersWith(jws, { id, timestamp, body, secrets });
  return { headers: { 'content-type': 'application/json', ...signatures }, body };
}
