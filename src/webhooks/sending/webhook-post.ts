import { setMaxListeners } from 'node:events';
import { Agent, type Dispatcher } from 'undici';
import { after, elapsed, timeNow } from '../../foundation/world.js';
import type { EndpointGuard } from './endpoint-guard.js';
import { postFailureOf, type PostFailure } from './post-failure.js';
import { retryAfterMs } from './retry-after.js';

export interface PostRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export type PostResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      /** Milliseconds from now; null: no valid `Retry-After`. */
      readonly retryAfterMs: number | null;
      /** The first bytes of the answer's body. */
      readonly beginning: Buffer;
      readonly ms: number;
    }
  | { readonly kind: 'failed'; readonly reason: PostFailure; readonly ms: number };

export interface PostLimits {
  /** Time limit for name, connection, TLS, request and answer together. */
  readonly withinMs: number;
  /** The connection is closed after this much of the answer's body. */
  readonly answerBytesMax: number;
  /** This much of it is returned. */
  readonly keptBytes: number;
  /** Trusted certificates in PEM. Default: those of Node. */
  readonly trusted?: string;
}

const LIMITS: PostLimits = {
  withinMs: 15_000,
  answerBytesMax: 64 * 1024,
  keptBytes: 2_048,
};

/** Idle connections are closed after this time, whatever the server allows. */
const IDLE_CONNECTION_MS = 4_000;

/** The received part of an answer. */
interface PartialAnswer {
  answer?: Dispatcher.ResponseData;
  bytes: number;
  readonly beginning: Buffer[];
}

/**
 * Posts to endpoints through the guard's connections, without redirects and proxies. Never rejects.
 */
export class WebhookPost {
  private readonly agent: Agent;
  private closing: Promise<void> | undefined;
  private readonly limits: PostLimits;

  constructor(guard: EndpointGuard, limits: Partial<PostLimits> = {}) {
    this.limits = { ...LIMITS, ...limits };
    this.agent = new Agent({
      connect: guard.connector(this.limits),
      keepAliveTimeout: IDLE_CONNECTION_MS,
      keepAliveMaxTimeout: IDLE_CONNECTION_MS,
      // `withinMs` limits all of it.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /**
   * A non-2xx answer counts by its status, even if it does not end. A 2xx answer counts when it
   * ends in time or exceeds `answerBytesMax`.
   */
  async post(request: PostRequest, signal?: AbortSignal): Promise<PostResult> {
    const began = elapsed();
    const ending = new AbortController();
    let reason: PostFailure | undefined;
    const end = (why: PostFailure) => (): void => {
      reason ??= why;
      ending.abort();
    };
    const cancel = after(this.limits.withinMs, end('timeout'));
    const stop = end('stopped');
    if (signal) {
      // One signal may end many attempts.
      setMaxListeners(0, signal);
      signal.addEventListener('abort', stop);
      if (signal.aborted) stop();
    }
    const arriving: PartialAnswer = { bytes: 0, beginning: [] };
    try {
      await this.exchange(request, ending.signal, arriving);
    } catch (error) {
      reason ??= postFailureOf(error);
    } finally {
      cancel();
      signal?.removeEventListener('abort', stop);
    }
    return resultOf(arriving, reason, elapsed() - began);
  }

  /** Waits for running attempts. */
  async close(): Promise<void> {
    await (this.closing ??= this.agent.close());
  }

  private async exchange(
    { url, headers, body }: PostRequest,
    signal: AbortSignal,
    arriving: PartialAnswer,
  ): Promise<void> {
    const { origin, pathname, search } = new URL(url);
    const path = pathname + search;
    const { answerBytesMax, keptBytes } = this.limits;
    const answer = await this.agent.request({
      origin,
      path,
      method: 'POST',
      headers,
      body,
      signal,
    });
    arriving.answer = answer;
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      const missing = keptBytes - arriving.bytes;
      // A copy: `subarray` would keep the whole chunk in memory.
      if (missing > 0) arriving.beginning.push(Buffer.from(chunk.subarray(0, missing)));
      arriving.bytes += chunk.length;
      // Leaving the loop closes the connection.
      if (arriving.bytes >= answerBytesMax) return;
    }
  }
}

function resultOf(
  { answer, beginning }: PartialAnswer,
  reason: PostFailure | undefined,
  ms: number,
): PostResult {
  const isSuccess = answer !== undefined && answer.statusCode >= 200 && answer.statusCode < 300;
  if (answer === undefined || (isSuccess && reason !== undefined))
    return { kind: 'failed', reason: reason ?? 'broken-off', ms };
  return {
    kind: 'answered',
    status: answer.statusCode,
    retryAfterMs: retryAfterMs(answer.headers['retry-after'], timeNow()),
    beginning: Buffer.concat(beginning),
    ms,
  };
}
