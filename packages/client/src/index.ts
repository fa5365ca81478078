import { OPERATIONS } from './generated/operations.js';
import type { operations } from './generated/schema.js';
import { openTransport, type AnyInput, type ClientOptions } from './transport.js';

export { LedgerError } from './ledger-error.js';
export { paginate } from './paginate.js';
export type { ClientOptions } from './transport.js';
export {
  verifyWebhook,
  verifyWebhookJws,
  WebhookRefused,
  type RawBody,
  type WebhookEvent,
  type WebhookHeaders,
} from './webhooks.js';
export type { components } from './generated/schema.js';

type Id = keyof operations & keyof typeof OPERATIONS;
type Member<T, Name extends string> = T extends { [N in Name]?: infer Value } ? Value : never;
type Parameters<O extends Id> = operations[O]['parameters'];
/** The tenant of the client is added. */
type Path<O extends Id> = Omit<
  NonNullable<Member<Parameters<O>, 'path'>>,
  'tenantAlias' | 'tenant'
>;
type Query<O extends Id> = Member<Parameters<O>, 'query'>;
/** A file, as of an import, is a text or a Blob. */
type Body<O extends Id> =
  NonNullable<Member<operations[O], 'requestBody'>> extends { content: infer Content }
    ? Content extends { 'application/json': infer Json }
      ? Json
      : string | Blob
    : never;
type Answered<Response> = Response extends { content: infer Content }
  ? Content extends { 'application/json': infer Json }
    ? Json
    : [Content] extends [never]
      ? undefined
      : unknown
  : undefined;

/** A member with required members of its own is required. */
type Given<Name extends string, T> = [T] extends [never]
  ? unknown
  : {} extends T
    ? { readonly [N in Name]?: T }
    : { readonly [N in Name]: T };

/** What an operation takes. */
export type InputOf<O extends Id> = Given<'path', Path<O>> &
  ([NonNullable<Query<O>>] extends [never] ? unknown : Given<'query', NonNullable<Query<O>>>) &
  ([Body<O>] extends [never] ? unknown : { readonly body: Body<O> }) & {
    /** Makes a repetition safe. Default: a key of its own for each write. */
    readonly idempotencyKey?: string;
  };

/** The body of an operation's answer; undefined: it has none. */
export type AnswerOf<O extends Id> = Answered<
  operations[O]['responses'][keyof operations[O]['responses']]
>;

/** A function for each operation of the description, by its `operationId`. */
export type Client = {
  readonly [O in Id]: {} extends InputOf<O>
    ? (input?: InputOf<O>) => Promise<AnswerOf<O>>
    : (input: InputOf<O>) => Promise<AnswerOf<O>>;
};

/**
 * A client of one tenant. Give it an API key in a server, or the token of a user in a browser.
 * @throws {TypeError} with both, or with neither.
 */
export function createClient(options: ClientOptions): Client {
  const call = openTransport(options);
  return Object.fromEntries(
    Object.entries(OPERATIONS).map(([id, route]) => [id, (input?: AnyInput) => call(route, input)]),
  ) as unknown as Client;
}
