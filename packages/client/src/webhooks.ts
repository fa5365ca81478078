import { compactVerify, createRemoteJWKSet } from 'jose';
import { Webhook } from 'standardwebhooks';

/** What a webhook says. `data` depends on the type; ignore members that you do not know. */
export interface WebhookEvent {
  /** The same in each repetition of the webhook. */
  readonly id: string;
  readonly type: string;
  readonly tenantAlias: string;
  /** False: of the test mode. */
  readonly live: boolean;
  /** Epoch milliseconds. */
  readonly created: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Those of a request of Node, or of a `Request`. */
export type WebhookHeaders =
  | { readonly get: (name: string) => string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** The body as it arrived: JSON that was parsed and written again does not verify. */
export type RawBody = string | Uint8Array;

/** Why a request is no webhook of the service. Answer it with 400. */
export class WebhookRefused extends Error {
  override readonly name = 'WebhookRefused';
}

const SIGNED = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;
const AGE_SECONDS_MAX = 300;

/**
 * The event of a webhook that was signed with the endpoint's secret at most five minutes ago.
 * @param secret of the endpoint: `whsec_…`.
 * @throws {WebhookRefused}
 */
export function verifyWebhook(
  headers: WebhookHeaders,
  rawBody: RawBody,
  { secret }: { readonly secret: string },
): WebhookEvent {
  try {
    const signed = Object.fromEntries(SIGNED.map((name) => [name, header(headers, name)]));
    return new Webhook(secret).verify(textOf(rawBody), signed) as WebhookEvent;
  } catch (cause) {
    throw new WebhookRefused(cause instanceof Error ? cause.message : 'not verified', { cause });
  }
}

/**
 * The event of a webhook that the service signed with its published key, for this tenant and
 * endpoint, at most five minutes ago.
 * @param jwksUrl the service's `/.well-known/jwks.json`; its keys are kept for some minutes.
 * @param endpointUrl as it was subscribed.
 * @throws {WebhookRefused}
 */
export async function verifyWebhookJws(
  headers: WebhookHeaders,
  rawBody: RawBody,
  { jwksUrl, endpointUrl, tenant }: Readonly<Record<'jwksUrl' | 'endpointUrl' | 'tenant', string>>,
): Promise<WebhookEvent> {
  const text = textOf(rawBody);
  const [protectedPart, , signature] = header(headers, 'x-hook-jws-rfc-7797').split('.');
  try {
    const { protectedHeader } = await compactVerify(
      `${protectedPart}.${base64UrlOf(text)}.${signature}`,
      keysAt(jwksUrl),
      { algorithms: ['RS256'] },
    );
    const { tenantAlias, aud, iat } = protectedHeader as Readonly<Record<string, unknown>>;
    if (tenantAlias !== tenant || aud !== endpointUrl)
      throw new Error('the signature is for another tenant or endpoint');
    if (!(Math.abs(Date.now() / 1_000 - Number(iat)) <= AGE_SECONDS_MAX))
      throw new Error('the signature is too old');
    return JSON.parse(text) as WebhookEvent;
  } catch (cause) {
    throw new WebhookRefused(cause instanceof Error ? cause.message : 'not verified', { cause });
  }
}

const keySets = new Map<string, ReturnType<typeof createRemoteJWKSet>>();

/** A key that is not known is fetched immediately: the service has signed with it. */
function keysAt(url: string): ReturnType<typeof createRemoteJWKSet> {
  const known = keySets.get(url) ?? createRemoteJWKSet(new URL(url), { cooldownDuration: 0 });
  keySets.set(url, known);
  return known;
}

function header(headers: WebhookHeaders, name: string): string {
  if (typeof headers.get === 'function') return headers.get(name) ?? '';
  const all = headers as Readonly<Record<string, string | readonly string[] | undefined>>;
  const found = Object.keys(all).find((one) => one.toLowerCase() === name);
  return found === undefined ? '' : String(all[found] ?? '');
}

const textOf = (body: RawBody): string =>
  typeof body === 'string' ? body : new TextDecoder().decode(body);

function base64UrlOf(text: string): string {
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte));
  return btoa(bytes.join('')).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}
