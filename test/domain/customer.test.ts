import fc from 'fast-check';
import type {
  CustomerEvent,
  ProviderEventReceived,
} from '../../src/domain/customer/customer.state.js';
import { decide, release } from '../../src/domain/customer/customer.decider.js';
import {
  disputesOf,
  evolve,
  initialState,
  isDayFull,
  customerSummary,
  WAITS_MS,
  type CustomerState,
  type ProviderFact,
} from '../../src/domain/customer/customer.state.js';
import { runs } from '../support/property-runs.js';

const LINKED_AT = 100 * WAITS_MS;
const LINK = { account: 'acme', since: LINKED_AT };

function received(
  name: string,
  created: number,
  fact: ProviderFact,
  over: Partial<ProviderEventReceived> = {},
): ProviderEventReceived {
  return {
    type: 'ProviderEventReceived',
    at: LINKED_AT,
    provider: 'stripe',
    eventType: 'any',
    eventRef: name,
    created,
    ids: { subject: 'customer', value: { event: name, invoice: null, payments: [] } },
    refs: { invoice: null, subscription: null, left: [] },
    fact,
    ...over,
  };
}

const invoice = (amountPaid: number): ProviderFact => ({
  kind: 'INVOICE_PAID',
  amountPaid,
  currency: 'EUR',
  interval: { type: 'MONTH', value: 1 },
});
const ids = (invoiceId: string | null, ...payments: string[]) => ({
  ids: { subject: 'customer', value: { event: 'e', invoice: invoiceId, payments } },
});
const refund = (amount: number, amountRefunded = amount): ProviderFact => ({
  kind: 'REFUNDED',
  amount,
  amountRefunded,
  currency: 'EUR',
});

const after = (...events: readonly CustomerEvent[]): CustomerState =>
  events.reduce(evolve, initialState);
const picture = (...events: readonly CustomerEvent[]) => customerSummary(after(...events), LINK);

it('an event of the provider is recorded once', () => {
  const { type: _, ...event } = received('a', 1, invoice(10));
  expect(decide(initialState, event)).toEqual({ events: [received('a', 1, invoice(10))] });
  expect(decide(after(received('a', 1, invoice(10))), event)).toEqual({ events: [] });
});

it('the status is that of the newest event by the time of the provider', () => {
  expect(
    picture(received('b', 2, invoice(10)), received('a', 1, { kind: 'CANCELLED' })).status,
  ).toBe('PAID');
  expect(
    picture(received('b', 2, { kind: 'CANCELLED' }), received('a', 1, invoice(10))),
  ).toMatchObject({
    status: 'CANCELLED',
    firstPaid: { created: 1, amountPaid: 10 },
  });
});

it('an older event that arrives after a move of the test clock undoes no newer one', () => {
  const ended = received('b', 2, { kind: 'CANCELLED' });
  const paid = received('a', 1, invoice(10), { aheadMs: 30 * 24 * 3_600_000 });
  expect(picture(ended, paid)).toMatchObject({
    status: 'CANCELLED',
    firstPaid: { created: 1 + 30 * 24 * 3_600_000 },
  });
});

it('in one second a payment counts most, then the end of the subscription, then a trial', () => {
  const [paid, ended] = [received('a', 1, invoice(10)), received('b', 1, { kind: 'CANCELLED' })];
  const trial = received('c', 1, { kind: 'TRIAL' });
  for (const events of [
    [paid, trial],
    [trial, paid],
  ])
    expect(picture(...events).status).toBe('PAID');
  for (const events of [
    [paid, trial, ended],
    [ended, trial, paid],
  ])
    expect(picture(...events)).toMatchObject({ status: 'PAID', firstPaid: { amountPaid: 10 } });
  expect(picture(ended, trial).status).toBe('CANCELLED');
});

const DAY = 24 * 3_600_000;
const NOON = Math.ceil(LINKED_AT / DAY) * DAY + DAY / 2;
const ahead = (name: string, created: number, fact: ProviderFact) =>
  received(name, created, fact, { at: NOON });

it('an event of more than a day ahead of its recording counts until the end of the day of its recording', () => {
  const far = ahead('a', NOON + 10_000 * DAY, invoice(10));
  const newer = (at: number) => received('b', at, { kind: 'CANCELLED' }, { at });
  expect(picture(far, newer(NOON + DAY / 4)).status).toBe('PAID');
  expect(picture(far, newer(NOON + DAY)).status).toBe('CANCELLED');
  expect(picture(newer(NOON + DAY), far)).toMatchObject({
    status: 'CANCELLED',
    firstPaid: { created: NOON + 10_000 * DAY },
  });
});

it('an event of more than a day ahead of its recording is ordered by the time of the provider among those of its day', () => {
  const [trial, paid, ended] = [
    ahead('c', NOON + 30 * DAY, { kind: 'TRIAL' }),
    ahead('b', NOON + 60 * DAY, invoice(10)),
    ahead('a', NOON + 90 * DAY, { kind: 'CANCELLED' }),
  ];
  expect(picture(ended, paid, trial).status).toBe('CANCELLED');
  expect(picture(paid, trial).status).toBe('PAID');
});

