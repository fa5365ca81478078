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

/** What came of a POST. */
export type Posted =
  | {
      readonly kind: 'answered';
      readonly status: number;
      /** From now on; null: no valid `Retry-After`. */
      readonly retryAfterMs: number | null;
      /** The first bytes of the answer's body. */
      readonly beginning: Buffer;
      readonly ms: number;
    }
  | { readonly kind: 'failed'; readonly reason: PostFailure; readonly ms: number };

export interface PostLimits {
  /** For name, connection, TLS, request and answer together. */
  readonly withinMs: number;
  /** So much of an answer's body is read; the rest is cut off. */
  readonly answerBytesMax: number;
  /** So much of it is returned. */
  readonly keptBytes: number;
  /** Certificates in PEM, instead of those that Node trusts. */
  readonly trusted?: string;
}

const LIMITS: PostLimits = {
  withinMs: 15_000,
  answerBytesMax: 64 * 1024,
  keptBytes: 2_048,
};

/** An idle connection is closed after this time, also when its server would keep it for longer. */
const IDLE_CONNECTION_MS = 4_000;

/** An answer as far as it has arrived. */
interface Arriving {
  answer?: Dispatcher.ResponseData;
  bytes: number;
  readonly beginning: Buffer[];
}

/**
 * Sends a POST to an endpoint, through the connections of the guard. No redirect is followed, and
 * no proxy of the environment is used. Never rejects.
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
      // One limit holds for everything.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /**
   * An answer that is not 2xx counts by its status, whether or not it ends. One that is 2xx counts
   * when it ends in time or exceeds what is read of it.
   */
  async post(request: PostRequest, signal?: AbortSignal): Promise<Posted> {
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
      // One signal may end any number of attempts.
      setMaxListeners(0, signal);
      signal.addEventListener('abort', stop);
      if (signal.aborted) stop();
    }
    const arriving: Arriving = { bytes: 0, beginning: [] };
    try {
      await this.exchange(request, ending.signal, arriving);
    } catch (error) {
      reason ??= postFailureOf(error);
    } finally {
      cancel();
      signal?.removeEventListener('abort', stop);
    }
    return postedOf(arriving, reason, elapsed() - began);
  }

  /** Waits for what is under way. */
  async close(): Promise<void> {
    await (this.closing ??= this.agent.close());
  }

  private async exchange(
    { url, headers, body }: PostRequest,
    signal: AbortSignal,
    arriving: Arriving,
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
      // A copy: a piece of a chunk would keep all of it in memory.
      if (missing > 0) arriving.beginning.push(Buffer.from(chunk.subarray(0, missing)));
      arriving.bytes += chunk.length;
      // To leave the loop closes the connection.
      if (arriving.bytes >= answerBytesMax) return;
    }
  }
}

function postedOf(
  { answer, beginning }: Arriving,
  reason: PostFailure | undefined,
  ms: number,
): Posted {
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
