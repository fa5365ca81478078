import type { Pool } from 'pg';
import type { ReadableStreams } from '../../command-handling/readable-streams.js';
import { WAITS_MS } from '../../domain/customer/customer.state.js';
import { timeNow } from '../../foundation/world.js';
import { announceErasure } from '../../postgres/erasure-announcements.js';
import { reservationOfCustomer } from '../../privacy/keyed-names.js';
import type { SubjectKeys } from '../../privacy/subject-keys.js';
import { dropWaited, waitAgain, waitedKeys, type WaitedKey } from './payment-rows.js';

export interface WaitedKeysParts {
  readonly pool: Pool;
  readonly streams: Pick<ReadableStreams, 'customers' | 'reservations'>;
  readonly keys: Pick<SubjectKeys, 'destroy'>;
  /** Evicts what this process has decrypted with these keys. */
  readonly forget: (subjects: readonly string[]) => void;
}

const AT_ONCE = 100;
const DAY_MS = 24 * 3_600_000;

/**
 * Destroys keys of customers that no account has got in the days that their events waited.
 * Repeated, and in several processes, it does the same.
 * @returns how many keys were looked at; more may be left.
 */
export async function endWaitedKeys(parts: WaitedKeysParts): Promise<number> {
  const { pool, keys, forget } = parts;
  const before = timeNow() - WAITS_MS;
  const waited = await waitedKeys(pool, before, AT_ONCE);
  const ended: string[] = [];
  for (const key of waited) if (await isEnded(parts, key, before)) ended.push(key.subject);
  if (ended.length > 0) {
    await keys.destroy(ended);
    forget(ended);
    await announceErasure(pool, ended);
    for (const subject of ended) await dropWaited(pool, subject, before);
  }
  return waited.length;
}

async function isEnded(
  { pool, streams }: WaitedKeysParts,
  { subject, stream }: WaitedKey,
  before: number,
): Promise<boolean> {
  const { state: reservation } = await streams.reservations.load(reservationOfCustomer(stream));
  if (reservation.status !== 'held') return true;
  const { state: customer } = await streams.customers.load(stream);
  // The erasure of the account ends the newest key; an earlier one is looked at daily until then.
  if (customer.subject === subject) await dropWaited(pool, subject, before);
  else await waitAgain(pool, subject, before + DAY_MS);
  return false;
}
