// Over 5 s: a service of its own, and two doubles of the provider for each course.
import { shownPushes, type ShownPush } from '../../src/domain/account/provider/reward-push.js';
import { metaOf } from '../../src/event-log/envelope.js';
import { requestPayment, wakePayment } from '../../src/payments/outgoing/payment-work.js';
import { workStore } from '../../src/work-queue/work-items.js';
import type { Json } from '../support/api-client.js';
import { eventually } from '../support/embedded.js';
import { personal as personalOf, useService, useTenant } from '../support/running-service.js';
import { StripeDouble, type DoubleCall } from '../harness/stripe-double.js';

const KEYS = { former: 'sk_live_former0001', present: 'sk_live_present0002' } as const;
const REWARD = { type: 'CREDIT', unit: 'CENTS', currency: 'USD', assignedCredit: 1000 } as const;
const DISCOUNT = { type: 'PCT_DISCOUNT', discountPercent: 10, monthsDiscountIsValid: 3 } as const;
const PROGRAM = {
  id: 'default',
  referredReward: { ...DISCOUNT, payTo: 'provider' },
  referrerReward: { ...REWARD, payTo: 'provider', when: 'STARTED' },
} as const;

type Which = keyof typeof KEYS;

const { service } = useService(() => ({ WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' }));
let doubles: Record<Which, StripeDouble>;
const tenant = useTenant(
  { service },
  { each: true, programType: 'PAYMENT_PROVIDER', program: PROGRAM },
);

beforeEach(async () => {
  const [former, present] = await Promise.all([
    StripeDouble.start({ secretKey: KEYS.former }),
    StripeDouble.start({ secretKey: KEYS.present }),
  ]);
  doubles = { former, present };
  await connect('former');
});
afterEach(() => Promise.all(Object.values(doubles).map((double) => double.stop())));

const scope = () => ({ tenant: tenant.alias, mode: 'live' }) as const;
const meta = () => metaOf(scope(), { kind: 'operator', id: 'test' }, 'test');

const connect = (which: Which) =>
  service.service.core.payments.connect(
    meta(),
    {
      provider: 'stripe',
      secretKey: KEYS[which],
      webhookSecret: `whsec_${which}`,
      apiBase: doubles[which].url,
    },
    60_000,
  );

const put = async (id: string, more: Json): Promise<void> => {
  const path = `/open/account/${id}/user/${id}`;
  expect((await tenant.live.put(path, { id, accountId: id, ...more })).status).toBe(200);
};

/** Ann has credit for referring Bob, who has a discount. Both accounts have both customers. */
async function referral(): Promise<{ readonly ann: string; readonly bob: string }> {
  const [ann, bob, referralCode] = ['ann', 'bob', 'c'].map((word) => personalOf(word)) as [
    string,
    string,
    string,
  ];
  await put(ann, { referralCode });
  await put(bob, { referredBy: { code: referralCode } });
  for (const double of Object.values(doubles))
    for (const id of [ann, bob]) double.customer(`cus_${id}`);
  return { ann, bob };
}

const link = (id: string): Promise<void> => put(id, { paymentProviderId: `cus_${id}` });

async function shown(id: string): Promise<ShownPush | undefined> {
  const { core } = service.service;
  const stream = core.names.accountStream(scope(), core.names.accountRef(scope(), id));
  const { state } = await core.streams.accounts.load(stream);
  return state.status === 'open' ? shownPushes(state)[0] : undefined;
}

const comesTo = (id: string, state: ShownPush['state']): Promise<void> =>
  eventually(async () => (await shown(id))?.state === state);

async function tryAgain(id: string): Promise<void> {
  const { core } = service.service;
  const account = core.names.accountRef(scope(), id);
  await requestPayment(workStore(core.pool), {
    ...scope(),
    account,
    dueAt: null,
    retriesParked: true,
  });
  const isDone = async (): Promise<boolean> => {
    const found = await core.pool.query(
      `select from ledger.work_items where tenant = $1 and payload @> $2`,
      [tenant.alias, { account, retriesParked: 'true' }],
    );
    return found.rowCount === 0;
  };
  await eventually(isDone);
}

const credits = (which: Which) => doubles[which].balanceTransactions;
const isCredit = ({ method, path }: DoubleCall): boolean =>
  method === 'POST' && path.endsWith('/balance_transactions');

/** The call takes effect without an answer, and is not repeated before the account is woken. */
async function paidWithoutAnswer(id: string): Promise<void> {
  const { core } = service.service;
  doubles.former.fail({ kind: 'lose-answer' }, isCredit);
  for (let calls = 0; calls < 50; calls += 1)
    doubles.former.fail({ kind: 'break-off' }, () => credits('former').length > 0);
  await link(id);
  const isPutOff = async (): Promise<boolean> => {
    const found = await core.pool.query(
      `update ledger.work_items set due_at = now() + interval '1 hour'
       where tenant = $1 and payload ->> 'account' = $2 and attempts > 0 and claimed_by is null`,
      [tenant.alias, core.names.accountRef(scope(), id)],
    );
    return found.rowCount === 1;
  };
  await eventually(isPutOff);
  expect(credits('former')).toHaveLength(1);
}

const wake = (id: string): Promise<void> => {
  const { core } = service.service;
  const account = core.names.accountRef(scope(), id);
  return wakePayment(workStore(core.pool), { ...scope(), account });
};

async function nobodyPaysOrSpends(accountId: string): Promise<void> {
  const spent = { accountId, unit: 'CENTS', amount: 1 };
  expect((await tenant.live.post('/credit/bulkredeem', spent)).status).toBe(400);
  expect(credits('present')).toEqual([]);
}

it('a payment of the former account whose answer was lost is found there, and not repeated', async () => {
  const { ann } = await referral();
  await paidWithoutAnswer(ann);
  await connect('present');
  doubles.former.faults.length = 0;
  await wake(ann);
  await comesTo(ann, 'PUSHED');
  expect((await shown(ann))?.externalReference).toBe(credits('former')[0]?.id);
  expect(credits('present')).toEqual([]);
});

it('credit is neither paid nor spent while the former account refuses to say what it paid', async () => {
  const { ann } = await referral();
  await paidWithoutAnswer(ann);
  await connect('present');
  doubles.former.faults.length = 0;
  for (let calls = 0; calls < 50; calls += 1) doubles.former.fail({ kind: 'answer', status: 403 });
  await wake(ann);
  await comesTo(ann, 'PARKED');
  expect((await shown(ann))?.reason).toMatch(/connection before/);
  await tryAgain(ann);
  await nobodyPaysOrSpends(ann);
  doubles.former.faults.length = 0;
  await tryAgain(ann);
  await comesTo(ann, 'PUSHED');
  expect([credits('former').length, credits('present').length]).toEqual([1, 0]);
});

it('after a disconnection another account pays no open call before an operator decides', async () => {
  const { ann } = await referral();
  await paidWithoutAnswer(ann);
  await service.service.core.payments.disconnect(meta());
  doubles.former.faults.length = 0;
  await connect('present');
  await wake(ann);
  await comesTo(ann, 'PARKED');
  expect((await shown(ann))?.reason).toMatch(/connection before/);
  await nobodyPaysOrSpends(ann);
  await tryAgain(ann);
  await comesTo(ann, 'PUSHED');
  expect(credits('present')).toHaveLength(1);
});
