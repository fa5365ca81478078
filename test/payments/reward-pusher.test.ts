// Over 5 s: a service of its own, and payments that are repeated after the product's pauses.
import { modeOf } from '../../src/domain/scope.js';
import type { AccountCommandEnvelope } from '../../src/command-handling/commands.js';
import { shownPushes, type ShownPush } from '../../src/domain/account/provider/reward-push.js';
import { metaOf } from '../../src/event-log/envelope.js';
import { workStore } from '../../src/work-queue/work-items.js';
import { RewardPusher, type RewardPusherParts } from '../../src/payments/outgoing/reward-pusher.js';
import { StripeProvider } from '../../src/payments/stripe/stripe-provider.js';
import { ProcessPresence } from '../../src/postgres/process-presence.js';
import { EndpointGuard } from '../../src/webhooks/sending/endpoint-guard.js';
import { ErrorLines } from '../support/error-lines.js';
import type { Json } from '../support/api-client.js';
import { eventually } from '../support/embedded.js';
import {
  personal,
  settled,
  useService,
  useTenant,
  type TestTenant,
} from '../support/running-service.js';
import { StripeDouble, type DoubleCall } from '../harness/stripe-double.js';
import { connectionOf } from './support/parts.js';

const KEY = 'sk_live_pushes0001';
const WEBHOOK_SECRET = 'whsec_pushes0001';
const PROGRAM = {
  id: 'default',
  refundDays: 30,
  referredReward: {
    type: 'PCT_DISCOUNT',
    discountPercent: 10,
    monthsDiscountIsValid: 3,
    payTo: 'provider',
  },
  referrerReward: {
    type: 'CREDIT',
    unit: 'CENTS',
    currency: 'USD',
    assignedCredit: 1000,
    payTo: 'provider',
    when: 'STARTED',
  },
} as const;

