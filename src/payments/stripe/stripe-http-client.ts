import Stripe from 'stripe';
import { Agent, type Dispatcher } from 'undici';
import { after } from '../../foundation/world.js';
import type { EndpointGuard } from '../../webhooks/sending/endpoint-guard.js';

const ANSWER_BYTES_MAX = 8 * 1024 * 1024;
const IDLE_CONNECTION_MS = 4_000;

export interface CallLimits {
  /** Time limit for name, connection, TLS, request and answer together. */
  readonly withinMs: number;
  /** Trusted certificates in PEM. Default: those of Node. */
  readonly trusted?: string | undefined;
}

type Client = Stripe.HttpClient;

/** Sends the official package's calls over the address guard's connections, without redirects. */
export class GuardedHttpClient implements Client {
  private readonly agent: Agent;

  constructor(guard: EndpointGuard, { withinMs, trusted }: CallLimits) {
    this.agent = new Agent({
      connect: guard.connector(trusted === undefined ? { withinMs } : { withinMs, trusted }),
      maxResponseSize: ANSWER_BYTES_MAX,
      keepAliveTimeout: IDLE_CONNECTION_MS,
      keepAliveMaxTimeout: IDLE_CONNECTION_MS,
      // `withinMs` limits all of it.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  getClientName(): string {
    return 'undici';
  }

  async makeRequest(
    ...[host, port, path, method, headers, body, protocol, timeout]: Parameters<
      Client['makeRequest']
    >
  ): Promise<Stripe.HttpClientResponse> {
    const ending = new AbortController();
    const cancel = after(timeout, () => ending.abort());
    try {
      const answer = await this.agent.request({
        origin: `${protocol}://${host}:${port}`,
        path,
        method,
        headers: sentHeaders(headers, method, path),
        body: method === 'GET' ? null : body,
        signal: ending.signal,
      });
      return answered(answer, await answer.body.text());
    } catch (error) {
      throw ending.signal.aborted ? Stripe.HttpClient.makeTimeoutError() : error;
    } finally {
      cancel();
    }
  }

  /** Waits for running calls. */
  async close(): Promise<void> {
    await this.agent.close();
  }
}

function answered(
  { statusCode, headers }: Dispatcher.ResponseData,
  text: string,
): Stripe.HttpClientResponse {
  const flat = Object.entries(headers).map(
    ([name, value]) => [name, [value ?? ''].flat().join(', ')] as const,
  );
  // The package adds members to it.
  const raw = { statusCode };
  return {
    getStatusCode: () => statusCode,
    getHeaders: () => Object.fromEntries(flat),
    getRawResponse: () => raw,
    toStream: () => text,
    // The package turns a thrown error into a rejection.
    toJSON: () => Promise.resolve(text).then(objectIn),
  };
}

/** For a non-object the package would never settle the call, with an unhandled rejection. */
function objectIn(json: string): object {
  const value: unknown = JSON.parse(json);
  if (typeof value === 'object' && value !== null) return value;
  throw new SyntaxError('the answer is no object');
}

/**
 * Removes the package's idempotency key from coupons: a coupon has our own id, and the key would
 * repeat a failure for a day.
 */
function sentHeaders(headers: object, method: string, path: string): Record<string, string> {
  const left = new Set(['content-length', 'host']);
  if (method === 'POST' && path === '/v1/coupons') left.add('idempotency-key');
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      left.has(name.toLowerCase()) ? [] : [[name, String(value)]],
    ),
  );
}
