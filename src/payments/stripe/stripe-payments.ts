import type Stripe from 'stripe';
import type { ProviderCall } from '../../domain/account/account.events.js';
import type { ProviderSubscription } from '../../domain/account/provider/reward-push.js';
import { ProviderFailure, type PaidDiscount, type ProviderCalls } from '../payment-provider.js';
import { read, readEach } from './stripe-answers.js';
import { hasEnded } from './stripe-events.js';

/** Pays rewards by balance credits, coupons and discounts. */

type Payments = Pick<
  ProviderCalls,
  'subscriptionsOf' | 'discountsFor' | 'pay' | 'made' | 'rewardCredits' | 'paidInvoices'
>;
type BalanceCredit = Extract<ProviderCall, { kind: 'BALANCE_CREDIT' }>;
type Discount = Extract<ProviderCall, { kind: 'DISCOUNT' }>;

const PAGE = 100;
/** Least number of searched balance transactions. */
const SEARCHED_MIN = 10 * PAGE;
/** Bound of the difference between this clock and the provider's. */
const CLOCKS_DIFFER_MS = 24 * 3_600_000;

export function stripePayments(stripe: Stripe): Payments {
  return {
    subscriptionsOf: read(async (customer) => {
      const { data } = await stripe.subscriptions.list({ customer, limit: PAGE });
      return data.filter(({ status }) => !hasEnded(status)).map(withDiscounts);
    }),
    discountsFor: read((customer, rewardId) => discountsFor(stripe, customer, rewardId)),
    rewardCredits: (customer) => readEach(rewardCredits(stripe, customer)),
    paidInvoices: (customer) => readEach(paidInvoices(stripe, customer)),
    pay: read((call, rewardId) =>
      call.kind === 'BALANCE_CREDIT'
        ? payBalance(stripe, call, rewardId)
        : addDiscount(stripe, call, rewardId),
    ),
    made: read((call, rewardId, since) =>
      call.kind === 'BALANCE_CREDIT'
        ? balanceMade(stripe, call, { rewardId, since })
        : discountMade(stripe, call, rewardId),
    ),
  };
}

async function* rewardCredits(
  stripe: Stripe,
  customer: string,
): ReturnType<Payments['rewardCredits']> {
  for await (const { id, amount, metadata } of balanceOf(stripe, customer)) {
    const rewardId = metadata?.['rewardId'];
    if (rewardId !== undefined) yield { id, rewardId, amount: -amount };
  }
}

async function* paidInvoices(stripe: Stripe, customer: string): AsyncIterable<string> {
  const all = stripe.invoices.list({ customer, status: 'paid', limit: PAGE });
  for await (const { id, amount_paid: paid } of all) if (paid > 0 && id !== undefined) yield id;
}

const balanceOf = (stripe: Stripe, customer: string) =>
  stripe.customers.listBalanceTransactions(customer, { limit: PAGE });

async function payBalance(
  stripe: Stripe,
  { customer, amount, currency, key }: BalanceCredit,
  rewardId: string,
): Promise<string> {
  const body = {
    amount: -amount,
    currency: currency.toLowerCase(),
    metadata: { rewardId },
  };
  const made = await stripe.customers.createBalanceTransaction(customer, body, {
    idempotencyKey: key,
  });
  return idOf(made);
}

/**
 * Transactions are listed newest first. A restored log may have paid before the grant, so at least
 * a thousand are searched.
 */
async function balanceMade(
  stripe: Stripe,
  { customer }: Pick<BalanceCredit, 'customer'>,
  { rewardId, since }: { readonly rewardId: string; readonly since: number },
): Promise<string | undefined> {
  const from = Math.floor((since - CLOCKS_DIFFER_MS) / 1_000);
  let looked = 0;
  for await (const { id, created, metadata } of balanceOf(stripe, customer)) {
    if (metadata?.['rewardId'] === rewardId) return id;
    if ((looked += 1) >= SEARCHED_MIN && created < from) return undefined;
  }
  return undefined;
}

/** Ensures the coupon, then adds the discount to the subscription's existing ones. */
async function addDiscount(
  stripe: Stripe,
  { subscription, keeps, slot, key, ...terms }: Discount,
  rewardId: string,
): Promise<string> {
  const coupon = couponOf(terms);
  await ensureCoupon(stripe, coupon, terms);
  const discounts = [...keeps.map((discount) => ({ discount })), { coupon }];
  const named = slot === undefined ? {} : { [nameOfSlot(slot)]: `${rewardId} ${coupon}` };
  const metadata = { rewardId, ...named };
  const changed = await stripe.subscriptions.update(
    subscription,
    { discounts, metadata },
    { idempotencyKey: key },
  );
  return newDiscount(changed, keeps) ?? coupon;
}

