import {
  FORWARDS,
  START,
  streamNameFilter,
  type EventStoreDBClient,
  type Position,
} from '@eventstore/db-client';
import type { EventLog } from '../../src/event-log/event-log.js';
import { startClock, type Rate } from './rate.js';

/** Reads so many events from where the log begins. */
export type CatchUp = (events: number) => Promise<Rate>;

/** Of a page, on both sides. */
export const PAGE = 1_000;

export const byFollow =
  (log: EventLog): CatchUp =>
  async (events) => {
    const clock = startClock();
    const ending = new AbortController();
    let seen = 0;
    for await (const page of log.follow(undefined, { signal: ending.signal, pageSize: PAGE })) {
      seen += page.length;
      if (seen >= events) break;
    }
    ending.abort();
    return clock(seen);
  };

export const byReadAll =
  (log: EventLog): CatchUp =>
  async (events) => {
    const clock = startClock();
    let seen = 0;
    for (let after: string | undefined; seen < events;) {
      const page = await log.readAll(after, PAGE);
      if (page.length === 0) throw new Error(`the log ends after ${seen} events`);
      seen += page.length;
      after = page.at(-1)?.position;
    }
    return clock(seen);
  };

/**
 * The client's own pages of everything in the store: it has no filter for them, so only what is not
 * ours makes it slower.
 */
export const byBarePages =
  (client: EventStoreDBClient, prefix: string, from: Position | typeof START): CatchUp =>
  async (events) => {
    const clock = startClock();
    let seen = 0;
    for (let position = from; seen < events;) {
      let read = 0;
      for await (const { event } of client.readAll({
        direction: FORWARDS,
        fromPosition: position,
        maxCount: PAGE + 1,
      })) {
        read += 1;
        // The event at the position itself was there before.
        if (
          event === undefined ||
          (position !== START && event.position.commit === position.commit)
        )
          continue;
        if (event.streamId.startsWith(prefix)) seen += 1;
        position = event.position;
      }
      if (read < PAGE && seen < events) throw new Error(`the store ends after ${seen} events`);
    }
    return clock(seen);
  };

/** The client's own subscription with the filter that the port reads with. */
export const byBareSubscription =
  (client: EventStoreDBClient, prefix: string, from: Position | typeof START): CatchUp =>
  async (events) => {
    const clock = startClock();
    const subscription = client.subscribeToAll({
      fromPosition: from,
      filter: streamNameFilter({ prefixes: [prefix] }),
    });
    let seen = 0;
    for await (const { event } of subscription) {
      if (event !== undefined) seen += 1;
      if (seen >= events) break;
    }
    await subscription.unsubscribe();
    return clock(seen);
  };
