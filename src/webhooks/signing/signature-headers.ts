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
  /** Of the endpoint, as `whsec_…`; the newest one first. */
  readonly secrets: readonly string[];
  readonly key: SigningKey;
}

/**
 * The headers that prove where a webhook is from: those of Standard Webhooks, with one signature
 * for each secret, and a detached JWS (RS256) over the base64url of the raw body.
 */
export async function signatureHeaders({ key, ...of }: ToSign): Promise<Record<string, string>> {
  return headersWith(await detachedJws(of.body, key), of);
}

/** The same, with the JWS of the body. */
export function headersWith(
  jws: string,
  { id, timestamp, body, secrets }: Omit<ToSign, 'key'>,
): Record<string, string> {
  const at = new Date(timestamp * 1_000);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(' '),
    'X-Hook-JWS-RFC-7797': jws,
  };
}

/** It is the same for the same body and key, whatever endpoint and attempt it is for. */
export async function detachedJws(body: Buffer, { kid, privateKey }: SigningKey): Promise<string> {
  const jws = await new CompactSign(body)
    .setProtectedHeader({ alg: 'RS256', kid })
    .sign(privateKey);
  const [header = '', , signature = ''] = jws.split('.');
  return `${header}..${signature}`;
}
