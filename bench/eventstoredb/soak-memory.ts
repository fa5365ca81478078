import { loadavg } from 'node:os';
import { catchUpMemory, smallEvent, type MemorySample } from './catch-up-memory.js';
import { fill, openMeasuredStore, openOwnLog } from './measured-store.js';

/**
 * What a process holds while it catches up with a million events slower than the store sends them.
 * Fails (exit 1) when that grows.
 *
 * `ESDB_URL`: the server to read from, else the double in a process of its own. `SOAK_EVENTS` (1
 * 000 000), `SOAK_SLOWNESS_US` (60) of work for each event. Needs `--expose-gc`.
 */
const EVENTS = Number(process.env.SOAK_EVENTS ?? 1_000_000);
const SLOWNESS_US = Number(process.env.SOAK_SLOWNESS_US ?? 60);
const SAMPLES = 10;
/** The same for ten events and for ten million: a page of a thousand and V8's own memory. */
const GROWTH_BYTES_MAX = 8 * 1024 * 1024;
const RESIDENT_GROWTH_BYTES_MAX = 48 * 1024 * 1024;

const mb = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MB`;

const show = ({ events, heapBytes, externalBytes, residentBytes }: MemorySample): void =>
  console.log(
    `${String(events).padStart(9)} events: heap ${mb(heapBytes)}, external ${mb(externalBytes)}, resident ${mb(residentBytes)}`,
  );

async function main(): Promise<void> {
  if (globalThis.gc === undefined) throw new Error('run with --expose-gc');
  const store = await openMeasuredStore();
  const { log } = openOwnLog(store.address);
  try {
    console.log(
      `${(await log.check()).store}, ${store.kind}; Node ${process.version}; load of the machine ${loadavg()[0]?.toFixed(1)}`,
    );
    const filling = performance.now();
    await fill(log, EVENTS, smallEvent);
    console.log(
      `${EVENTS} events written in ${((performance.now() - filling) / 1000).toFixed(0)} s; ${SLOWNESS_US} µs of work for each`,
    );
    const { eventsPerSecond, heapGrowthBytes, residentGrowthBytes } = await catchUpMemory({
      log,
      events: EVENTS,
      sampleEvery: EVENTS / SAMPLES,
      slownessUs: SLOWNESS_US,
      onSample: show,
    });
    const isFlat =
      heapGrowthBytes <= GROWTH_BYTES_MAX && residentGrowthBytes <= RESIDENT_GROWTH_BYTES_MAX;
    console.log(
      `${eventsPerSecond.toFixed(0)} events/s; from the first third to the last: heap and external ${mb(heapGrowthBytes)}, ` +
        `resident ${mb(residentGrowthBytes)}: ${isFlat ? 'FLAT' : 'NOT FLAT'}`,
    );
    if (!isFlat) process.exitCode = 1;
  } finally {
    await log.close();
    await store.stop();
  }
}

await main();
