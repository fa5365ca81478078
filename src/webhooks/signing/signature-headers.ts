import { CompactSign } from 'jose';
import { Webhook } from 'standardwebhooks';
import type { SigningKey } from './signing-keys.js';

export interface SignatureInput {
  readonly id: string;
  /** Time of the attempt in seconds since the epoch. */
  readonly timestamp: number;
  /** The raw body: UTF-8. */
  readonly body: Buffer;
  readonly tenantAlias: string;
  readonly endpointUrl: string;
  /** Secrets of the endpoint (`whsec_…`), newest first. */
  readonly secrets: readonly string[];
  readonly key: SigningKey;
}

/**
 * The headers that prove the origin of a webhook: those of Standard Webhooks with a signature per
 * secret, and a detached JWS (RS256) over the base64url of the raw body. One key signs for all
 * tenants, so the protected header names tenant, time and endpoint.
 */
export async function signatureHeaders({
  id,
  timestamp,
  body,
  tenantAlias,
  endpointUrl,
  secrets,
  key: { kid, privateKey },
}: SignatureInput): Promise<Record<string, string>> {
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
