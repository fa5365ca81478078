import { rewardsProjector } from '../../../projections/rewards/projector.js';
import { PushQueries } from '../../../projections/rewards/queries.js';
import type { Core } from '../../stores/core.js';
import { customerLinkOf } from '../../domain/account/account-shapes.js';
import { shownPushes } from '../../domain/account/provider/reward-push.js';
import { disputesOf, customerSummary, WAITS_MS } from '../../domain/customer/customer.state.js';
import { modeOf, type Scope } from '../../domain/scope.js';
import { timeNow } from '../../foundation/world.js';
import { recorderOf } from '../../payments/incoming/payment-events.js';
import { figuresOf, recordSync, waitingCustomers } from '../../payments/incoming/payment-rows.js';
import { syncPayments, type Synced } from '../../payments/incoming/payment-sync.js';
import { requestPayment } from '../../payments/outgoing/payment-work.js';
import { workStore } from '../../work-queue/work-items.js';
import type { OpenedConnection } from '../../payments/payment-connections.js';
import { ProviderFailure } from '../../payments/payment-provider.js';
import { LiveReads } from '../../projecting/following/live-reads.js';
import { LiveGenerations } from '../../projecting/generations/live-generations.js';
import type { EndpointGuard } from '../../webhooks/sending/endpoint-guard.js';
import { loopbackProblem } from '../../webhooks/sending/webhook-forwarder.js';
import { timeOf } from '../ledger/ledger-selection.js';
import type { Done } from '../audited.js';
import type { PaymentWorld, RecordingContext, ScopedContext } from '../registry/context.js';
import { tenantNamed } from '../tenants/tenant-operation.js';
import { accountNotFound, decided, notDone } from '../outcome.js';

/** Operations on payment providers: each returns the document that `--json` prints. */

interface ConnectRequest {
  readonly provider: string;
  readonly secretKey: string;
  readonly webhookSecret: string;
  readonly apiBase?: string | undefined;
}

export type PaymentCore = Pick<Core, 'tenants' | 'payments'>;

/** How long the webhook secret of a replaced connection verifies. */
const GRACE_MS = 24 * 3_600_000;

/** Connects a tenant and mode, or replaces its connection; checked by one call to the provider. */
export async function connectPayments(
  { core, payments: world, scope, meta }: RecordingContext,
  request: ConnectRequest,
) {
  await providerTenant(core, scope);
  const credentials = await checked(world, scope, request);
  const changed = decided(await core.payments.connect(meta, credentials, GRACE_MS));
  const result = shown(await core.payments.current(changed.tenant, scope.mode), world, scope);
  return { result, parameters: {}, completed: 'the payment provider is connected' };
}

/** @throws {NotDone} */
export async function showPayments(
  core: PaymentCore & Pick<Core, 'pool'>,
  world: Pick<PaymentWorld, 'publicUrl'>,
  scope: Scope,
) {
  const tenant = await providerTenant(core, scope);
  const connection = await core.payments.current(tenant, scope.mode);
  const figures = await figuresOf(core.pool, scope, timeNow() - WAITS_MS);
  return {
    ...shown(connection, world, scope),
    /** When the newest event was recorded. */
    lastEventAt: figures.lastEventAt?.toISOString() ?? null,
    /** Events of customers that no account has, of the last 30 days. */
    waitingEvents: figures.waitingEvents,
    /** When the provider was last walked to its end, by an operator or daily. */
    lastSyncAt: figures.lastSyncAt?.toISOString() ?? null,
    /** Rewards that the provider refused; the first hundred. */
    parked: await pushesOf(core).parked(scope, PARKED_SHOWN_MAX),
  };
}

const PARKED_SHOWN_MAX = 100;

export const pushesOf = ({ pool }: Pick<Core, 'pool'>): PushQueries =>
  new PushQueries(new LiveReads(pool, new LiveGenerations(pool, [rewardsProjector]), 'rewards'));

/** Destroys the secrets; what was recorded stays. */
export async function disconnectPayments({ core, payments, scope, meta }: RecordingContext) {
  await providerTenant(core, scope);
  decided(await core.payments.disconnect(meta));
  const result = shown(undefined, payments, scope);
  return { result, parameters: {}, completed: 'the payment provider is disconnected' };
}

/**
 * Records the provider's facts that no event reported, and retries its rewards, including refused
 * ones. A stop takes effect after a page; earlier records stay.
 * @param since ISO 8601; default 30 days ago.
 */
export async function syncTenantPayments(
  { core, payments, scope, signal, onProgress }: RecordingContext,
  { since }: { readonly since?: string | undefined },
): Promise<Done<Synced>> {
  const from = timeOf('since', since, timeNow());
  const connection = await connected(core, scope);
  const { streams, names } = core;
  const parts = { streams, names, record: recorderOf(core.commands) };
  try {
    await askForAll(core, scope);
    const calls = (await payments.provider()).calls(connection);
    const result = await syncPayments(parts, scope, {
      calls,
      since: from ?? timeNow() - WAITS_MS,
      signal,
      onProgress: (invoices) => onProgress('walking', invoices),
    });
    await recordSync(core.pool, scope);
    return { result, parameters: { since } };
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    throw notDone(`stopped: ${error.message}; what was recorded until then stays`);
  }
}

