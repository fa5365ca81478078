import { createHmac } from 'node:crypto';
import { providerSecretOf, type Ledger, type LedgerValues, type Person } from './ledger-values.js';
import type { CredentialKind, Credentials, RequestPlan } from './request-plans.js';
import {
  textOf,
  type Access,
  type DescribedOperations,
  type Draft,
} from './described-operations.js';
import { filled, RawText, type Slot, type SlotKind } from './slots.js';

export interface FuzzWorld {
  readonly origin: string;
  /** Of two tenants at least. */
  readonly ledgers: readonly Ledger[];
  /** Of every role. */
  readonly operators: readonly { readonly name: string; readonly key: string }[];
}

/** A request as it is sent. */
export interface FuzzRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  /** Whose data an answer may show. */
  readonly shows: readonly Ledger[];
  /** Every text in it. */
  readonly texts: ReadonlySet<string>;
  /** Why the description forbids it; empty: allowed; undefined: the description does not say. */
  readonly faults?: readonly string[] | undefined;
}

/** What may be another ledger's in a write as well: it is looked up, and never recorded. */
const LOOKED_UP: ReadonlySet<SlotKind> = new Set([
  'reward',
  'credit',
  'referral',
  'code',
  'position',
  'key',
  'export',
  'delivery',
  'proposal',
]);

/** Fills plans with values, as late as possible. */
export class RequestWriter {
  constructor(
    private readonly world: FuzzWorld,
    private readonly values: readonly LedgerValues[],
    private readonly described: DescribedOperations,
  ) {}

  /** The ledger that the plan is about. */
  valuesFor({ draw }: RequestPlan): LedgerValues {
    return this.at(draw);
  }

