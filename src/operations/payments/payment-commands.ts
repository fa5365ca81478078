import { rewardsProjector } from '../../../projections/rewards/projector.js';
import { PushQueries } from '../../../projections/rewards/queries.js';
import type { Core } from '../../stores/core.js';
import type { Subscription } from '../../domain/account/account.events.js';
import { linkOf } from '../../domain/account/account-shapes.js';
import { shownPushes, type ShownPush } from '../../domain/account/provider/reward-push.js';
import { disputesOf, pictureOf, WAITS_MS } from '../../domain/customer/customer.state.js';
import type { Scope } from '../../domain/scope.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import type { PaymentProviderName } from '../../domain/tenant/payment-provider-name.js';
import { timeNow } from '../../foundation/world.js';
import { recorderOf } from '../../payments/incoming/payment-events.js';
import { figuresOf, noteSync } from '../../payments/incoming/payment-rows.js';
import { syncPayments, type Synced } from '../../payments/incoming/payment-sync.js';
import { askForWork } from '../../payments/outgoing/payment-work.js';
import type { OpenedConnection } from '../../payments/payment-connections.js';
import { ProviderFailure, type PaymentProvider } from '../../payments/payment-provider.js';
import { LiveReads } from '../../projecting/following/live-reads.js';
import { LiveGenerations } from '../../projecting/generations/live-generations.js';
import type { EndpointGuard } from '../../webhooks/sending/endpoint-guard.js';
import { loopbackProblem } from '../../webhooks/sending/webhook-forwarder.js';
import { timeOf } from '../ledger/ledger-selection.js';
import { operatorMeta } from '../audit.js';
import type { Done } from '../audited.js';
import { NotDone, type Outcome } from '../outcome.js';
import { tenantNamed } from '../tenants/tenant-operation.js';

/** Operations on payment providers: each returns the document that `--json` prints. */

export interface ShownConnection {
  /** Null, like the other members: not connected. */
  readonly provider: PaymentProviderName | null;
  readonly mode: Scope['mode'];
  /** Masked: the last four characters. */
  readonly secretKey: string | null;
  readonly webhookUrl: string;
}

/** Times are ISO 8601. */
export interface ShownPayments extends ShownConnection {
  /** When the newest event was recorded. */
  readonly lastEventAt: string | null;
  /** Events of customers that no account has, of the last 30 days. */
  readonly waitingEvents: number;
  /** When the provider was last walked to its end, by an operator or daily. */
  readonly lastSyncAt: string | null;
  /** Rewards that the provider refused; the first hundred. */
  readonly parked: readonly { readonly rewardId: string; readonly reason: string }[];
}

export interface ConnectRequest {
  readonly provider: string;
  readonly secretKey: string;
  readonly webhookSecret: string;
  readonly apiBase?: string | undefined;
}

/** What operations on payments need apart from the stores. */
export interface PaymentWorld {
  /** Loaded when it is first needed. */
  readonly provider: () => Promise<PaymentProvider>;
  /** Of outgoing requests. */
  readonly guard: () => Promise<EndpointGuard>;
  readonly publicUrl: () => string;
}

export type PaymentCore = Pick<Core, 'tenants' | 'payments'>;

/** How long the webhook secret of a replaced connection verifies. */
const GRACE_MS = 24 * 3_600_000;

/** Connects a tenant and mode, or replaces its connection; checked by one call to the provider. */
export async function connectPayments(
  core: PaymentCore,
  world: PaymentWorld,
  scope: Scope,
  request: ConnectRequest,
): Promise<Outcome<Done<ShownConnection>>> {
  const tenant = await providerTenant(core, scope);
  if (tenant instanceof NotDone) return tenant;
  const credentials = await checked(world, scope, request);
  if (credentials instanceof NotDone) return credentials;
  const meta = operatorMeta(scope, 'payment connect');
  const changed = await core.payments.connect(meta, credentials, GRACE_MS);
  if ('refused' in changed) return new NotDone({ code: 'TENANT_NOT_FOUND', tenant: scope.tenant });
  const result = shown(await core.payments.current(changed, scope.mode), world, scope);
  return { result, parameters: {}, completed: 'the payment provider is connected' };
}