async function discountMade(
  stripe: Stripe,
  { subscription, keeps, ...terms }: Discount,
  rewardId: string,
): Promise<string | undefined> {
  const found = await stripe.subscriptions.retrieve(subscription);
  if (!rewardsOf(found).has(rewardId)) return undefined;
  return newDiscount(found, keeps) ?? couponOf(terms);
}

type CouponTerms = Pick<Discount, 'percent' | 'months'>;

const couponOf = ({ percent, months }: CouponTerms): string => `ref_${percent}_${months ?? 'once'}`;

async function ensureCoupon(
  stripe: Stripe,
  id: string,
  { percent, months }: CouponTerms,
): Promise<void> {
  const missing = await stripe.coupons.retrieve(id).then(() => false, isMissing);
  if (!missing) return;
  const duration =
    months === null
      ? ({ duration: 'once' } as const)
      : ({ duration: 'repeating', duration_in_months: months } as const);
  const made = stripe.coupons.create({ id, percent_off: percent, ...duration });
  // Another process may have created it.
  await made.then(() => undefined, unlessCode('resource_already_exists'));
}

const isMissing = (error: unknown): true => {
  if (codeOf(error) === 'resource_missing') return true;
  throw error;
};

const unlessCode = (code: string) => (error: unknown) => {
  if (codeOf(error) !== code) throw error;
};

const codeOf = (error: unknown): unknown =>
  typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;

/** Searches the customer's newest thousand subscriptions. */
async function discountsFor(
  stripe: Stripe,
  customer: string,
  rewardId: string,
): Promise<readonly PaidDiscount[]> {
  const all = stripe.subscriptions.list({ customer, status: 'all', limit: PAGE });
  const found: PaidDiscount[] = [];
  let looked = 0;
  for await (const one of all) {
    const reference = rewardsOf(one).get(rewardId);
    if (reference !== undefined)
      found.push({ subscription: one.id, hasEnded: hasEnded(one.status), reference });
    if ((looked += 1) === SUBSCRIPTIONS_MAX) break;
  }
  return found;
}

/**
 * A subscription has up to twenty discounts, whose rewards are named in slots of its metadata,
 * which may have fifty members.
 */
const SLOTS = 20;
const MEMBERS_MAX = 50;
const SUBSCRIPTIONS_MAX = 1_000;

const nameOfSlot = (slot: number): string => `rewardId_${slot + 1}`;

type Metadata = Readonly<Record<string, string | undefined>>;

/** Rewards in the metadata with their coupons. Older releases stored the newest one only. */
function rewardsOf({
  id,
  metadata = {},
  discounts,
}: Pick<Stripe.Subscription, 'id' | 'discounts'> & {
  readonly metadata?: Metadata;
}): ReadonlyMap<string, string> {
  const rewards = new Map<string, string>();
  const newest = metadata['rewardId'];
  if (newest !== undefined) rewards.set(newest, idsOf(discounts).at(-1) ?? id);
  for (let slot = 0; slot < SLOTS; slot += 1) {
    const [rewardId = '', coupon] = metadata[nameOfSlot(slot)]?.split(' ') ?? [];
    if (coupon !== undefined) rewards.set(rewardId, coupon);
  }
  return rewards;
}

/** The slot of the oldest reward, or a free one; undefined: the metadata are full. */
function nextSlot(metadata: Metadata): number | undefined {
  const slots = Array.from({ length: SLOTS }, (_, slot) => slot);
  const rewardIn = (slot: number) => metadata[nameOfSlot(slot)]?.split(' ')[0];
  const newest = metadata['rewardId'];
  const last = newest === undefined ? -1 : slots.findIndex((slot) => rewardIn(slot) === newest);
  const free = slots.find((slot) => rewardIn(slot) === undefined);
  const next = free ?? (last + 1) % SLOTS;
  const members = new Set([...Object.keys(metadata), 'rewardId', nameOfSlot(next)]);
  return members.size > MEMBERS_MAX ? undefined : next;
}

function withDiscounts({ id, discounts, metadata }: Stripe.Subscription): ProviderSubscription {
  const slot = nextSlot(metadata ?? {});
  return { id, discounts: idsOf(discounts), ...(slot === undefined ? {} : { slot }) };
}

/** The objects may be expanded. */
const idsOf = (discounts: readonly (string | Stripe.Discount)[]): readonly string[] =>
  discounts.map((discount) => (typeof discount === 'string' ? discount : discount.id));

const newDiscount = (
  { discounts }: Stripe.Subscription,
  keeps: readonly string[],
): string | undefined => idsOf(discounts).find((id) => !keeps.includes(id));

/** An answer without an id counts as unavailable, so that the call is repeated. */
function idOf({ id }: { readonly id?: unknown }): string {
  if (typeof id === 'string' && id !== '') return id;
  throw new ProviderFailure('unavailable', 'the provider answered without an id');
}
