import type { AccountEvent, ProviderCall } from '../../src/domain/account/account.events.js';
import { personal } from '../../src/domain/personal.js';
import {
  compareAccount,
  type PaymentDifference,
} from '../../src/operations/payments/payment-reconciliation.js';
import {
  ProviderFailure,
  type PaidDiscount,
  type RewardCredit,
} from '../../src/payments/payment-provider.js';
import { ACME, BOB, fold } from '../domain/support/account-scenario.js';
import {
  accountOpened,
  credit,
  discount,
  refOf,
  rewardGranted,
  subscriptionChanged,
  userIdentified,
  aboutPush,
} from '../support/account-events.js';

/** One account, as both sides have it: every kind of difference is planted. */

const SUBJECT = ACME.accountRef;
const FIVE_EUROS = { ...credit(500), currency: 'EUR' } as const;
const EUROS = rewardGranted('r', BOB, FIVE_EUROS, { payTo: 'provider' });
const MONTHS = { ...discount(10), monthsDiscountIsValid: 3 } as const;
const OFF = rewardGranted('off', BOB, MONTHS, { payTo: 'provider' });
const BEGAN = [accountOpened(ACME), userIdentified(ACME, 'bob')];

const pushed = (
  granted: typeof EUROS,
  call: ProviderCall,
  reference: string,
  at = Date.now(),
): readonly AccountEvent[] => [
  granted,
  aboutPush('RewardPushStarted', granted, {
    at,
    amount: granted.value.type === 'CREDIT' ? granted.value.assignedCredit : 0,
    body: personal(SUBJECT, { calls: [call], done: [] }),
  }),
  aboutPush('RewardPushed', granted, { at, reference: personal(SUBJECT, reference) }),
];
const balance = (amount: number): ProviderCall => ({
  kind: 'BALANCE_CREDIT',
  key: 'key',
  customer: 'cus_1',
  amount,
  currency: 'EUR',
});
const redeemed = (amount: number, reference = 'cbtxn_1'): AccountEvent => ({
  type: 'CreditRedeemed',
  at: Date.now(),
  ...refOf(EUROS),
  redemptionId: 'r-provider',
  amount,
  externalReference: personal(SUBJECT, reference),
});
const PAID = [...pushed(EUROS, balance(500), 'cbtxn_1'), redeemed(500)];
const AS_CREDIT = pushed(OFF, balance(199), 'cbtxn_1');
const DISCOUNT_CALL = {
  kind: 'DISCOUNT',
  key: 'key',
  subscription: 'sub_1',
  percent: 10,
  months: 3,
  keeps: [],
} as const;
const DISCOUNTED = pushed(OFF, DISCOUNT_CALL, 'di_1');
/** The ledger has its terms instead of its id. */
const FOUND = pushed(OFF, DISCOUNT_CALL, 'ref_10_3');
const ONCE_CALL = { ...DISCOUNT_CALL, months: null } as const;
const ONCE = pushed(OFF, ONCE_CALL, 'di_1');
const AHEAD = Date.now() + 30 * 86_400_000;
const ONCE_AHEAD = pushed(OFF, ONCE_CALL, 'di_1', AHEAD);
const INVOICED = [subscriptionChanged({ status: 'PAID', value: 19.99 })];

interface AtProvider {
  readonly credits?: readonly RewardCredit[];
  readonly discounts?: readonly string[];
  /** Of the reward, by the metadata of all subscriptions. */
  readonly added?: readonly PaidDiscount[];
  readonly hasPaid?: boolean;
  readonly isMissing?: true;
  /** The ledger's time. */
  readonly now?: number;
  /** What the ledger has of former accounts of the customer. */
  readonly former?: readonly (readonly [string, number | null])[];
}

const one = (over: Partial<RewardCredit> = {}): RewardCredit => ({
  id: 'cbtxn_1',
  rewardId: 'r',
  amount: 500,
  ...over,
});

async function differences(
  events: readonly AccountEvent[],
  provider: AtProvider,
): Promise<readonly Omit<PaymentDifference, 'account'>[]> {
  const { credits = [], discounts = [], added = [], hasPaid = false, isMissing } = provider;
  const { former = [], now = Date.now() } = provider;
  const state = fold([...BEGAN, ...events]);
  if (state.status === 'absent') throw new Error('the account is there');
  const found: Omit<PaymentDifference, 'account'>[] = [];
  const answer = <T>(value: T): Promise<T> =>
    isMissing
      ? Promise.reject(new ProviderFailure('refused', 'it answered 404', false, true))
      : Promise.resolve(value);
  await compareAccount(
    state,
    'cus_1',
    {
      now,
      async *rewardCredits() {
        yield* await answer(credits);
      },
      subscriptionsOf: () => answer([{ id: 'sub_1', discounts }]),
      discountsFor: () => answer(added),
      async *paidInvoices() {
        await answer(null);
        if (hasPaid) yield 'in_1';
      },
      formerRewards: () => Promise.resolve(new Map(former)),
    },
    (kind, ledger, provider, transactions) => {
      if (ledger !== provider)
        found.push({ kind, ledger, provider, ...(transactions && { transactions }) });
    },
  );
  return found;
}

const addedTo = (subscription: string, hasEnded: boolean): PaidDiscount => ({
  subscription,
  hasEnded,
  reference: 'ref_10_3',
});

const credits = (...of: readonly RewardCredit[]): AtProvider => ({ credits: of });
const CREDIT = { kind: 'CREDIT' } as const;

