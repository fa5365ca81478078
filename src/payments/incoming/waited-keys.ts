import type { ReadableStreams } from '../../command-handling/readable-streams.js';
import { WAITS_MS } from '../../domain/customer/customer.state.js';
import { timeNow } from '../../foundation/world.js';
import { reservationOfCustomer } from '../../privacy/keyed-names.js';
import type { SubjectKeys } from '../../privacy/subject-keys.js';
import type { ProviderRows, WaitedKey } from './payment-rows.js';
import { isInUse } from '../../domain/reservation/reservation.decider.js';

export interface WaitedKeysParts {
  readonly rows: ProviderRows;
  readonly streams: Pick<ReadableStreams, 'customers' | 'reservations'>;
  readonly keys: Pick<SubjectKeys, 'destroy'>;
  /** Evicts what this process has decrypted with these keys. */
  readonly forget: (subjects: readonly string[]) => void;
  /** Tells the other processes to do so. */
  readonly announce: (subjects: readonly string[]) => Promise<void>;
}

const AT_ONCE = 100;
const DAY_MS = 24 * 3_600_000;

/**
 * Destroys keys of customers that no account has got in the days that their events waited.
 * Repeated, and in several processes, it does the same.
 * @returns how many keys were looked at; more may be left.
 */
export async function endWaitedKeys(parts: WaitedKeysParts): Promise<number> {
  const { rows, keys, forget, announce } = parts;
  const before = timeNow() - WAITS_MS;
  const waited = await rows.waitedKeys(before, AT_ONCE);
  const ended: string[] = [];
  for (const key of waited) if (await isEnded(parts, key, before)) ended.push(key.subject);
  if (ended.length > 0) {
    await keys.destroy(ended);
    forget(ended);
    await announce(ended);
    for (const subject of ended) await rows.dropWaited(subject, before);
  }
  return waited.length;
}

async function isEnded(
  { rows, streams }: WaitedKeysParts,
  { subject, stream }: WaitedKey,
  before: number,
): Promise<boolean> {
  const { state: reservation } = await streams.reservations.load(reservationOfCustomer(stream));
  if (!isInUse(reservation)) return true;
  const { state: customer } = await streams.customers.load(stream);
  // The erasure of the account ends the newest key; an earlier one is looked at daily until then.
  if (customer.subject === subject) await rows.dropWaited(subject, before);
  else await rows.waitAgain(subject, before + DAY_MS);
  return false;
}
