import Stripe from 'stripe';
import { ProviderFailure } from '../payment-provider.js';

/** Reads the results of calls. Answers of an unexpected form count as failures. */

/** @throws {ProviderFailure} */
export async function called<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw failureOf(error);
  }
}

/** Uses codes only, because the package's messages may quote values of the request. */
function failureOf(error: unknown): ProviderFailure {
  if (error instanceof ProviderFailure) return error;
  if (!(error instanceof Stripe.errors.StripeError))
    return new ProviderFailure('unavailable', 'no answer of the provider could be read');
  const { statusCode, code, headers } = error;
  if (statusCode === undefined)
    return new ProviderFailure('unavailable', 'the provider did not answer');
  const reason = `the provider answered ${statusCode}${code === undefined ? '' : ` (${code})`}`;
  if (statusCode >= 500) {
    const isKept = headers?.['idempotent-replayed'] === 'true';
    return new ProviderFailure('failed', reason, isKept);
  }
  const isLater = statusCode === 409 || statusCode === 429 || statusCode < 400;
  const isMissing = code === 'resource_missing';
  return new ProviderFailure(isLater ? 'unavailable' : 'refused', reason, false, isMissing);
}

/** Wraps a function that reads answers, so that it throws only {ProviderFailure}. */
export const read =
  <A extends readonly unknown[], T>(ask: (...of: A) => Promise<T>) =>
  (...of: A): Promise<T> =>
    called(ask(...of));

/** @throws {ProviderFailure} */
export async function* readEach<T>(all: AsyncIterable<T>): AsyncIterable<T> {
  try {
    yield* all;
  } catch (error) {
    throw failureOf(error);
  }
}