  write(plan: RequestPlan): FuzzRequest {
    const { operation, draw, isForeign, mangling } = plan;
    const own = this.valuesFor(plan);
    const other = this.at(draw + 1 + ((draw >>> 4) % (this.values.length - 1)));
    const isRead = operation.method === 'GET';
    const subject = (isForeign && isRead ? other : own).person(
      draw >>> 2,
      operation.method === 'DELETE',
    );
    const sourceOf = (kind: SlotKind): LedgerValues =>
      isForeign && kind !== 'tenant' && (isRead || LOOKED_UP.has(kind)) ? other : own;
    const fill = (slot: Slot): unknown => sourceOf(slot.kind).valueOf(slot, subject);
    const draft = filled(plan.draft, fill) as Draft;
    const json = draft.body === undefined ? undefined : JSON.stringify(draft.body);
    const body = mangling
      ? mangling.mangle(json ?? '{}', mangling.draw)
      : json === undefined
        ? undefined
        : Buffer.from(json);
    const given = headersOf(draft.headers);
    const { accountId, userId } = subject;
    const named = plan.credentials.kind.endsWith('token') ? [accountId, userId] : [];
    return {
      method: plan.method ?? operation.method,
      target: targetOf(plan, draft),
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...signatureFor(plan, body, own.ledger),
        ...given,
        ...this.credentialsOf(plan.credentials, { own: own.ledger, subject, body: draft.body }),
        ...(body === undefined ? {} : { 'content-length': String(body.length) }),
      },
      ...(body === undefined ? {} : { body }),
      shows: this.shownTo(plan, draft, own.ledger),
      texts: new Set(textsIn([draft, plan.rawQuery ?? '', ...named])),
      faults: isDescribed(plan, draft) ? this.described.faults(operation, draft) : undefined,
    };
  }

  private at(draw: number): LedgerValues {
    const found = this.values[draw % this.values.length];
    if (found === undefined) throw new Error('there is no ledger to send requests to');
    return found;
  }

  private shownTo(
    { operation, credentials }: RequestPlan,
    { path }: Draft,
    own: Ledger,
  ): readonly Ledger[] {
    const { ledgers } = this.world;
    const alias = path['tenantAlias'] ?? path['tenant'];
    if (alias === undefined) return operation.access === 'operator' ? ledgers : [];
    const ofTenant = ledgers.filter(({ tenant }) => tenant === alias);
    const isOfMode = ['key', 'read-token', 'write-token'].includes(credentials.kind);
    return operation.access !== 'operator' && isOfMode
      ? ofTenant.filter((ledger) => ledger === own)
      : ofTenant;
  }

  private credentialsOf(
    { kind, draw, claims }: Credentials,
    to: {
      readonly own: Ledger;
      readonly subject: Person;
      readonly body: unknown;
    },
  ): Readonly<Record<string, string>> {
    const { own, subject, body } = to;
    const { apiKey, signingSecret, tenant } = own;
    // The tenant's other mode would accept what is meant for this one.
    const stranger = this.world.ledgers.find((ledger) => ledger.tenant !== tenant) ?? own;
    const { accountId, userId: id } = subject;
    const user = { accountId, id };
    const withToken = (payload: unknown, secret = signingSecret): Record<string, string> => {
      const token = tokenOf(payload, secret);
      return draw % 2 === 0
        ? { 'x-saasquatch-user-token': token }
        : { authorization: `Bearer ${token}` };
    };
    switch (kind) {
      case 'none':
        return {};
      case 'key':
        return basic(draw % 4 === 0 ? `${apiKey}:` : `:${apiKey}`);
      case 'foreign-key':
        return basic(`:${stranger.apiKey}`);
      case 'operator':
        return basic(`:${this.world.operators[draw % this.world.operators.length]?.key ?? ''}`);
      case 'read-token':
        return withToken(draw % 3 === 0 ? { sub: `${accountId}:${id}@${tenant}:users` } : { user });
      case 'write-token':
        return withToken({ user: { ...(isObject(body) ? body : {}), ...user } });
      case 'visitor-token':
        return withToken({ authentication: 'unauthenticated', user: isObject(body) ? body : {} });
      case 'odd-token':
        return withToken(draw % 3 === 0 ? claims : { user: { ...user, odd: claims }, exp: claims });
      case 'foreign-token':
        return withToken({ user }, stranger.signingSecret);
      case 'garbage':
        return { authorization: GARBAGE[draw % GARBAGE.length] ?? '' };
    }
  }
}

/** The key that every request of the operation may carry. */
const GOOD_CREDENTIALS: Readonly<Record<Access, CredentialKind>> = {
  anyone: 'none',
  key: 'key',
  user: 'key',
  operator: 'operator',
};

/** Not about credentials, framing, and the rules that hold for all bodies. */
/** As Node sends the value and the service reads it. */
const isSentAsItIs = (value: unknown): boolean =>
  /^(?:[!-~](?:[ -~]*[!-~])?)?$/.test(textOf(value));

function isDescribed({ operation, credentials, ...plan }: RequestPlan, draft: Draft): boolean {
  const { method, rawQuery, mangling } = plan;
  const isRaw = (method ?? operation.method) !== operation.method || rawQuery !== undefined;
  const segments = Object.values(draft.path);
  return (
    credentials.kind === GOOD_CREDENTIALS[operation.access] &&
    !isRaw &&
    mangling === undefined &&
    (operation.body !== undefined || draft.body === undefined) &&
    !segments.some((segment) => segment instanceof RawText || segment === '') &&
    !Object.values(draft.query).some(Array.isArray) &&
    Object.entries(draft.headers).every(
      ([name, value]) =>
        operation.parameters.some((one) => one.name === name) && isSentAsItIs(value),
    ) &&
    isStorable(draft)
  );
}

/** No body, known to the description or not, holds NUL, half a pair, or names of prototypes. */
export function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return !/\u0000|\p{Surrogate}/u.test(value);
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(
    ([name, member]) =>
      name !== '__proto__' &&
      !(name === 'constructor' && textsIn(member).includes('prototype')) &&
      isStorable(name) &&
      isStorable(member),
  );
}