export async function showPayments(
  core: PaymentCore & Pick<Core, 'pool'>,
  world: Pick<PaymentWorld, 'publicUrl'>,
  scope: Scope,
): Promise<Outcome<ShownPayments>> {
  const tenant = await providerTenant(core, scope);
  if (tenant instanceof NotDone) return tenant;
  const connection = await core.payments.current(tenant, scope.mode);
  const figures = await figuresOf(core.pool, scope, timeNow() - WAITS_MS);
  return {
    ...shown(connection, world, scope),
    lastEventAt: figures.lastEventAt?.toISOString() ?? null,
    waitingEvents: figures.waitingEvents,
    lastSyncAt: figures.lastSyncAt?.toISOString() ?? null,
    parked: await pushesOf(core).parked(scope, PARKED_SHOWN_MAX),
  };
}

const PARKED_SHOWN_MAX = 100;

const pushesOf = ({ pool }: Pick<Core, 'pool'>): PushQueries =>
  new PushQueries(new LiveReads(pool, new LiveGenerations(pool, [rewardsProjector]), 'rewards'));

/** Destroys the secrets; what was recorded stays. */
export async function disconnectPayments(
  core: PaymentCore,
  world: Pick<PaymentWorld, 'publicUrl'>,
  scope: Scope,
): Promise<Outcome<Done<ShownConnection>>> {
  const tenant = await providerTenant(core, scope);
  if (tenant instanceof NotDone) return tenant;
  const changed = await core.payments.disconnect(operatorMeta(scope, 'payment disconnect'));
  if ('refused' in changed) return new NotDone({ code: 'TENANT_NOT_FOUND', tenant: scope.tenant });
  const result = shown(undefined, world, scope);
  return { result, parameters: {}, completed: 'the payment provider is disconnected' };
}

export interface SyncRequest {
  /** ISO 8601; default 30 days ago. */
  readonly since?: string | undefined;
  /** Ends it after a page; what was recorded until then stays. */
  readonly signal?: AbortSignal;
  /** Of the invoices that the provider has. */
  readonly onProgress?: (phase: string, invoices: number) => void;
}

/**
 * Records what the provider has and no event told. Rewards that the provider is to pay are looked
 * at again, refused ones included.
 */
export async function syncTenantPayments(
  core: PaymentCore & Pick<Core, 'commands' | 'streams' | 'names' | 'pool'>,
  { provider }: Pick<PaymentWorld, 'provider'>,
  scope: Scope,
  { since, signal, onProgress }: SyncRequest = {},
): Promise<Outcome<Done<Synced>>> {
  const tenant = await providerTenant(core, scope);
  if (tenant instanceof NotDone) return tenant;
  const from = timeOf('since', since, timeNow());
  if (from instanceof NotDone) return from;
  const connection = await core.payments.current(tenant, scope.mode);
  if (connection === undefined) return notDone('no payment provider is connected');
  const { streams, names } = core;
  const parts = { streams, names, record: recorderOf(core.commands) };
  try {
    await askForAll(core, scope);
    const calls = (await provider()).calls(connection);
    const result = await syncPayments(parts, scope, {
      calls,
      since: from ?? timeNow() - WAITS_MS,
      ...(signal && { signal }),
      onProgress: (invoices) => onProgress?.('walking', invoices),
    });
    await noteSync(core.pool, scope);
    return { result, parameters: { since } };
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    return notDone(`stopped: ${error.message}; what was recorded until then stays`);
  }
}

const ACCOUNTS_AT_ONCE = 500;

/** Makes the work anew: it may be lost with its table. */
async function askForAll({ pool }: Pick<Core, 'pool'>, scope: Scope): Promise<void> {
  const pushes = pushesOf({ pool });
  for (let after = ''; ;) {
    const accounts = await pushes.accountsToPay(scope, after, ACCOUNTS_AT_ONCE);
    for (const account of accounts)
      await askForWork(pool, { ...scope, account, dueAt: null, retriesParked: true });
    const last = accounts.at(-1);
    if (last === undefined || accounts.length < ACCOUNTS_AT_ONCE) return;
    after = last;
  }
}

/** A dispute of a charge of the account. */
export interface ShownDispute {
  /** The provider's id. */
  readonly charge: string;
  /** The provider's word. */
  readonly status: string;
  /** ISO 8601. */
  readonly created: string;
}

