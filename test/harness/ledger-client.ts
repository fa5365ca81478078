import { Agent, request, type IncomingHttpHeaders } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Parsed; undefined when there is none or it is no JSON. */
  readonly body: unknown;
  /** From the call to the last byte. */
  readonly ms: number;
}

/** The connection broke before the answer arrived: whether the request had an effect is unknown. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

export interface LedgerClientOptions {
  readonly url: string;
  readonly apiKey: string;
  /** Default `demo`. */
  readonly tenant?: string;
  /** Connections that are kept open, at most; more requests wait. Default 64. */
  readonly connectionsMax?: number;
  /** A request without an answer for so long is given up as `NoAnswer`. Default 30 s. */
  readonly timeoutMs?: number;
}

/** A client of the interface over kept connections. It returns every answer unjudged. */
export class LedgerClient {
  private readonly agent: Agent;
  private readonly credentials: string;
  private readonly prefix: string;
  private readonly timeoutMs: number;

  constructor({
    url,
    apiKey,
    tenant = 'demo',
    connectionsMax = 64,
    timeoutMs = 30_000,
  }: LedgerClientOptions) {
    this.agent = new Agent({ keepAlive: true, maxSockets: connectionsMax });
    this.credentials = `Basic ${Buffer.from(`:${apiKey}`).toString('base64')}`;
    this.prefix = `${url}/api/v1/${tenant}/`;
    this.timeoutMs = timeoutMs;
  }

  /** @param path below the tenant, without a leading slash. @throws {NoAnswer} */
  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send('GET', path, undefined, headers);
  }

  post(
    path: string,
    body: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    return this.send('POST', path, JSON.stringify(body), headers);
  }

  /** @param path below the tenant, without a leading slash. @throws {NoAnswer} */
  delete(path: string): Promise<Answer> {
    return this.send('DELETE', path, undefined, {});
  }

  /** Closes the connections; what is under way ends in `NoAnswer`. */
  close(): void {
    this.agent.destroy();
  }

  private send(
    method: string,
    path: string,
    body: string | undefined,
    headers: Readonly<Record<string, string>>,
  ): Promise<Answer> {
    const startedAt = performance.now();
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void =>
        reject(new NoAnswer(`${method} was not answered: ${error.message}`));
      const sent = request(
        this.prefix + path,
        {
          method,
          agent: this.agent,
          timeout: this.timeoutMs,
          headers: {
            authorization: this.credentials,
            ...(body === undefined
              ? {}
              : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
            ...headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', fail);
          // Without this a server that dies in the middle of an answer leaves the promise open.
          response.on('close', () => {
            if (!response.complete) return fail(new Error('the answer broke off'));
            const text = Buffer.concat(chunks).toString();
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: parsed(text),
              ms: performance.now() - startedAt,
            });
          });
        },
      );
      sent.on('timeout', () => sent.destroy(new Error(`nothing within ${this.timeoutMs} ms`)));
      sent.on('error', fail);
      sent.end(body);
    });
  }
}

/** The position that an answer names; undefined without one. */
export function positionOf({ headers }: Answer): string | undefined {
  const position = headers['ledger-position'];
  return typeof position === 'string' ? position : undefined;
}

function parsed(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
