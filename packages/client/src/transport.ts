import createFetchClient from 'openapi-fetch';
import { LedgerError } from './ledger-error.js';

/** How a client reaches the service. */
export interface ClientOptions {
  /** `https://ledger.example`, without a path. */
  readonly baseUrl: string;
  /** The alias of the tenant. */
  readonly tenant: string;
  /** The API key of a mode, for servers; for operations the key of an operator. */
  readonly apiKey?: string;
  /** The token of one user, for browsers. */
  readonly userToken?: string;
  /** How long one attempt may take, in milliseconds. Default: 30 000. */
  readonly timeoutMs?: number;
  /** Default: that of the platform. */
  readonly fetch?: (request: Request) => Promise<Response>;
}

/** The input of any operation. */
export interface AnyInput {
  readonly path?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
}

const ATTEMPTS_MAX = 4;
const WAIT_MS_MAX = 60_000;
const TIMEOUT_MS = 30_000;

/**
 * Sends the operations of a tenant. A 429, a 503, a request whose first attempt still runs, and a
 * lost connection are tried again, up to three times: an idempotency key makes a write safe to
 * repeat.
 */
export function openTransport(options: ClientOptions) {
  const { baseUrl, tenant, apiKey, userToken, timeoutMs = TIMEOUT_MS } = options;
  if ((apiKey === undefined) === (userToken === undefined))
    throw new TypeError('createClient takes an apiKey or a userToken');
  const authorization =
    userToken === undefined ? `Basic ${btoa(`:${apiKey}`)}` : `Bearer ${userToken}`;
  const send = options.fetch ?? ((request: Request) => fetch(request));
  const client = createFetchClient<Record<string, never>>({
    baseUrl: baseUrl.replace(/\/+$/, ''),
    headers: { authorization },
    fetch: (request) => send(new Request(request, { signal: AbortSignal.timeout(timeoutMs) })),
  });
  const once = client.request as unknown as (
    method: string,
    path: string,
    init: object,
  ) => Promise<{ readonly error?: unknown; readonly response: Response }>;

  /** @param route method and path: `GET /api/v1/{tenantAlias}/users`. @throws {LedgerError} */
  return async function call(route: string, input: AnyInput = {}): Promise<unknown> {
    const [method = 'GET', path = '/'] = route.split(' ', 2);
    const isRead = method === 'GET';
    const { idempotencyKey = isRead ? undefined : crypto.randomUUID() } = input;
    const init = {
      params: { path: { tenantAlias: tenant, tenant, ...input.path }, query: input.query },
      ...(input.body !== undefined && { body: input.body }),
      ...(isFile(input.body) && { bodySerializer: (file: BodyInit) => file }),
      headers: {
        ...(isFile(input.body) && { 'Content-Type': typeOf(input.body) }),
        ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
      },
      parseAs: 'stream',
    };
    for (let attempt = 1; ; attempt++) {
      let answer;
      try {
        answer = await once(method.toLowerCase(), path, init);
      } catch (cause) {
        if (attempt === ATTEMPTS_MAX)
          throw new LedgerError(0, { message: 'the service did not answer' }, { cause });
        await pause(backOffMs(attempt));
        continue;
      }
      const { response, error } = answer;
      if (response.ok) return bodyOf(response);
      const requestId = response.headers.get('request-id');
      const refusal = new LedgerError(response.status, error, { requestId });
      const waitMs = retryAfterMs(refusal, response.headers.get('retry-after'), attempt);
      if (waitMs === undefined || attempt === ATTEMPTS_MAX) throw refusal;
      await pause(waitMs);
    }
  };
}

/** The file of an import: a text or a Blob, sent as it is. */
const isFile = (body: unknown): body is string | Blob =>
  typeof body === 'string' || body instanceof Blob;

/** JSON lines begin with an object, CSV with its header. */
const typeOf = (file: string | Blob): string =>
  typeof file === 'string'
    ? file.startsWith('{')
      ? 'application/x-ndjson'
      : 'text/csv'
    : file.type || 'text/csv';

/** Undefined: it is not tried again, or not within a minute. */
function retryAfterMs(
  { status, apiErrorCode }: LedgerError,
  retryAfter: string | null,
  attempt: number,
): number | undefined {
  const isTemporary = status === 429 || status === 503 || apiErrorCode === 'REQUEST_IN_PROGRESS';
  const ms = retryAfter === null ? backOffMs(attempt) : Number(retryAfter) * 1_000;
  return isTemporary && ms <= WAIT_MS_MAX ? ms : undefined;
}

const backOffMs = (attempt: number): number => 250 * 2 ** attempt * (0.5 + Math.random() / 2);

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** JSON as a value, text as a string, a file as bytes; undefined: there is no body. */
async function bodyOf(response: Response): Promise<unknown> {
  if (response.status === 204 || response.headers.get('content-length') === '0') return undefined;
  const type = response.headers.get('content-type') ?? '';
  if (/\bjson\b/.test(type)) return response.json();
  return type.startsWith('text/') ? response.text() : response.arrayBuffer();
}
