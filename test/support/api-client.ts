import type { ReceivedAnswer } from '../harness/openapi-validator.js';

export type Json = Readonly<Record<string, unknown>>;

/** An answer with its parsed body; `body` is undefined for an empty one. */
export interface Answer<T = Json> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

export interface CallOptions {
  readonly key?: string;
  readonly atLeast?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it is, instead of a body that is made from a value. */
  readonly raw?: string | Buffer<ArrayBuffer>;
}

/**
 * Calls the routes of one tenant, or those of operators, with one set of credentials. Paths are
 * relative to theirs and percent-encoded by the caller.
 */
export class ApiClient {
  constructor(
    readonly origin: string,
    /** Empty: the routes are those of operators. */
    readonly tenant: string,
    /** `user:password` of HTTP Basic, or the token of a user; undefined: no credentials. */
    readonly credentials: string | { readonly token: string } | undefined,
    /** Is shown every answer, and may throw. */
    private readonly observe: (answer: ReceivedAnswer) => void = () => undefined,
  ) {}

  as(credentials: string | { readonly token: string } | undefined): ApiClient {
    return new ApiClient(this.origin, this.tenant, credentials, this.observe);
  }

  put<T = Json>(path: string, body?: unknown, options?: CallOptions): Promise<Answer<T>> {
    return this.call<T>('PUT', path, body, options);
  }

  get<T = Json>(path: string, options?: CallOptions): Promise<Answer<T>> {
    return this.call<T>('GET', path, undefined, options);
  }

  post<T = Json>(path: string, body?: unknown, options?: CallOptions): Promise<Answer<T>> {
    return this.call<T>('POST', path, body, options);
  }

  /** T is what the test expects; `observe` compares answers with the description. */
  async call<T = Json>(
    method: string,
    path: string,
    body?: unknown,
    options: CallOptions = {},
  ): Promise<Answer<T>> {
    const { tenant } = this;
    const pathname = `${tenant === '' ? '/operations' : `/api/v1/${tenant}`}${path}`;
    const payload = options.raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const response = await fetch(`${this.origin}${pathname}`, {
      method,
      redirect: 'manual',
      headers: {
        ...credentialFields(this.credentials),
        ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
        ...(options.key === undefined ? {} : { 'idempotency-key': options.key }),
        ...(options.atLeast === undefined ? {} : { 'ledger-position-at-least': options.atLeast }),
        ...options.headers,
      },
      ...(payload === undefined ? {} : { body: payload }),
    });
    const text = await response.text();
    const parsed: unknown = text === '' ? undefined : JSON.parse(text);
    this.observe({ method, path: pathname, status: response.status, body: parsed });
    return { status: response.status, headers: response.headers, body: parsed as T };
  }
}

function credentialFields(credentials: ApiClient['credentials']): Readonly<Record<string, string>> {
  if (credentials === undefined) return {};
  return typeof credentials === 'string'
    ? { authorization: basic(credentials) }
    : { 'x-saasquatch-user-token': credentials.token };
}

export const basic = (credentials: string): string =>
  `Basic ${Buffer.from(credentials).toString('base64')}`;

export const path = (...segments: readonly string[]): string =>
  segments.map((segment) => `/${encodeURIComponent(segment)}`).join('');

/** A query string of what is given; undefined members are left out. */
export function query(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(parameters).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}