/** An account as it is linked to the provider's customer. */
export interface ShownPayer {
  readonly accountId: string;
  readonly paymentProviderId: string | null;
  /** The provider deleted the customer. */
  readonly gone: boolean;
  readonly subscription: Subscription | null;
  readonly disputes: readonly ShownDispute[];
  /** Those that the provider pays. */
  readonly rewards: readonly ShownPush[];
}

export async function showPayer(
  core: PaymentCore & Pick<Core, 'streams' | 'names'>,
  scope: Scope,
  accountId: string,
): Promise<Outcome<ShownPayer>> {
  const tenant = await providerTenant(core, scope);
  if (tenant instanceof NotDone) return tenant;
  const { streams, names } = core;
  const account = names.accountRef(scope, accountId);
  const { state } = await streams.accounts.load(names.accountStream(scope, account));
  if (state.status === 'absent')
    return new NotDone({ code: 'ACCOUNT_NOT_FOUND', accountId, scope });
  const { paymentProviderId, subscription } = state;
  const customer =
    paymentProviderId === null
      ? undefined
      : await streams.customers.load(names.customerStream(scope, paymentProviderId));
  const link = linkOf(state);
  const gone = customer !== undefined && pictureOf(customer.state, link).isGone;
  const disputes = (customer === undefined ? [] : disputesOf(customer.state, link)).map(
    ({ created, ...dispute }) => ({ ...dispute, created: new Date(created).toISOString() }),
  );
  const rewards = shownPushes(state);
  return { accountId, paymentProviderId, gone, subscription, disputes, rewards };
}

/** A tenant that may be connected. */
export async function providerTenant(
  { tenants }: Pick<Core, 'tenants'>,
  { tenant: alias }: Scope,
): Promise<OpenTenant | NotDone> {
  const tenant = await tenantNamed({ tenants }, alias);
  if (tenant instanceof NotDone) return tenant;
  return tenant.programType === 'PAYMENT_PROVIDER'
    ? tenant
    : notDone('the tenant belongs to no payment provider (tenant create --payment-provider)');
}

async function checked(
  { provider, guard }: PaymentWorld,
  { mode }: Scope,
  { provider: name, ...request }: ConnectRequest,
) {
  // A file may end with a line break.
  const secretKey = request.secretKey.trim();
  const webhookSecret = request.webhookSecret.trim();
  if (name !== 'stripe') return notDone('the provider must be stripe');
  const stripe = await provider();
  const modeOfKey = stripe.modeOf(secretKey);
  if (modeOfKey === undefined) return notDone('the secret key is none of Stripe (sk_…, rk_…)');
  if (modeOfKey !== mode)
    return notDone(`the secret key is one of ${modeOfKey} mode, and the mode is ${mode}`);
  if (!stripe.isWebhookSecret(webhookSecret))
    return notDone('the webhook secret is none of Stripe (whsec_…)');
  const apiBase = request.apiBase ?? null;
  const refused = apiBase === null ? undefined : await reasonAgainst(apiBase, await guard());
  if (refused !== undefined) return notDone(`the address of the provider ${refused}`);
  try {
    await stripe.calls({ secretKey, apiBase }).check();
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    return notDone(`the connection was checked, and ${error.message}`);
  }
  return { provider: name, secretKey, webhookSecret, apiBase } as const;
}

async function reasonAgainst(
  apiBase: string,
  guard: Pick<EndpointGuard, 'check'>,
): Promise<string | undefined> {
  const url = URL.canParse(apiBase) ? new URL(apiBase) : undefined;
  if (url === undefined || url.pathname !== '/' || url.search !== '' || url.hash !== '')
    return 'must be a URL without a path';
  // The secret key goes there.
  if (url.protocol === 'http:' && loopbackProblem(apiBase) !== undefined)
    return 'must begin with https: http is for this machine alone';
  const check = await guard.check(apiBase);
  return check.kind === 'allowed' ? undefined : check.reason;
}

const notDone = (reason: string): NotDone => new NotDone({ code: 'PAYMENT_NOT_DONE', reason });

const shown = (
  connection: OpenedConnection | undefined,
  { publicUrl }: Pick<PaymentWorld, 'publicUrl'>,
  { tenant, mode }: Scope,
): ShownConnection => ({
  provider: connection?.provider ?? null,
  mode,
  secretKey: connection === undefined ? null : `…${connection.secretKey.slice(-4)}`,
  webhookUrl: `${publicUrl()}/integrations/stripe/${tenant}`,
});
