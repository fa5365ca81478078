import { shownPushes } from '../../src/domain/account/reward-push.js';
import type { ProviderFact } from '../../src/domain/customer/customer.state.js';
import { recorderOf } from '../../src/payments/incoming/payment-events.js';
import type { Json } from '../support/api-client.js';
import { pauseOfChance } from '../support/pause-of-chance.js';
import { until } from '../support/projected-ledger.js';
import {
  createStores,
  personal as personalOf,
  RunningService,
  type TestStores,
  type TestTenant,
} from '../support/running-service.js';
import { StripeDouble } from '../harness/stripe-double.js';

/** A first invoice is refunded while an operator approves the referral, by two services. */

const WITHIN_MS = 60_000;
const ROUNDS = 16;
/** The two begin at most so far apart. */
const APART_MS = 60;
const KEY = 'sk_live_beside0001';
const INVOICE = { amount: 1999, currency: 'USD' } as const;

let stores: TestStores;
let services: readonly [RunningService, RunningService];
let double: StripeDouble;

beforeAll(async () => {
  stores = await createStores();
  const allowed = { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' };
  services = [
    await RunningService.start(stores, allowed),
    await RunningService.start(stores, allowed),
  ];
  double = await StripeDouble.start({ secretKey: KEY });
});
afterAll(async () => {
  await Promise.all(services.map((service) => service.stop()));
  await double.stop();
  await stores.remove();
});

const reward = (payTo: 'ledger' | 'provider') =>
  ({ type: 'CREDIT', unit: 'CENTS', currency: 'USD', assignedCredit: 700, payTo }) as const;

async function aTenant(payTo: 'ledger' | 'provider'): Promise<TestTenant> {
  const [service] = services;
  const tenant = await service.createTenant({
    programType: 'PAYMENT_PROVIDER',
    program: {
      id: 'default',
      refundDays: 30,
      moderation: { referred: 'PENDING', referrer: 'PENDING' },
      referredReward: { ...reward(payTo), when: 'CONVERTED' },
      referrerReward: reward(payTo),
    },
  });
  const meta = {
    scope: { tenant: tenant.alias, mode: 'live' },
    commandId: crypto.randomUUID(),
    correlationId: 'test',
    causationId: 'test',
    actor: { kind: 'operator', id: 'test' },
    idempotency: null,
  } as const;
  const credentials = { secretKey: KEY, webhookSecret: 'whsec_beside', apiBase: double.url };
  await service.service.core.payments.connect(meta, { provider: 'stripe', ...credentials }, 0);
  return tenant;
}

/** Told to the other service than the one that approves. */
async function told(tenant: TestTenant, customer: string, fact: ProviderFact): Promise<void> {
  const { commands } = services[1].service.core;
  const record = recorderOf(commands, { hasRoomFor: () => Promise.resolve(true) });
  const event = {
    id: personalOf('evt'),
    type: fact.kind,
    created: Date.now(),
    payments: [],
    subscription: null,
    left: null,
  };
  await record(
    { tenant: tenant.alias, mode: 'live' },
    { ...event, customer, invoice: `in_${customer}`, fact },
  );
}

async function reacted(): Promise<void> {
  const [{ service }] = services;
  for (;;) {
    const head = await service.core.log.head();
    if (head !== undefined) await service.policies.waitFor(head, WITHIN_MS);
    if ((await service.core.log.head()) === head) return;
  }
}

interface Referral {
  readonly ann: string;
  readonly bob: string;
  readonly referralId: string;
}

async function referral(tenant: TestTenant): Promise<Referral> {
  const put = async (id: string, more: Json): Promise<void> => {
    const body = { id, accountId: id, paymentProviderId: `cus_${id}`, ...more };
    double.customer(`cus_${id}`);
    const { status } = await tenant.live.put(`/open/account/${id}/user/${id}`, body);
    expect(status).toBe(200);
  };
  const [ann, bob, referralCode] = ['ann', 'bob', 'c'].map((word) => personalOf(word)) as [
    string,
    string,
    string,
  ];
  await put(ann, { referralCode });
  await put(bob, { referredBy: { code: referralCode } });
  const { amount: amountPaid, currency } = INVOICE;
  await told(tenant, `cus_${bob}`, { kind: 'INVOICE_PAID', amountPaid, currency, interval: null });
  await reacted();
  const position = String(await services[0].head());
  const { body } = await tenant.live.get<{ referrals: readonly { id: string }[] }>(
    `/referrals?referredAccountId=${bob}`,
    { headers: { 'ledger-position-at-least': position } },
  );
  return { ann, bob, referralId: body.referrals[0]?.id ?? '' };
}

async function stateOf(tenant: TestTenant, id: string) {
  const { core } = services[0].service;
  const scope = { tenant: tenant.alias, mode: 'live' } as const;
  const stream = core.names.accountStream(scope, core.names.accountRef(scope, id));
  const { state } = await core.streams.accounts.load(stream);
  if (state.status === 'absent') throw new Error('the account is absent');
  return state;
}

/** Approves and refunds at the same moment, in either order. */
async function atOnce(tenant: TestTenant, { bob, referralId }: Referral): Promise<number> {
  const { amount, currency } = INVOICE;
  const refund = { kind: 'REFUNDED', amount, amountRefunded: amount, currency } as const;
  const actions = [{ referralId, action: 'APPROVED' }];
  const [approved] = await Promise.all([
    pauseOfChance(APART_MS).then(() => tenant.live.post('/referrals/moderate', { actions })),
    pauseOfChance(APART_MS).then(() => told(tenant, `cus_${bob}`, refund)),
  ]);
  return approved.status;
}

it('of rewards in the ledger nothing is left to be spent', async () => {
  const tenant = await aTenant('ledger');
  const referrals: Referral[] = [];
  for (let round = 0; round < ROUNDS; round += 1) referrals.push(await referral(tenant));
  const answers = await Promise.all(referrals.map((one) => atOnce(tenant, one)));
  expect(answers).toEqual(answers.map(() => 200));
  await reacted();
  for (const { ann, bob } of referrals)
    for (const id of [ann, bob]) {
      const { rewards } = await stateOf(tenant, id);
      const left = [...rewards.values()].filter(({ dateCancelled }) => dateCancelled === null);
      expect([id, left]).toEqual([id, []]);
    }
});

it('of rewards on the bill each is paid and redeemed, or cancelled and not paid', async () => {
  const tenant = await aTenant('provider');
  const referrals: Referral[] = [];
  for (let round = 0; round < ROUNDS; round += 1) referrals.push(await referral(tenant));
  await Promise.all(referrals.map((one) => atOnce(tenant, one)));
  await reacted();
  for (const { ann, bob } of referrals)
    for (const id of [ann, bob]) {
      const isSettled = async (): Promise<boolean> => {
        const state = await stateOf(tenant, id);
        return shownPushes(state).every((one) => one.state === 'PUSHED');
      };
      await until(isSettled, WITHIN_MS);
      const { rewards } = await stateOf(tenant, id);
      for (const { rewardId, redeemed, dateCancelled } of rewards.values()) {
        const paid = double.balanceTransactions.filter(
          ({ metadata }) => metadata['rewardId'] === rewardId,
        );
        expect([paid.length, redeemed]).toEqual(dateCancelled === null ? [1, 700] : [0, 0]);
      }
    }
});
