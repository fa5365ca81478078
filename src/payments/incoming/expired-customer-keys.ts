import type { ReadableStreams } from '../../command-handling/readable-streams.js';
import { WAITS_MS } from '../../domain/customer/customer.state.js';
import { timeNow } from '../../foundation/world.js';
import { reservationOfCustomer } from '../../privacy/keyed-names.js';
import type { SubjectKeys } from '../../privacy/subject-keys.js';
import type { ProviderRows, ExpiredKey } from './payment-rows.js';
import { isInUse } from '../../domain/reservation/reservation.decider.js';

export interface ExpiredKeysParts {
  readonly rows: ProviderRows;
  readonly streams: Pick<ReadableStreams, 'customers' | 'reservations'>;
  readonly keys: Pick<SubjectKeys, 'destroy'>;
  /** Evicts what this process has decrypted with these keys. */
  readonly forget: (subjects: readonly string[]) => void;
  /** Makes the other processes evict them. */
  readonly announce: (subjects: readonly string[]) => Promise<void>;
}

const CONCURRENCY = 100;
const DAY_MS = 24 * 3_600_000;

/**
 * Destroys keys of customers who got no account in the days that their events waited. Idempotent,
 * also in several processes. @returns the number of checked keys; more may be left.
 */
export async function destroyExpiredKeys(parts: ExpiredKeysParts): Promise<number> {
  const { rows, keys, forget, announce } = parts;
  const before = timeNow() - WAITS_MS;
  const waited = await rows.expiredKeys(before, CONCURRENCY);
  const ended: string[] = [];
  for (const key of waited) if (await isEnded(parts, key, before)) ended.push(key.subject);
  if (ended.length > 0) {
    await keys.destroy(ended);
    forget(ended);
    await announce(ended);
    for (const subject of ended) await rows.dropExpired(subject, before);
  }
  return waited.length;
}

async function isEnded(
  { rows, streams }: ExpiredKeysParts,
  { subject, stream }: ExpiredKey,
  before: number,
): Promise<boolean> {
  const { state: reservation } = await streams.reservations.load(reservationOfCustomer(stream));
  if (!isInUse(reservation)) return true;
  const { state: customer } = await streams.customers.load(stream);
  // The erasure of the account ends the newest key; an earlier one is checked daily until then.
  if (customer.subject === subject) await rows.dropExpired(subject, before);
  else await rows.restartWait(subject, before + DAY_MS);
  return false;
}
