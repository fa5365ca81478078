import { createHash } from 'node:crypto';
import Stripe from 'stripe';
import { MODES, type Mode } from '../../domain/scope.js';
import { timeNow } from '../../foundation/world.js';
import type { EndpointGuard } from '../../webhooks/sending/endpoint-guard.js';
import {
  ProviderFailure,
  type PaymentProvider,
  type ProviderCalls,
  type ProviderCredentials,
  type FactsPage,
  type ProviderEvent,
  type SignatureCheck,
  type SignedEvent,
} from '../payment-provider.js';
import { complete, type KnownPrices } from './stripe-completion.js';
import {
  eventOf,
  invoiceFact,
  KNOWN_TYPES,
  listedEvent,
  subscriptionFact,
  unknownForm,
} from './stripe-events.js';
import { called, read } from './stripe-answers.js';
import { GuardedHttpClient, type CallLimits } from './stripe-http-client.js';
import { stripePayments } from './stripe-payments.js';

/** Fixes the shapes of answers, independent of the tenant's account. */
const API_VERSION = '2026-10-28.endive';
const CALL_WITHIN_MS = 10_000;
/** Longest age of a signature. */
const TOLERANCE_S = 300;

/** Stripe through its official package. */
export class StripeProvider implements PaymentProvider {
  private readonly http: GuardedHttpClient;
  private readonly prices: KnownPrices = new Map();

  constructor(
    guard: EndpointGuard,
    private readonly limits: CallLimits = { withinMs: CALL_WITHIN_MS },
  ) {
    this.http = new GuardedHttpClient(guard, limits);
  }

  modeOf(secretKey: string): Mode | undefined {
    const [, mode] = /^(?:sk|rk)_(live|test)_[A-Za-z0-9_]{4,200}$/.exec(secretKey) ?? [];
    return MODES.find((known) => known === mode);
  }

  isWebhookSecret(text: string): boolean {
    return /^whsec_[A-Za-z0-9+/=_-]{4,200}$/.test(text);
  }

  isSigned(body: Buffer, { signature, secret, now }: SignatureCheck): boolean {
    const { signature: signatures } = Stripe.webhooks;
    if (signature === undefined || signatures === null) return false;
    try {
      return signatures.verifyHeader(body, signature, secret, TOLERANCE_S, undefined, now);
    } catch {
      // The package throws a different error per reason.
      return false;
    }
  }

  eventIn(body: Buffer): SignedEvent | undefined {
    const parsed = objectIn(body);
    if (parsed === undefined) return undefined;
    const idOfBody = () => `sha256 ${createHash('sha256').update(body).digest('hex')}`;
    return eventOf(parsed) ?? unknownForm(parsed, idOfBody, timeNow());
  }

  calls({ secretKey, apiBase }: Pick<ProviderCredentials, 'secretKey' | 'apiBase'>): ProviderCalls {
    const stripe = new Stripe(secretKey, {
      apiVersion: API_VERSION,
      httpClient: this.http,
      maxNetworkRetries: 0,
      timeout: this.limits.withinMs,
      telemetry: false,
      ...(apiBase === null ? {} : addressOf(apiBase)),
    });
    const nameOf = (price: string): string => `${apiBase ?? ''} ${secretKey} ${price}`;
    return {
      completed: read((event) => complete(stripe, event, { known: this.prices, nameOf })),
      factsPage: read((since, cursor) => factsPage(stripe, Math.floor(since / 1_000), cursor)),
      check: read(async () => void (await stripe.balance.retrieve())),
      ...stripePayments(stripe),
    };
  }

  close(): Promise<void> {
    return this.http.close();
  }
}

function objectIn(body: Buffer): object | undefined {
  try {
    const parsed: unknown = JSON.parse(body.toString());
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
      ? parsed
      : undefined;
  } catch {
    return undefined;
  }
}

const PAGE = 100;

/** Read one after the other, each from its newest object. */
const LISTS = ['invoices', 'subscriptions', 'events'] as const;

/** @param since epoch seconds. @param cursor list and last object. @throws {ProviderFailure} */
async function factsPage(stripe: Stripe, since: number, cursor: string | null): Promise<FactsPage> {
  const [name, after] = (cursor ?? LISTS[0]).split(' ');
  const of = LISTS.find((known) => known === name) ?? LISTS[0];
  const page = {
    created: { gte: since },
    limit: PAGE,
    ...(after === undefined ? {} : { starting_after: after }),
  };
  const { data, has_more: hasMore } = await listed(stripe, of, page);
  const facts = data.flatMap((object) => [...FACTS[of](object)]);
  const last = data.at(-1)?.id;
  if (hasMore && last !== undefined) return { facts, next: `${of} ${last}` };
  return { facts, next: LISTS[LISTS.indexOf(of) + 1] ?? null };
}

const FACTS: Readonly<
  Record<(typeof LISTS)[number], (object: unknown) => Iterable<ProviderEvent>>
> = { invoices: invoiceFact, subscriptions: subscriptionFact, events: listedEvent };

interface ListedPage {
  readonly data: readonly { readonly id?: string }[];
  readonly has_more: boolean;
}

async function listed(
  stripe: Stripe,
  of: (typeof LISTS)[number],
  page: Stripe.PaginationParams & { readonly created: { readonly gte: number } },
): Promise<ListedPage> {
  switch (of) {
    case 'invoices':
      return called(stripe.invoices.list({ ...page, status: 'paid' }));
    case 'subscriptions':
      return called(stripe.subscriptions.list({ ...page, status: 'all' }));
    // An older object may be paid or end later: only its event has that time.
    case 'events':
      return called(stripe.events.list({ ...page, types: [...KNOWN_TYPES] })).catch(withoutEvents);
  }
}

/** A restricted key may not read events; the other lists must do. */
function withoutEvents(error: unknown): ListedPage {
  if (!(error instanceof ProviderFailure) || error.kind !== 'refused') throw error;
  return { data: [], has_more: false };
}

function addressOf(apiBase: string): Pick<Stripe.StripeConfig, 'host' | 'port' | 'protocol'> {
  const { hostname, port, protocol } = new URL(apiBase);
  const isTls = protocol === 'https:';
  return {
    host: hostname,
    port: port === '' ? (isTls ? 443 : 80) : Number(port),
    protocol: isTls ? 'https' : 'http',
  };
}