/**
 * Has the rewards of an account tried again, of which the provider refused this one.
 * @throws {NotDone}
 */
export async function retryPush(
  { pool }: Pick<Core, 'pool'>,
  scope: Scope,
  rewardId: string,
): Promise<Done<null>> {
  const account = await pushesOf({ pool }).accountOfParked(scope, rewardId);
  if (account === undefined) throw notDone('the reward is not refused any more');
  await requestPayment(workStore(pool), { ...scope, account, dueAt: null, retriesParked: true });
  return { result: null, parameters: { reward: rewardId }, completed: 'the reward is tried again' };
}

/** Customers of the provider that no account has, by the events of the last 30 days. */
export const customersWithoutAccount = (
  { pool }: Pick<Core, 'pool'>,
  scope: Scope,
): Promise<number> => waitingCustomers(pool, scope, timeNow() - WAITS_MS);

const ACCOUNTS_AT_ONCE = 500;

/** Makes the work anew: it may be lost with its table. */
async function askForAll({ pool }: Pick<Core, 'pool'>, scope: Scope): Promise<void> {
  const pushes = pushesOf({ pool });
  for (let after = ''; ;) {
    const accounts = await pushes.accountsToPay(scope, after, ACCOUNTS_AT_ONCE);
    for (const account of accounts)
      await requestPayment(workStore(pool), {
        ...scope,
        account,
        dueAt: null,
        retriesParked: true,
      });
    const last = accounts.at(-1);
    if (last === undefined || accounts.length < ACCOUNTS_AT_ONCE) return;
    after = last;
  }
}

/** An account as it is linked to the provider's customer. */
export async function showPayer({ core, scope }: ScopedContext, accountId: string) {
  await providerTenant(core, scope);
  const { streams, names } = core;
  const account = names.accountRef(scope, accountId);
  const { state } = await streams.accounts.load(names.accountStream(scope, account));
  if (state.status === 'absent') throw accountNotFound(accountId, scope);
  const { paymentProviderId, subscription } = state;
  const customer =
    paymentProviderId === null
      ? undefined
      : await streams.customers.load(names.customerStream(scope, paymentProviderId));
  const link = customerLinkOf(state);
  const gone = customer !== undefined && customerSummary(customer.state, link).isGone;
  // Of charges of the account; ids and words are the provider's.
  const disputes = (customer === undefined ? [] : disputesOf(customer.state, link)).map(
    ({ created, ...dispute }) => ({ ...dispute, created: new Date(created).toISOString() }),
  );
  return {
    accountId,
    paymentProviderId,
    /** The provider deleted the customer. */
    gone,
    subscription,
    disputes,
    /** Those that the provider pays. */
    rewards: shownPushes(state),
  };
}

/** A tenant that may be connected. @throws {NotDone} */
async function providerTenant(core: Pick<Core, 'tenants'>, { tenant: alias }: Scope) {
  const tenant = await tenantNamed(core, alias);
  if (tenant.programType !== 'PAYMENT_PROVIDER')
    throw notDone('the tenant belongs to no payment provider (tenant create --payment-provider)');
  return tenant;
}

/** The connection of a tenant and mode. @throws {NotDone} */
export async function connected(core: PaymentCore, scope: Scope) {
  const tenant = await providerTenant(core, scope);
  const connection = await core.payments.current(tenant, scope.mode);
  if (connection === undefined) throw notDone('no payment provider is connected');
  return connection;
}

async function checked(
  { provider, guard }: PaymentWorld,
  { mode: ledger }: Scope,
  { provider: name, ...request }: ConnectRequest,
) {
  const mode = modeOf(ledger);
  // A file may end with a line break.
  const secretKey = request.secretKey.trim();
  const webhookSecret = request.webhookSecret.trim();
  if (name !== 'stripe') throw notDone('the provider must be stripe');
  const stripe = await provider();
  const modeOfKey = stripe.modeOf(secretKey);
  if (modeOfKey === undefined) throw notDone('the secret key is none of Stripe (sk_…, rk_…)');
  if (modeOfKey !== mode)
    throw notDone(`the secret key is one of ${modeOfKey} mode, and the mode is ${mode}`);
  if (!stripe.isWebhookSecret(webhookSecret))
    throw notDone('the webhook secret is none of Stripe (whsec_…)');
  const apiBase = request.apiBase ?? null;
  const refused = apiBase === null ? undefined : await reasonAgainst(apiBase, await guard());
  if (refused !== undefined) throw notDone(`the address of the provider ${refused}`);
  try {
    await stripe.calls({ secretKey, apiBase }).check();
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    throw notDone(`the connection was checked, and ${error.message}`);
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

const shown = (
  connection: OpenedConnection | undefined,
  { publicUrl }: Pick<PaymentWorld, 'publicUrl'>,
  scope: Scope,
) => ({
  /** Null, like the secret key: not connected. */
  provider: connection?.provider ?? null,
  mode: modeOf(scope.mode),
  /** Masked: the last four characters. */
  secretKey: connection === undefined ? null : `…${connection.secretKey.slice(-4)}`,
  webhookUrl: `${publicUrl()}/integrations/stripe/${scope.tenant}`,
});
