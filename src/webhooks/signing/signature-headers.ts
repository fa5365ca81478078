import { CompactSign } from 'jose';
import { Webhook } from 'standardwebhooks';
import type { SigningKey } from './signing-keys.js';

/** What is signed, and with what. */
export interface ToSign {
  /** The `id` of the envelope. */
  readonly id: string;
  /** Of this attempt, in seconds since the epoch. */
  readonly timestamp: number;
  /** The raw body: UTF-8. */
  readonly body: Buffer;
  readonly tenantAlias: string;
  /** Where the attempt goes. */
  readonly endpointUrl: string;
  /** Of the endpoint, as `whsec_…`; the newest one first. */
  readonly secrets: readonly string[];
  readonly key: SigningKey;
}

/**
 * The headers that prove where a webhook is from: those of Standard Webhooks, with one signature
 * for each secret, and a detached JWS (RS256) over the base64url of the raw body. One key signs for
 * all tenants: the protected header names tenant, time and endpoint.
 */
export async function signatureHeaders({
  id,
  timestamp,
  body,
  tenantAlias,
  endpointUrl,
  secrets,
  key: { kid, privateKey },
}: ToSign): Promise<Record<string, string>> {
  const at = new Date(timestamp * 1_000);
  const jws = await new CompactSign(body)
    .setProtectedHeader({ alg: 'RS256', kid, tenantAlias, iat: timestamp, aud: endpointUrl })
    .sign(privateKey);
  const [header = '', , signature = ''] = jws.split('.');
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(' '),
    'X-Hook-JWS-RFC-7797': `${header}..${signature}`,
  };
}
