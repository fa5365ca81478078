import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseEventStoreUrl, type EventStoreAddress } from '../../src/event-log/event-store-url.js';
import { EventStoreDbEventLog } from '../../src/event-log/eventstoredb/eventstoredb-event-log.js';
import type { NewEvent } from '../../src/event-log/event-log.js';

/**
 * A store to measure against: the server at `ESDB_URL`, else the double in a process of its own.
 */
export interface MeasuredStore {
  readonly url: string;
  readonly address: EventStoreAddress;
  /** For people. */
  readonly kind: string;
  stop(): Promise<void>;
}

/** The double holds what it is given in memory. */
const DOUBLE_HEAP_MB = 4_096;

export async function openMeasuredStore(): Promise<MeasuredStore> {
  const given = process.env.ESDB_URL;
  if (given)
    return {
      url: given,
      address: parseEventStoreUrl(given),
      kind: 'server at ESDB_URL',
      stop: () => Promise.resolve(),
    };
  const program = join(import.meta.dirname, 'double-process.js');
  const child = spawn(process.execPath, [`--max-old-space-size=${DOUBLE_HEAP_MB}`, program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [url] = (await once(createInterface(child.stdout), 'line')) as [string];
  return {
    url,
    address: parseEventStoreUrl(url),
    kind: 'double in a process of its own',
    stop: async () => {
      const exited = once(child, 'exit');
      child.stdin.end();
      await exited;
    },
  };
}

/** The prefix of all streams that are written here. */
export const STREAM_PREFIX = 'account-';

/** A separate log in the store, which may contain others. */
export function openOwnLog(address: EventStoreAddress): {
  readonly log: EventStoreDbEventLog;
  readonly namespace: string;
} {
  const namespace = `b${randomBytes(6).toString('hex')}-`;
  return {
    log: new EventStoreDbEventLog({ address, owner: 'bench', namespace, prefix: STREAM_PREFIX }),
    namespace,
  };
}

const STREAMS = 100;
const EVENTS_AT_ONCE = 500;
const APPENDS_AT_ONCE = 4;

/** Appends so many events, to a hundred streams in turn. */
export async function fill(
  log: EventStoreDbEventLog,
  events: number,
  make: () => NewEvent,
): Promise<void> {
  const revisions = new Map<string, bigint>();
  let left = events;
  const one = async (first: number): Promise<void> => {
    for (let turn = first; left > 0; turn += APPENDS_AT_ONCE) {
      const stream = `${STREAM_PREFIX}${turn % STREAMS}`;
      const count = Math.min(EVENTS_AT_ONCE, left);
      left -= count;
      const appended = await log.append(
        stream,
        revisions.get(stream) ?? 'no-stream',
        Array.from({ length: count }, make),
      );
      if (appended.kind === 'conflict')
        throw new Error("another process writes to the benchmark's streams");
      revisions.set(stream, appended.revision);
    }
  };
  await Promise.all(Array.from({ length: APPENDS_AT_ONCE }, (_, first) => one(first)));
}