it('an event of at most a day ahead of its recording keeps its time', () => {
  const paid = ahead('a', NOON + DAY, invoice(10));
  const ended = received('b', NOON + DAY - 1, { kind: 'CANCELLED' }, { at: NOON + DAY });
  expect(picture(paid, ended).status).toBe('PAID');
});

it('an invoice of nothing is a trial, unless one was paid', () => {
  expect(picture(received('a', 1, invoice(0)))).toMatchObject({ status: 'TRIAL', firstPaid: null });
  expect(picture(received('b', 2, invoice(0)), received('a', 1, invoice(5))).status).toBe('PAID');
});

it('events that waited for longer than 30 days do not count', () => {
  const late = { at: LINKED_AT - WAITS_MS - 1 };
  expect(picture(received('a', 1, invoice(10), late)).firstPaid).toBeNull();
  expect(
    picture(received('a', 1, invoice(10), { at: LINKED_AT - WAITS_MS })).firstPaid,
  ).not.toBeNull();
});

const of = (subscription: string, ...left: readonly string[]) => ({
  refs: { invoice: null, subscription, left },
});

const paid = received('p', 1, invoice(10));
const active = received('a', 2, { kind: 'ACTIVE' }, of('other'));
const end = (name: string, created: number, ...left: readonly string[]) =>
  received(`end of ${name}`, created, { kind: 'CANCELLED' }, of(name, ...left));

it.each([
  ['while no other one is known', [paid, end('one', 3)], 'CANCELLED'],
  ['while another one is active', [paid, active, end('one', 3)], 'PAID'],
  [
    'while another one is on trial',
    [paid, received('t', 2, { kind: 'TRIAL' }, of('other')), end('one', 3)],
    'TRIAL',
  ],
  [
    'while another one is past due',
    [paid, active, received('d', 3, { kind: 'INACTIVE' }, of('other')), end('one', 4)],
    'CANCELLED',
  ],
  ['while the provider lists another one', [paid, end('one', 3, 'other')], 'PAID'],
  [
    'while the listed one has ended by an event',
    [paid, end('other', 2, 'one'), end('one', 3, 'other')],
    'CANCELLED',
  ],
  ['of the last one of two', [paid, active, end('one', 3), end('other', 4)], 'CANCELLED'],
  [
    'before another one begins, which has paid nothing',
    [paid, end('one', 3), received('n', 4, { kind: 'ACTIVE' }, of('new'))],
    'CANCELLED',
  ],
] as const)('the end of a subscription %s', (_, events, status) => {
  expect(picture(...events).status).toBe(status);
  expect(picture(...events.toReversed()).status).toBe(status);
});

const had = received('a', 1, invoice(10), {
  ...ids('in_1'),
  refs: { invoice: 'ref_1', subscription: null, left: [] },
});
const released: CustomerEvent = { type: 'CustomerReleased', at: LINKED_AT, account: 'former' };
const nothing = { firstPaid: null, newestPaid: null, status: null, refundedAt: null };

it('a customer that another account gets has nothing of the previous account', () => {
  expect(picture(had, released)).toMatchObject(nothing);
  expect(
    customerSummary(after(had, released), { account: 'former', since: LINKED_AT }).status,
  ).toBe('PAID');
});

it('a customer that another account gets has the later events, also a refund of an invoice that it did not have', () => {
  const refunded = received('r', 2, refund(10), ids('in_1'));
  expect(picture(had, released, refunded)).toMatchObject(nothing);
  expect(picture(had, released, refunded, received('b', 3, invoice(7)))).toMatchObject({
    firstPaid: { created: 3, amountPaid: 7 },
    refundedAt: null,
  });
});

it('a customer that another account gets has no subscription that ended while the account before had it', () => {
  const ended = received('e', 3, { kind: 'CANCELLED' }, of('one'));
  const late = received('late', 2, { kind: 'ACTIVE' }, of('one'));
  const own = [received('p', 4, invoice(10)), received('own', 5, { kind: 'CANCELLED' }, of('two'))];
  expect(picture(ended, released, late, ...own).status).toBe('CANCELLED');
});

it('a customer that another account gets has no remains of an older release whose ids are erased', () => {
  const older = { ...had, refs: null, ids: { subject: 'customer', value: null } };
  expect(picture(older)).toMatchObject(nothing);
  expect(picture({ ...had, refs: null }).status).toBe('PAID');
});

it('a customer that another account gets is released once for what is recorded', () => {
  const command = { account: 'former', now: LINKED_AT };
  expect(release(after(had), command)).toEqual({ events: [released] });
  expect(release(after(had, released), command)).toEqual({ events: [] });
  expect(release(initialState, command)).toEqual({ events: [] });
});

const charged = received('a', 1, invoice(10), ids('in_1', 'pi_1'));
const disputed = (status: string, created: number, amount: number | null = 10) =>
  received(
    `${status} ${created}`,
    created,
    { kind: 'DISPUTED', status, since: 2, amount },
    ids(null, 'ch_1', 'pi_1'),
  );

