import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { selfSignedCertificate, type SelfSigned } from './self-signed.js';

/** A double of the provider's HTTP interface: what the service calls of it, over HTTP or TLS. */

type Fields = Readonly<Record<string, unknown>>;

/** What happens to one call. Default: it is answered. */
export type Fault =
  /** Without an effect. */
  | { readonly kind: 'answer'; readonly status: number; readonly isStored?: boolean }
  | { readonly kind: 'hang' }
  /** `text` is what comes instead of an answer. Default: the beginning of a page. */
  | { readonly kind: 'rubbish'; readonly text?: string }
  | { readonly kind: 'break-off' }
  /** It takes effect, and the connection breaks before the answer. */
  | { readonly kind: 'lose-answer' };

export interface DoubleCall {
  readonly method: string;
  readonly path: string;
  readonly key: string | null;
  readonly version: string | null;
  readonly body: Fields;
}

export interface BalanceTransaction {
  readonly id: string;
  readonly customer: string;
  readonly amount: number;
  readonly currency: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Epoch seconds. */
  readonly created?: number;
}

interface Kept {
  readonly digest: string;
  readonly status: number;
  readonly json: unknown;
  readonly atMs: number;
}

const KEYS_KEPT_MS = 24 * 3_600_000;

export class StripeDouble {
  readonly calls: DoubleCall[] = [];
  readonly customers = new Map<string, { id: string; deleted?: true }>();
  readonly balanceTransactions: BalanceTransaction[] = [];
  readonly coupons = new Map<string, Fields & { readonly id: string }>();
  readonly subscriptions = new Map<string, Subscription>();
  readonly invoices: (Fields & { readonly id: string })[] = [];
  /** As the provider lists them, also those that it could not deliver. */
  readonly events: (Fields & { readonly id: string })[] = [];
  readonly invoicePayments: (Fields & { readonly id: string })[] = [];
  readonly charges = new Map<string, Fields & { readonly id: string }>();
  readonly prices = new Map<string, Fields & { readonly id: string }>();
  /** Faults of calls that the filter takes, one each. */
  readonly faults: { readonly takes: (call: DoubleCall) => boolean; readonly fault: Fault }[] = [];
  private readonly kept = new Map<string, Kept>();
  private made = 0;

  private constructor(
    private readonly server: Server,
    readonly url: string,
    private readonly tls: SelfSigned | undefined,
    private readonly secretKey: string,
  ) {}

