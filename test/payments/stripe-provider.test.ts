import { ProviderFailure } from '../../src/payments/payment-provider.js';
import { StripeProvider } from '../../src/payments/stripe/stripe-provider.js';
import { EndpointGuard } from '../../src/webhooks/sending/endpoint-guard.js';
import { StripeDouble } from '../support/stripe-double.js';

/** The adapter, through the official package, over TLS on loopback. */

const KEY = 'sk_test_adapter0001';
const LOOPBACK = { address: '127.0.0.0', prefix: 8, family: 'ipv4' } as const;
const WITHIN_MS = 60_000;

let double: StripeDouble;
let provider: StripeProvider;

beforeAll(async () => {
  double = await StripeDouble.start({ secretKey: KEY, tls: true });
  provider = providerWith({ withinMs: WITHIN_MS });
});
afterAll(async () => {
  await provider.close();
  await double.stop();
});

const providerWith = ({ withinMs }: { readonly withinMs: number }): StripeProvider =>
  new StripeProvider(new EndpointGuard({ allowed: [LOOPBACK] }), {
    withinMs,
    trusted: double.certificate,
  });

const calls = (secretKey = KEY, from = provider) => from.calls({ secretKey, apiBase: double.url });

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  const failure: unknown = await work.catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ProviderFailure);
  const { kind, message } = failure as ProviderFailure;
  expect(message).not.toContain(KEY);
  return kind;
}

describe('a key', () => {
  it('is checked by one call, with the pinned version of the interface', async () => {
    const before = double.calls.length;
    await calls().check();
    expect(double.calls.slice(before)).toEqual([
      expect.objectContaining({
        method: 'GET',
        path: '/v1/balance',
        version: '2026-10-28.endive',
      }),
    ]);
  });

  it('that the provider does not know is refused', async () => {
    expect(await failureOf(calls('sk_test_unknown0001').check())).toBe('refused');
  });

  it.each([
    ['sk_live_0123456789', 'live'],
    ['sk_test_0123456789', 'test'],
    ['rk_live_0123456789', 'live'],
    ['pk_live_0123456789', undefined],
    ['sk_live_', undefined],
    ['sk_live_0123456789\nsk_test_0123456789', undefined],
  ])('%j is one of mode %s', (key, mode) => {
    expect(provider.modeOf(key)).toBe(mode);
  });
});

describe('the invoice of a payment', () => {
  it('is the one that the provider names, or none', async () => {
    const payment = { type: 'payment_intent', payment_intent: 'pi_1' };
    double.invoicePayments.push({ id: 'inpay_1', invoice: 'in_1', payment });
    expect(await calls().invoicePaidBy('pi_1')).toBe('in_1');
    expect(await calls().invoicePaidBy('pi_2')).toBeNull();
  });
});

describe('a call', () => {
  it.each([
    [429, 'unavailable'],
    [409, 'unavailable'],
    [500, 'failed'],
    [503, 'failed'],
    [400, 'refused'],
    [403, 'refused'],
  ])('answered %i is %s', async (status, kind) => {
    double.fail({ kind: 'answer', status });
    expect(await failureOf(calls().check())).toBe(kind);
  });

  it.each([{ kind: 'rubbish' }, { kind: 'break-off' }] as const)(
    'with $kind for an answer may be repeated',
    async (fault) => {
      // The package repeats a call whose connection broke, once.
      double.fail(fault);
      double.fail(fault);
      expect(await failureOf(calls().check())).toBe('unavailable');
      double.faults.length = 0;
    },
  );

  it('without an answer ends after its time', async () => {
    const impatient = providerWith({ withinMs: 300 });
    double.fail({ kind: 'hang' });
    double.fail({ kind: 'hang' });
    expect(await failureOf(calls(KEY, impatient).check())).toBe('unavailable');
    double.faults.length = 0;
    await impatient.close();
  });

  it('is not made to an address that the guard refuses', async () => {
    const before = double.calls.length;
    const guarded = new StripeProvider(new EndpointGuard({ allowed: [] }));
    expect(await failureOf(calls(KEY, guarded).check())).toBe('unavailable');
    expect(double.calls).toHaveLength(before);
    await guarded.close();
  });
});