it.each([
  ['that is lost', disputed('lost', 3), 3],
  ['that is lost, of a charge of an unknown amount', disputed('lost', 3, null), 3],
  ['that is lost, of a part', disputed('lost', 3, 9), null],
  ['that is won', disputed('won', 3), null],
  ['that is open', disputed('needs_response', 2), null],
] as const)('a dispute %s', (_, dispute, refundedAt) => {
  expect(picture(dispute, charged).refundedAt).toBe(refundedAt);
});

it('a dispute is shown with its newest status, at the account that had the charge', () => {
  const events = [charged, disputed('lost', 2), disputed('needs_response', 2)];
  const shown = [{ charge: 'ch_1', status: 'lost', created: 2 }];
  expect(disputesOf(after(...events), LINK)).toEqual(shown);
  const released: CustomerEvent = { type: 'CustomerReleased', at: 1, account: 'former' };
  const [first = charged, ...later] = events;
  expect(disputesOf(after(first, released, ...later), LINK)).toEqual([]);
});

const anyFact: fc.Arbitrary<ProviderFact> = fc.oneof(
  fc.constantFrom(0, 5, 10).map(invoice),
  fc
    .constantFrom('TRIAL' as const, 'CANCELLED' as const, 'CUSTOMER_DELETED' as const)
    .map((kind) => ({ kind })),
  fc.constantFrom(5, 10).map((amount) => refund(amount)),
);

it('the picture does not depend on order and repetition', () => {
  const events = fc
    .array(fc.tuple(anyFact, fc.constantFrom('in_1', 'in_2'), fc.constantFrom(1, 2, 3)), {
      maxLength: 8,
    })
    .map((facts) =>
      facts.map(([fact, invoiceId, created], index) =>
        received(`e${index}`, created, fact, ids(invoiceId)),
      ),
    );
  const mixed = events.chain((all) =>
    fc.tuple(
      fc.constant(all),
      fc
        .shuffledSubarray(all, { minLength: all.length })
        .chain((shuffled) =>
          fc.subarray(shuffled).map((again) => [...shuffled, ...again, ...shuffled]),
        ),
    ),
  );
  fc.assert(
    fc.property(mixed, ([inOrder, anyOrder]) => {
      expect(picture(...anyOrder)).toEqual(picture(...inOrder));
    }),
    { numRuns: runs(100) },
  );
});

const MIDNIGHT = Math.ceil(LINKED_AT / DAY) * DAY;
const onDay = (day: number, count: number, from = after()): CustomerState => {
  const at = MIDNIGHT + day * DAY;
  const events = Array.from({ length: count }, (_, n) =>
    received(`${day} ${n}`, at, { kind: 'IGNORED', because: 'STATUS' }, { at }),
  );
  return events.reduce(evolve, from);
};

it('the memory of repetitions has 10 000 events of a day at most: the next one is not recorded before midnight', () => {
  const state = onDay(0, 9_999);
  expect(isDayFull(state, MIDNIGHT)).toBe(false);
  const full = evolve(state, received('last', 0, invoice(1), { at: MIDNIGHT }));
  expect([isDayFull(full, MIDNIGHT + DAY - 1), isDayFull(full, MIDNIGHT + DAY)]).toEqual([
    true,
    false,
  ]);
});

const invoicePaid = (name: string, created: number, amount: number, over = {}) =>
  received(name, created, invoice(amount), over);

it('a picture counts as deleted after one event of the deletion', () => {
  const gone = received('g', 9, { kind: 'CUSTOMER_DELETED' });
  expect(picture(invoicePaid('a', 1, 5)).isGone).toBe(false);
  expect(picture(invoicePaid('a', 1, 5), gone).isGone).toBe(true);
});

it.each([
  ['of the invoice', ids('in_1'), ids('in_1'), 100, 100, true],
  ['of one of its payments', ids(null, 'pi_1', 'ch_1'), ids(null, 'ch_1'), 100, 100, true],
  ['of another invoice', ids('in_1'), ids('in_2'), 100, 100, false],
  ['of nothing that is named', ids(null), ids(null), 100, 100, false],
  ['of a part', ids('in_1'), ids('in_1'), 100, 99, false],
  ['of a smaller payment', ids('in_1'), ids('in_1'), 60, 60, false],
])('a picture has a refund of all of the first invoice: %s', (_name, ...rest) => {
  const [ofInvoice, ofRefund, amount, refunded, isRefunded] = rest;
  const facts = [
    invoicePaid('a', 1, 100, ofInvoice),
    received('r', 5, refund(amount, refunded), ofRefund),
  ];
  expect(picture(...facts).refundedAt).toBe(isRefunded ? 5 : null);
});

it('a picture has no refund when the ids of either are erased, or nothing was paid', () => {
  const erased = { ids: { subject: 'customer', value: null } };
  const refunded = received('r', 5, refund(100), ids('in_1'));
  expect(picture(invoicePaid('a', 1, 100, erased), refunded).refundedAt).toBeNull();
  expect(
    picture(invoicePaid('a', 1, 100, ids('in_1')), received('r', 5, refund(100), erased))
      .refundedAt,
  ).toBeNull();
  expect(picture(refunded).refundedAt).toBeNull();
});
