import fc from 'fast-check';
import { List } from 'immutable';
import type { CustomerEvent } from '../../src/domain/customer/customer.state.js';
import { decide } from '../../src/domain/customer/customer.decider.js';
import {
  evolve,
  initialState,
  pictureOf,
  WAITS_MS,
  type CustomerState,
  type ProviderFact,
} from '../../src/domain/customer/customer.state.js';
import { runs } from '../support/property-runs.js';

/** What the provider told about a customer, and the picture that it makes. */

const LINKED_AT = 100 * WAITS_MS;

function told(
  name: string,
  created: number,
  fact: ProviderFact,
  over: Partial<CustomerEvent> = {},
): CustomerEvent {
  return {
    type: 'ProviderEventReceived',
    at: LINKED_AT,
    provider: 'stripe',
    eventType: 'any',
    eventRef: name,
    created,
    ids: { subject: 'customer', value: { event: name, invoice: null, payments: [] } },
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
const picture = (...events: readonly CustomerEvent[]) => pictureOf(after(...events), LINKED_AT);

it('an event of the provider is recorded once', () => {
  const { type: _, ...event } = told('a', 1, invoice(10));
  expect(decide(initialState, event)).toEqual({ events: [told('a', 1, invoice(10))] });
  expect(decide(after(told('a', 1, invoice(10))), event)).toEqual({ events: [] });
});

it('the status is that of the newest event by the time of the provider', () => {
  expect(picture(told('b', 2, invoice(10)), told('a', 1, { kind: 'CANCELLED' })).status).toBe(
    'PAID',
  );
  expect(picture(told('b', 2, { kind: 'CANCELLED' }), told('a', 1, invoice(10)))).toMatchObject({
    status: 'CANCELLED',
    firstPaid: { created: 1, amountPaid: 10 },
  });
});

it('in one second the end of the subscription counts most, then a payment, then a trial', () => {
  const [paid, ended] = [told('a', 1, invoice(10)), told('b', 1, { kind: 'CANCELLED' })];
  const trial = told('c', 1, { kind: 'TRIAL' });
  for (const told of [
    [paid, trial],
    [trial, paid],
  ])
    expect(picture(...told).status).toBe('PAID');
  for (const told of [
    [paid, trial, ended],
    [ended, trial, paid],
  ])
    expect(picture(...told)).toMatchObject({ status: 'CANCELLED', firstPaid: { amountPaid: 10 } });
});

it('an invoice of nothing is a trial, unless one was paid', () => {
  expect(picture(told('a', 1, invoice(0)))).toMatchObject({ status: 'TRIAL', firstPaid: null });
  expect(picture(told('b', 2, invoice(0)), told('a', 1, invoice(5))).status).toBe('PAID');
});

it('events that waited for longer than 30 days do not count', () => {
  const late = { at: LINKED_AT - WAITS_MS - 1 };
  expect(picture(told('a', 1, invoice(10), late)).firstPaid).toBeNull();
  expect(picture(told('a', 1, invoice(10), { at: LINKED_AT - WAITS_MS })).firstPaid).not.toBeNull();
});

describe('a refund', () => {
  const first = told('a', 1, invoice(10), ids('in_1', 'pi_1'));
  const second = told('b', 2, invoice(10), ids('in_2', 'pi_2'));

  it.each([
    ['of the first invoice, by its id', refund(10), ids('in_1'), 3],
    ['of the first invoice, by its payment', refund(10), ids(null, 'ch_1', 'pi_1'), 3],
    ['of another invoice', refund(10), ids('in_2', 'pi_2'), null],
    ['of a part', refund(10, 9), ids('in_1'), null],
    ['of one of several payments', refund(4), ids(null, 'pi_1'), null],
    ['of nothing that is known', refund(10), ids(null), null],
  ] as const)('%s', (_, fact, over, refundedAt) => {
    expect(picture(second, told('c', 3, fact, over), first).refundedAt).toBe(refundedAt);
  });
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
        told(`e${index}`, created, fact, ids(invoiceId)),
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

describe('a customer with very many events', () => {
  const DAY = 24 * 3_600_000;
  const [DAYS, OF_DAY] = [150, 200];
  const kinds: readonly ProviderFact[] = [
    invoice(10),
    invoice(0),
    { kind: 'TRIAL' },
    refund(10),
    refund(10, 5),
    { kind: 'CANCELLED' },
  ];
  const events = Array.from({ length: DAYS * OF_DAY }, (_, n) => {
    const at = LINKED_AT + Math.floor(n / OF_DAY) * DAY + (n % OF_DAY);
    const fact = kinds[n % kinds.length] ?? invoice(10);
    // The first invoice is refunded by its own refund alone.
    const of = ids(fact.kind === 'REFUNDED' && n > 3 ? `refunded_${n}` : `in_${n}`);
    return told(`e${n}`, at, fact, { at, ...(n === 3 ? ids('in_0') : of) });
  });
  const state = after(...events);

  it('is folded into few facts and the hashes of the last days', () => {
    expect(state.facts.size).toBeLessThan(DAYS * 80);
    expect(state.seen.size).toBeLessThanOrEqual(61);
    const newest = told('again', 1, invoice(1), { eventRef: `e${events.length - 1}` });
    expect(evolve(state, newest)).toBe(state);
  });

  it('has the picture that all of its facts make', () => {
    const whole = { ...state, facts: List(events.map((one) => ({ ...one, ids: one.ids.value }))) };
    expect(pictureOf(state, LINKED_AT)).toEqual(pictureOf(whole, LINKED_AT));
    expect(pictureOf(state, LINKED_AT).refundedAt).toBe(LINKED_AT + 3);
    const late = LINKED_AT + 90 * DAY;
    expect(pictureOf(state, late)).toEqual(pictureOf(whole, late));
  });
});
