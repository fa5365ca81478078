import { randomUUID } from 'node:crypto';
import { jsonEvent, NO_STREAM, type EventStoreDBClient } from '@eventstore/db-client';
import type { EventStoreDbEventLog } from '../../src/event-log/eventstoredb/eventstoredb-event-log.js';
import { STREAM_PREFIX } from './measured-store.js';
import { startClock, type Rate } from './rate.js';

/** Appends one event; `revision` counts from 0 in each stream. */
export type Append = (stream: string, revision: number) => Promise<void>;

const APPENDS_PER_STREAM = 10;

/** Some 600 bytes of data and metadata, as a redemption has. */
export function redemption() {
  return {
    id: randomUUID(),
    type: 'CreditRedeemed',
    data: {
      rewardId: randomUUID(),
      person: randomUUID(),
      rewardType: 'CREDIT',
      unit: 'CENTS',
      redemptionId: randomUUID(),
      amount: 1250,
    },
    metadata: {
      v: 1,
      at: 1_795_000_000_000,
      $correlationId: randomUUID(),
      $causationId: randomUUID(),
      command: randomUUID(),
      key: randomUUID(),
      fingerprint: 'b1946ac92492d2347c6235b4d2611184b1946ac92492d2347c6235b4d2611184',
      actor: { kind: 'api-key', id: 'key-5f1c' },
      mode: 'live',
      tenant: 'demo',
    },
  };
}

/** As the service appends: texts through the port. */
export const throughPort =
  (log: EventStoreDbEventLog): Append =>
  async (stream, revision) => {
    const { data, metadata, ...event } = redemption();
    const texts = { ...event, data: JSON.stringify(data), metadata: JSON.stringify(metadata) };
    const result = await log.append(stream, revision === 0 ? 'no-stream' : BigInt(revision - 1), [
      texts,
    ]);
    if (result.kind !== 'appended') throw new Error('a conflict where there can be none');
  };

/**
 * The client's own call. With credentials of its own it uses the classic path; without TLS they are
 * not sent.
 */
export const byBareClient =
  (client: EventStoreDBClient, namespace: string): Append =>
  async (stream, revision) => {
    await client.appendToStream(`${namespace}${stream}`, jsonEvent(redemption()), {
      expectedRevision: revision === 0 ? NO_STREAM : BigInt(revision - 1),
      credentials: { username: 'admin', password: 'changeit' },
      requiresLeader: true,
    });
  };

/** So many callers, each in streams of its own, each waiting for its answer before it goes on. */
export async function appendRate(append: Append, callers: number, seconds: number): Promise<Rate> {
  const clock = startClock();
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  let done = 0;
  const call = async (): Promise<void> => {
    let stream = '';
    for (let n = 0; performance.now() < endsAt; n++) {
      const revision = n % APPENDS_PER_STREAM;
      if (revision === 0) stream = `${STREAM_PREFIX}${randomUUID()}`;
      await append(stream, revision);
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  return clock(done);
}
