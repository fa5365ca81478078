import {
  newEndpointSecret,
  signedWebhook,
  webhookBody,
  type WebhookEnvelope,
} from '../signing/signed-webhook.js';
import type { SigningKeys } from '../signing/signing-keys.js';
import { EndpointGuard } from './endpoint-guard.js';
import { hostOf, parseEndpoint } from './endpoint-url.js';
import { WebhookPost, type PostResult } from './webhook-post.js';

const LOOPBACK = [
  { address: '127.0.0.0', prefix: 8, family: 'ipv4' },
  { address: '::1', prefix: 128, family: 'ipv6' },
] as const;

/** Why the text is not a URL on this machine; undefined: it is one. */
export function loopbackProblem(text: string): string | undefined {
  const parsed = parseEndpoint(text);
  if ('problem' in parsed) return parsed.problem;
  const host = hostOf(parsed.url);
  return /^(localhost|127(\.\d{1,3}){3}|::1)$/.test(host)
    ? undefined
    : 'must lead to this machine: localhost, 127.0.0.1 or [::1]';
}

/** Posts webhooks to a receiver on this machine, signed with a new secret. */
export class WebhookForwarder {
  readonly secret = newEndpointSecret();
  private readonly post = new WebhookPost(new EndpointGuard({ allowed: LOOPBACK }));

  /** @param url one without a `loopbackProblem`. */
  constructor(
    private readonly url: string,
    private readonly keys: Pick<SigningKeys, 'current'>,
  ) {}

  /** One attempt. @throws while the signing key cannot be read. */
  async forward(
    envelope: WebhookEnvelope,
    signal: AbortSignal,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<PostResult> {
    const to = { endpointUrl: this.url, secrets: [this.secret] };
    const signed = await signedWebhook(webhookBody(envelope), to, await this.keys.current());
    const request = { url: this.url, headers: { ...signed.headers, ...headers } };
    return this.post.post({ ...request, body: signed.body }, signal);
  }

  async close(): Promise<void> {
    await this.post.close();
  }
}