interface PlainRequest {
  readonly method: string;
  readonly target: string;
  readonly body: object | undefined;
  readonly credentials: string;
  readonly shows: readonly Ledger[];
}

function plainRequest({ method, target, body, credentials, shows }: PlainRequest): FuzzRequest {
  const bytes = body && Buffer.from(JSON.stringify(body));
  return {
    method,
    target,
    headers: {
      ...basic(`:${credentials}`),
      ...(bytes && {
        'content-type': 'application/json',
        'content-length': String(bytes.length),
      }),
    },
    ...(bytes && { body: bytes }),
    shows,
    texts: new Set(textsIn([target, body])),
  };
}

/** A request with the key of the ledger. @param path below the tenant's. */
export const tenantRequest = (
  ledger: Ledger,
  method: string,
  path: string,
  body?: object,
): FuzzRequest =>
  plainRequest({
    method,
    target: `/api/v1/${ledger.tenant}${path}`,
    body,
    credentials: ledger.apiKey,
    shows: [ledger],
  });

/** A request with the key of an operator. */
export const operatorRequest = (
  { operators, ledgers }: FuzzWorld,
  method: string,
  target: string,
  body?: object,
): FuzzRequest =>
  plainRequest({ method, target, body, credentials: operators[0]?.key ?? '', shows: ledgers });

/** Of the payment provider; its time is the present. */
function signatureFor(
  { operation, draw }: RequestPlan,
  body: Buffer | undefined,
  ledger: Ledger,
): Readonly<Record<string, string>> {
  const isSigned = operation.template.startsWith('/integrations/') && draw % 9 > 0;
  if (!isSigned || body === undefined) return {};
  const at = Math.floor(Date.now() / 1000);
  const signed = createHmac('sha256', providerSecretOf(ledger)).update(`${at}.`).update(body);
  return { 'stripe-signature': `t=${at},v1=${signed.digest('hex')}` };
}

const GARBAGE = ['Basic', 'Basic !!!', 'Bearer a.b.c', 'Digest x', 'Basic Og==', 'é', ''];

const basic = (credentials: string): Readonly<Record<string, string>> => ({
  authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
});

/** A JSON Web Token of any claims; a library would refuse to sign odd ones. */
function tokenOf(claims: unknown, secret: string): string {
  const part = (value: unknown): string =>
    Buffer.from(JSON.stringify(value) ?? '').toString('base64url');
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function targetOf({ operation, rawQuery = '' }: RequestPlan, { path, query }: Draft): string {
  const pathname = operation.template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = path[name];
    return value instanceof RawText ? value.text : percentEncoded(textOf(value));
  });
  const parameters = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one) => `${percentEncoded(name)}=${percentEncoded(textOf(one))}`),
  );
  const search = parameters.join('&') + rawQuery;
  return search === '' ? pathname : `${pathname}?${search}`;
}

function headersOf(given: Draft['headers']): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [
      name.toLowerCase(),
      // Node refuses to send anything else.
      textOf(value).replace(/[^\t\x20-\x7e\x80-\xff]/g, '?'),
    ]),
  );
}

/** Half a surrogate pair becomes a replacement character, as in every client. */
const percentEncoded = (text: string): string =>
  [...Buffer.from(text)]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[\w.~-]/.test(character)
        ? character
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');

/** Every text of a value, names of members included. */
export function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (value instanceof RawText) return [value.text];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [name, ...textsIn(member)]);
}

/** The command that sends it again, for a shell. */
export function asCurl({ method, target, headers, body }: FuzzRequest, origin: string): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const { 'content-length': _, ...fields } = headers;
  const curl = [
    'curl -sS -i -g --path-as-is',
    `-X ${method}`,
    ...Object.entries(fields).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : ['--data-binary @-']),
    quoted(origin + target),
  ].join(' ');
  return body === undefined ? curl : `base64 -d <<< ${quoted(body.toString('base64'))} | ${curl}`;
}
