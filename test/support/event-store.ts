import { randomBytes } from 'node:crypto';
import { parseEventStoreUrl, type EventStoreAddress } from '../../src/config/event-store-url.js';
import { startEventStoreDbDouble } from '../harness/eventstoredb-double/double.js';

/** The EventStoreDB at `ESDB_URL` when that is set, else a double. */
export interface EventStoreUnderTest {
  readonly url: string;
  readonly address: EventStoreAddress;
  readonly isReal: boolean;
  stop(): Promise<void>;
}

export async function startEventStore(): Promise<EventStoreUnderTest> {
  const given = process.env.ESDB_URL;
  if (given)
    return {
      url: given,
      address: parseEventStoreUrl(given),
      isReal: true,
      stop: () => Promise.resolve(),
    };
  const double = await startEventStoreDbDouble();
  return {
    url: double.url,
    address: parseEventStoreUrl(double.url),
    isReal: false,
    stop: () => double.stop(),
  };
}

/** Keeps the logs of tests apart that share a store. */
export const freshNamespace = (): string => `t${randomBytes(6).toString('hex')}-`;