  /** @param secretKey the only key that is accepted. @param port 0: a free one. */
  static async start({
    secretKey = 'sk_live_double0001',
    tls = false,
    port: wanted = 0,
  } = {}): Promise<StripeDouble> {
    const certificate = tls ? await selfSignedCertificate() : undefined;
    const server = certificate
      ? createTlsServer({ cert: certificate.cert, key: certificate.key })
      : createServer();
    await new Promise<void>((resolve) => server.listen(wanted, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const url = `${tls ? 'https' : 'http'}://127.0.0.1:${port}`;
    const double = new StripeDouble(server, url, certificate, secretKey);
    server.on('request', (request, response) => void double.serve(request, response));
    return double;
  }

  get certificate(): string | undefined {
    return this.tls?.cert;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
    await this.tls?.remove();
  }

  fail(fault: Fault, takes: (call: DoubleCall) => boolean = () => true): void {
    this.faults.push({ takes, fault });
  }

  customer(id: string): void {
    this.customers.set(id, { id });
  }

  subscription(id: string, customer: string, status = 'active'): void {
    this.subscriptions.set(id, { id, customer, status, discounts: [], metadata: {} });
  }

  callsTo(method: string, path: RegExp): readonly DoubleCall[] {
    return this.calls.filter((call) => call.method === method && path.test(call.path));
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = await callOf(request);
    this.calls.push(call);
    const index = this.faults.findIndex(({ takes }) => takes(call));
    const [planned] = index < 0 ? [] : this.faults.splice(index, 1);
    const fault = planned?.fault;
    if (fault?.kind === 'hang') return;
    if (fault?.kind === 'break-off') return void request.socket.destroy();
    if (fault?.kind === 'rubbish') return void response.writeHead(200).end(fault.text ?? '<html>');
    const isKnown = request.headers.authorization === `Bearer ${this.secretKey}`;
    const answer = isKnown ? this.keptOr(call, fault) : failure(401, 'api_key_invalid');
    if (fault?.kind === 'lose-answer') return void request.socket.destroy();
    response.writeHead(answer.status, {
      'content-type': 'application/json',
      ...(answer.isReplay ? { 'idempotent-replayed': 'true' } : {}),
    });
    response.end(JSON.stringify(answer.json));
  }

  /** Of a repeated key: the first answer, also a failure that was kept. */
  private keptOr(call: DoubleCall, fault: Fault | undefined): DoubleAnswer {
    const now = Date.now();
    const known = call.key === null ? undefined : this.kept.get(call.key);
    const digest = digestOf(call);
    if (known !== undefined && now - known.atMs < KEYS_KEPT_MS)
      return known.digest === digest
        ? { status: known.status, json: known.json, isReplay: true }
        : failure(400, 'idempotency_key_in_use');
    const planned = fault?.kind === 'answer' ? fault : undefined;
    const answer = planned ? failure(planned.status, 'planned') : this.answer(call);
    const isKept = planned ? planned.isStored === true : answer.status !== 429;
    if (call.key !== null && isKept)
      this.kept.set(call.key, { digest, status: answer.status, json: answer.json, atMs: now });
    return answer;
  }

  private answer({ method, path, body }: DoubleCall): DoubleAnswer {
    const [, version, collection = '', id, child] = path.split('/');
    if (version !== 'v1') return failure(404, 'resource_missing');
    if (collection === 'balance') return ok({ object: 'balance', livemode: false });
    if (collection === 'customers' && id !== undefined && child === 'balance_transactions')
      return this.balance(method, id, body);
    if (collection === 'coupons') return this.coupon(method, id, body);
    if (collection === 'subscriptions') return this.subscribed(method, id, body);
    if (collection === 'charges' || collection === 'prices') {
      const known = this[collection].get(id ?? '');
      return known ? ok(known) : failure(404, 'resource_missing');
    }
    if (collection === 'invoices' && id !== undefined) {
      const known = this.invoices.find((invoice) => invoice.id === id);
      return known ? ok(known) : failure(404, 'resource_missing');
    }
    if (collection === 'invoices')
      return list(
        this.invoices.filter(
          (invoice) =>
            since(body)(invoice) &&
            invoice['status'] === body['status'] &&
            (body['customer'] === undefined || body['customer'] === invoice['customer']),
        ),
        body,
      );
    if (collection === 'events') {
      const types: readonly unknown[] = Object.values((body['types'] ?? {}) as Fields);
      const wanted = this.events.filter(
        (event) => since(body)(event) && types.includes(event['type']),
      );
      return list(wanted, body);
    }
    if (collection === 'invoice_payments') {
      const payment = body['payment'] as Fields | undefined;
      const wanted = payment?.['payment_intent'];
      return list(
        this.invoicePayments.filter(
          (known) => (known['payment'] as Fields | undefined)?.['payment_intent'] === wanted,
        ),
      );
    }
    return failure(404, 'resource_missing');
  }

  private balance(method: string, customer: string, body: Fields): DoubleAnswer {
    if (!this.customers.has(customer)) return failure(404, 'resource_missing');
    if (method === 'GET')
      return list(
        this.balanceTransactions.filter((known) => known.customer === customer).reverse(),
        body,
      );
    const transaction: BalanceTransaction = {
      id: `cbtxn_${(this.made += 1)}`,
      customer,
      amount: Number(body['amount']),
      currency: String(body['currency']),
      metadata: (body['metadata'] ?? {}) as Record<string, string>,
    };
    this.balanceTransactions.push(transaction);
    return ok({ object: 'customer_balance_transaction', ...transaction });
  }

  private coupon(method: string, id: string | undefined, body: Fields): DoubleAnswer {
    if (method === 'GET') {
      const known = this.coupons.get(id ?? '');
      return known ? ok(known) : failure(404, 'resource_missing');
    }
    const named = String(body['id']);
    if (this.coupons.has(named)) return failure(400, 'resource_already_exists');
    const coupon = { ...body, id: named, object: 'coupon' };
    this.coupons.set(named, coupon);
    return ok(coupon);
  }

  private subscribed(method: string, id: string | undefined, body: Fields): DoubleAnswer {
    if (id === undefined)
      return list(
        [...this.subscriptions.values()].filter(
          ({ customer, status }) =>
            (body['customer'] === undefined || body['customer'] === customer) &&
            (body['status'] === 'all' || status !== 'canceled'),
        ),
        body,
      );
    const known = this.subscriptions.get(id);
    if (known === undefined) return failure(404, 'resource_missing');
    if (method === 'GET') return ok(known);
    const asked = Object.values((body['discounts'] ?? []) as Fields) as Fields[];
    const discounts = asked.map((one) =>
      one['discount'] === undefined
        ? { id: `di_${(this.made += 1)}`, source: { coupon: one['coupon'], type: 'coupon' } }
        : known.discounts.find(({ id: at }) => at === one['discount']),
    );
    if (discounts.some((one) => one === undefined)) return failure(400, 'resource_missing');
    const named = (body['metadata'] ?? {}) as Record<string, string>;
    const metadata = { ...known.metadata, ...named };
    if (Object.keys(metadata).length > 50) return failure(400, 'parameter_invalid');
    const changed: Subscription = {
      ...known,
      discounts: discounts.flatMap((one) => one ?? []),
      metadata,
    };
    this.subscriptions.set(id, changed);
    return ok(changed);
  }
}

export interface Subscription {
  readonly id: string;
  readonly customer: string;
  readonly status: string;
  readonly discounts: readonly { readonly id: string; readonly source: Fields }[];
  readonly metadata: Readonly<Record<string, string>>;
}

interface DoubleAnswer {
  readonly status: number;
  readonly json: unknown;
  readonly isReplay?: boolean;
}

const ok = (json: unknown): DoubleAnswer => ({ status: 200, json });

/** A page of them. @param page with `limit` and `starting_after`, an id. */
function list(data: readonly Readonly<{ id: string }>[], page: Fields = {}): DoubleAnswer {
  const after = data.findIndex(({ id }) => id === page['starting_after']) + 1;
  const end = after + Number(page['limit'] ?? 10);
  return ok({ object: 'list', data: data.slice(after, end), has_more: end < data.length });
}

const failure = (status: number, code: string): DoubleAnswer => ({
  status,
  json: {
    error: { type: status === 401 ? 'authentication_error' : 'api_error', code, message: code },
  },
});

const since =
  (body: Fields) =>
  (invoice: Fields): boolean => {
    const created = body['created'] as Fields | undefined;
    return Number(invoice['created'] ?? 0) >= Number(created?.['gte'] ?? 0);
  };

const digestOf = ({ method, path, body }: DoubleCall): string =>
  createHash('sha256')
    .update(JSON.stringify([method, path, body]))
    .digest('hex');

async function callOf(request: IncomingMessage): Promise<DoubleCall> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const url = new URL(request.url ?? '/', 'http://double');
  const sent = request.method === 'GET' ? url.search.slice(1) : Buffer.concat(chunks).toString();
  const header = (name: string): string | null => {
    const value = request.headers[name];
    return typeof value === 'string' ? value : null;
  };
  return {
    method: request.method ?? '',
    path: url.pathname,
    key: header('idempotency-key'),
    version: header('stripe-version'),
    body: fieldsOf(sent),
  };
}

/** `a[b][0]=c` as nested members. */
function fieldsOf(form: string): Fields {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of new URLSearchParams(form)) {
    const [first = '', ...rest] = name.split(/\[|\]\[|\]/).filter((part) => part !== '');
    let at = fields;
    let last = first;
    for (const part of rest) {
      at = (at[last] ??= {}) as Record<string, unknown>;
      last = part;
    }
    at[last] = value;
  }
  return fields;
}