it.each([
  ['a credit and its redemption', PAID, credits(one())],
  [
    'a discount that was paid as a credit',
    AS_CREDIT,
    credits(one({ rewardId: 'off', amount: 199 })),
  ],
  ['a discount', DISCOUNTED, { discounts: ['di_other', 'di_1'] }],
  [
    'a discount that has ended with its subscription',
    DISCOUNTED,
    { added: [addedTo('sub_0', true)] },
  ],
  [
    'a discount of two subscriptions, of which the first has ended',
    DISCOUNTED,
    { added: [addedTo('sub_1', true), addedTo('sub_2', false)], discounts: ['di_2'] },
  ],
  ['a discount of one invoice, which may be used', ONCE, {}],
  [
    'a discount whose months are over by the test clock',
    DISCOUNTED,
    { now: Date.now() + 90 * 86_400_000 },
  ],
  ['a discount of one invoice, ahead by the test clock', ONCE_AHEAD, { now: AHEAD }],
  [
    'a discount that was found by its reward, behind a log that lost its end',
    FOUND,
    { added: [addedTo('sub_1', false)], discounts: ['di_1'] },
  ],
  ['a paid invoice', INVOICED, { hasPaid: true }],
  ['a call that is under way, though it took effect', PAID.slice(0, 2), credits(one())],
  [
    'two credits that make up the redemption',
    PAID,
    credits(one({ amount: 400 }), one({ id: 'cbtxn_2', amount: 100 })),
  ],
  ['nothing', [EUROS], { isMissing: true }],
  ['a credit of a former account', [], { ...credits(one()), former: [['r', 500]] }],
  [
    'a discount of a former account that was paid as credit',
    [],
    { ...credits(one()), former: [['r', null]] },
  ],
] as const)('%s on both sides is no difference', async (_, events, provider) => {
  expect(await differences(events, provider)).toEqual([]);
});

it.each([
  ['a redemption without its credit', PAID, {}, [{ ...CREDIT, ledger: 500, provider: null }]],
  [
    'a redemption of a customer that is gone',
    PAID,
    { isMissing: true },
    [{ ...CREDIT, ledger: 500, provider: null }],
  ],
  [
    'a credit without a redemption',
    [EUROS],
    credits(one()),
    [{ ...CREDIT, ledger: null, provider: 500 }],
  ],
  [
    'a credit of a reward that was pushed and not redeemed',
    PAID.slice(0, 3),
    credits(one()),
    [{ ...CREDIT, ledger: null, provider: 500 }],
  ],
  [
    'a redemption of less than the call',
    [...PAID.slice(0, 3), redeemed(300)],
    credits(one()),
    [{ ...CREDIT, ledger: 300, provider: 500 }],
  ],
  [
    'a redemption that no call explains',
    [EUROS, redeemed(500)],
    {},
    [{ ...CREDIT, ledger: 500, provider: null }],
  ],
  [
    'a credit of another amount',
    PAID,
    credits(one({ amount: 900 })),
    [{ ...CREDIT, ledger: 500, provider: 900 }],
  ],
  [
    'a second credit',
    PAID,
    credits(one(), one({ id: 'cbtxn_2' })),
    [{ kind: 'DUPLICATE', ledger: 500, provider: 1000, transactions: ['cbtxn_1', 'cbtxn_2'] }],
  ],
  [
    'another credit than the one that the ledger names',
    PAID,
    credits(one({ id: 'cbtxn_2' })),
    [
      { ...CREDIT, ledger: 500, provider: null },
      { ...CREDIT, ledger: null, provider: 500 },
    ],
  ],
  [
    'a credit of an unknown reward',
    [],
    credits(one()),
    [{ ...CREDIT, ledger: null, provider: 500 }],
  ],
  [
    'a credit of another amount than a former account had',
    [],
    { ...credits(one({ amount: 900 })), former: [['r', 500]] },
    [{ ...CREDIT, ledger: 500, provider: 900 }],
  ],
  [
    'a second credit of a discount of a former account',
    [],
    { ...credits(one(), one({ id: 'cbtxn_2' })), former: [['r', null]] },
    [{ kind: 'DUPLICATE', ledger: null, provider: 1000, transactions: ['cbtxn_1', 'cbtxn_2'] }],
  ],
  [
    'a discount that was paid as a credit, and is missing',
    AS_CREDIT,
    {},
    [{ ...CREDIT, ledger: 199, provider: null }],
  ],
  [
    'a discount that is missing',
    DISCOUNTED,
    { discounts: ['di_2'] },
    [{ kind: 'DISCOUNT', ledger: 10, provider: null }],
  ],
  [
    'a discount that was found by its reward, and taken off since',
    FOUND,
    { added: [addedTo('sub_1', false)] },
    [{ kind: 'DISCOUNT', ledger: 10, provider: null }],
  ],
  [
    'a discount that was taken off a subscription that continues',
    DISCOUNTED,
    { added: [addedTo('sub_0', true), addedTo('sub_1', false)] },
    [{ kind: 'DISCOUNT', ledger: 10, provider: null }],
  ],
  [
    'a paid invoice that the ledger does not know',
    [],
    { hasPaid: true },
    [{ kind: 'CONVERSION', ledger: null, provider: 'PAID' }],
  ],
  [
    'a paid account without an invoice',
    INVOICED,
    {},
    [{ kind: 'CONVERSION', ledger: 'PAID', provider: null }],
  ],
] as const)('%s is a difference', async (_, events, provider, expected) => {
  expect(await differences(events, provider)).toEqual(expected);
});