const running = useService(() => ({ WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' }));
let double: StripeDouble;
const tenant = useTenant(running, {
  programType: 'PAYMENT_PROVIDER',
  program: PROGRAM,
});
/** Its connection is known to the pushers of the tests alone. */
const apart = useTenant(running, { programType: 'PAYMENT_PROVIDER', program: PROGRAM });
let provider: StripeProvider;

beforeAll(async () => {
  double = await StripeDouble.start({ secretKey: KEY, tls: true });
  provider = new StripeProvider(
    new EndpointGuard({ allowed: [{ address: '127.0.0.0', prefix: 8, family: 'ipv4' }] }),
    { withinMs: 60_000, trusted: double.certificate },
  );
});
afterAll(async () => {
  // Ends a call that has no answer.
  await double.stop();
  await provider.close();
});

interface Pair {
  readonly ann: string;
  readonly bob: string;
  readonly creditId: string;
  readonly discountId: string;
}

/** Ann has credit for referring Bob, who has a discount. */
async function referral(of: TestTenant, over: Json = {}): Promise<Pair> {
  const referralCode = personal('c');
  const user = async (word: string, more: Json): Promise<string> => {
    const id = personal(word);
    const path = `/open/account/${id}/user/${id}`;
    const { status } = await of.live.put(path, { id, accountId: id, ...more });
    expect(status).toBe(200);
    return id;
  };
  const ann = await user('ann', { referralCode });
  const bob = await user('bob', { referredBy: { code: referralCode }, ...over });
  await settled(running.service.service);
  const [creditId, discountId] = await Promise.all(
    [ann, bob].map(async (id) => (await shown(of, id))[0]?.rewardId ?? ''),
  );
  return { ann, bob, creditId: creditId ?? '', discountId: discountId ?? '' };
}

const scopeOf = ({ alias }: Pick<TestTenant, 'alias'>) =>
  ({ tenant: alias, mode: 'live' }) as const;

async function shown({ alias }: TestTenant, id: string): Promise<readonly ShownPush[]> {
  const { core } = running.service.service;
  const scope = scopeOf({ alias });
  const stream = core.names.accountStream(scope, core.names.accountRef(scope, id));
  const { state } = await core.streams.accounts.load(stream);
  return state.status === 'open' ? shownPushes(state) : [];
}

const link = async (of: TestTenant, id: string): Promise<void> => {
  const path = `/open/account/${id}/user/${id}`;
  await of.live.put(path, { id, accountId: id, paymentProviderId: `cus_${id}` });
  double.customer(`cus_${id}`);
};

const stateOf = async (of: TestTenant, id: string): Promise<string | undefined> =>
  (await shown(of, id))[0]?.state;
const comesTo = (of: TestTenant, id: string, state: ShownPush['state']): Promise<void> =>
  eventually(async () => (await stateOf(of, id)) === state);

const creditsOf = (id: string) =>
  double.balanceTransactions.filter(({ customer }) => customer === `cus_${id}`);

/** A process of its own, which pays for the tenant apart. */
async function aPusher(over: (parts: RewardPusherParts) => Partial<RewardPusherParts>, id: number) {
  const { core } = running.service.service;
  const { commands, tenants, streams, names } = core;
  const parts: RewardPusherParts = {
    work: workStore(core.pool),
    presence: { id },
    tenants,
    connections: {
      current: ({ alias }, mode) =>
        Promise.resolve(
          alias === apart.alias
            ? connectionOf('apart', { mode: modeOf(mode), secretKey: KEY, apiBase: double.url })
            : undefined,
        ),
    },
    provider: () => Promise.resolve(provider),
    commands,
    streams,
    names,
    logger: new ErrorLines(),
  };
  return new RewardPusher({ ...parts, ...over(parts) });
}

/** No process has this sign of life. */
const DEAD = 1;
const FOR_EVER = new Promise<never>(() => undefined);

/** A process that stops for ever before it records a payment, once for each account. */
const diesBeforeItRecords =
  (reached: (account: string) => void) =>
  ({ commands }: RewardPusherParts): Partial<RewardPusherParts> => ({
    commands: {
      execute: async (command) => {
        const { command: request, account } = command as unknown as AccountCommandEnvelope;
        if (request.type === 'StartRewardPush') return commands.execute(command);
        reached(account);
        return FOR_EVER;
      },
    },
  });

it('a process that dies after a payment leaves one credit and one discount, as the ledger says', async () => {
  const { ann, bob, creditId, discountId } = await referral(apart);
  for (const id of [ann, bob]) await link(apart, id);
  double.subscription(`sub_${bob}`, `cus_${bob}`);
  await settled(running.service.service);
  const dead = new Set<string>();
  const dying = await aPusher(
    diesBeforeItRecords((account) => dead.add(account)),
    DEAD,
  );
  dying.worker.loop.start();
  await eventually(() => dead.size === 2);
  void dying.worker.stop();
  const presence = new ProcessPresence(running.service.service.core.pool);
  await presence.start();
  const next = await aPusher(() => ({}), presence.id);
  next.worker.loop.start();
  await comesTo(apart, ann, 'PUSHED');
  await comesTo(apart, bob, 'PUSHED');
  await next.worker.stop();
  await presence.stop();
  const [credit, ...more] = creditsOf(ann);
  expect(credit).toMatchObject({
    amount: -1000,
    currency: 'usd',
    metadata: { rewardId: creditId },
  });
  expect(more).toEqual([]);
  expect(creditsOf(bob)).toEqual([]);
  const subscription = double.subscriptions.get(`sub_${bob}`);
  expect(subscription?.discounts).toHaveLength(1);
  const paid = await apart.live.get<readonly Json[]>(`/reward?accountId=${ann}`, {
    headers: { 'ledger-position-at-least': (await running.service.head()) ?? '' },
  });
  expect(paid.body).toEqual([
    expect.objectContaining({
      id: creditId,
      redeemedCredit: 1000,
      redemptions: [
        expect.objectContaining({ quantityRedeemed: 1000, externalReference: credit?.id }),
      ],
    }),
  ]);
  expect((await shown(apart, bob))[0]).toMatchObject({
    rewardId: discountId,
    externalReference: subscription?.discounts[0]?.id,
  });
});

describe('a connected tenant', () => {
  let plain: StripeDouble;
  beforeAll(async () => {
    // The service trusts no certificate of the tests.
    plain = await StripeDouble.start({ secretKey: KEY });
    await double.stop();
    double = plain;
    const meta = metaOf(scopeOf(tenant), { kind: 'operator', id: 'test' }, 'test');
    const credentials = { secretKey: KEY, webhookSecret: WEBHOOK_SECRET, apiBase: double.url };
    await running.service.service.core.payments.connect(
      meta,
      { provider: 'stripe', ...credentials },
      60_000,
    );
  });

  it('finds the credit of a payment that the log has lost, whose key is forgotten', async () => {
    const { ann, creditId } = await referral(tenant);
    double.customer(`cus_${ann}`);
    // By newer ones, too.
    const rewardIds = [creditId, ...Array.from({ length: 120 }, (_, n) => `other ${n}`)];
    const paid = rewardIds.map((rewardId, n) => ({
      id: `cbtxn_${ann}_${n}`,
      customer: `cus_${ann}`,
      amount: -1000,
      currency: 'usd',
      metadata: { rewardId },
      created: 1,
    }));
    double.balanceTransactions.push(...paid);
    await link(tenant, ann);
    await comesTo(tenant, ann, 'PUSHED');
    expect((await shown(tenant, ann))[0]?.externalReference).toBe(`cbtxn_${ann}_0`);
    expect(creditsOf(ann)).toEqual(paid);
  });

  it('after a failure that the provider repeats for the key, a reward is paid once with another key', async () => {
    const { ann, creditId } = await referral(tenant);
    const path = `/v1/customers/cus_${ann}/balance_transactions`;
    const isPaying = (call: DoubleCall) => call.method === 'POST' && call.path === path;
    double.fail({ kind: 'answer', status: 500, isStored: true }, isPaying);
    await link(tenant, ann);
    await comesTo(tenant, ann, 'PUSHED');
    expect(creditsOf(ann)).toHaveLength(1);
    expect(new Set(double.calls.filter(isPaying).map(({ key }) => key))).toEqual(
      new Set([`reward:${creditId}`, `reward:${creditId}:2`]),
    );
  });
});
