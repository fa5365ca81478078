import { loadavg } from 'node:os';
import { BACKWARDS, END, EventStoreDBClient, START, type Position } from '@eventstore/db-client';
import { appendRate, byBareClient, redemption, throughPort } from './append-rates.js';
import {
  byBarePages,
  byBareSubscription,
  byFollow,
  byReadAll,
  PAGE,
  type CatchUp,
} from './catch-up-rates.js';
import type { Rate } from './rate.js';
import { fill, openMeasuredStore, openOwnLog, STREAM_PREFIX } from './measured-store.js';

/**
 * What the port costs: appends and catching up through it, beside the bare client that makes the
 * same calls, taking turns in one run.
 *
 * `ESDB_URL`: a server to measure against, else the double in a process of its own. `BENCH_ROUNDS`
 * (5), `BENCH_SECONDS` (3) a side and round, `BENCH_EVENTS` (100 000) to catch up with.
 */
const CALLERS = [1, 16, 64] as const;
const AIM = 0.85;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 3);
const EVENTS = Number(process.env.BENCH_EVENTS ?? 100_000);
const WARM_UP_SECONDS = 1;

type Log = ReturnType<typeof openOwnLog>;

async function appends({ log, namespace }: Log, client: EventStoreDBClient): Promise<void> {
  console.log(
    `\nappends per second (CPU of this process for each), ${ROUNDS} rounds of ${SECONDS} s a side in turns, medians`,
  );
  console.log('callers     bare client through the port   ratio   (of each round)');
  const [bare, port] = [byBareClient(client, namespace), throughPort(log)];
  for (const callers of CALLERS) {
    await appendRate(bare, callers, WARM_UP_SECONDS);
    await appendRate(port, callers, WARM_UP_SECONDS);
    const rates = await inTurns([
      () => appendRate(bare, callers, SECONDS),
      () => appendRate(port, callers, SECONDS),
    ]);
    const [bareRates = [], portRates = []] = rates;
    console.log(
      [
        String(callers).padStart(7),
        per(bareRates).padStart(15),
        per(portRates).padStart(16),
        verdict(portRates, bareRates),
      ].join(' '),
    );
  }
}

async function catchingUp({ log, namespace }: Log, client: EventStoreDBClient): Promise<void> {
  const from = await endOfStore(client);
  await fill(log, EVENTS, () => {
    const { data, metadata, ...event } = redemption();
    return { ...event, data: JSON.stringify(data), metadata: JSON.stringify(metadata) };
  });
  const prefix = `${namespace}${STREAM_PREFIX}`;
  const ways: readonly (readonly [string, CatchUp])[] = [
    ['bare client, readAll in pages', byBarePages(client, prefix, from)],
    ['bare client, filtered subscription', byBareSubscription(client, prefix, from)],
    ['port, readAll in pages', byReadAll(log)],
    ['port, follow', byFollow(log)],
  ];
  console.log(
    `\nevents per second (CPU of this process for each) while catching up with ${EVENTS}, pages of ${PAGE}, ${ROUNDS} rounds in turns, medians`,
  );
  for (const [, way] of ways) await way(EVENTS / 10);
  const rates = await inTurns(
    ways.map(
      ([, way]) =>
        () =>
          way(EVENTS),
    ),
  );
  const [bare = []] = rates;
  console.log(
    '                                             events/s   ratio   (of each round, beside the bare client’s pages)',
  );
  ways.forEach(([name], index) => {
    const own = rates[index] ?? [];
    console.log(`${name.padEnd(36)} ${per(own).padStart(16)} ${verdict(own, bare)}`);
  });
}

/** Each in its turn, round after round; @returns what each came to in each round. */
async function inTurns(measured: readonly (() => Promise<Rate>)[]): Promise<Rate[][]> {
  const rates = measured.map((): Rate[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, measure] of measured.entries()) rates[index]?.push(await measure());
  }
  return rates;
}

async function endOfStore(client: EventStoreDBClient): Promise<Position | typeof START> {
  for await (const { event } of client.readAll({
    direction: BACKWARDS,
    fromPosition: END,
    maxCount: 1,
  })) {
    if (event !== undefined) return event.position;
  }
  return START;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? NaN)
    : ((sorted[middle - 1] ?? NaN) + (sorted[middle] ?? NaN)) / 2;
}

/** Medians: how many a second, and what each costs. */
const per = (rates: readonly Rate[]): string =>
  `${median(rates.map(({ perSecond }) => perSecond)).toFixed(0)} (${median(rates.map(({ cpuUs }) => cpuUs)).toFixed(0)} µs)`;

function verdict(own: readonly Rate[], beside: readonly Rate[]): string {
  const [mine, others] = [own, beside].map((rates) => rates.map(({ perSecond }) => perSecond)) as [
    number[],
    number[],
  ];
  const ratio = median(mine) / median(others);
  const each = mine.map((rate, round) => (rate / (others[round] ?? NaN)).toFixed(2)).join(' ');
  return `${ratio.toFixed(2).padStart(7)}   (${each})   ${AIM} ${ratio >= AIM ? 'met' : 'missed'}`;
}

const load = (): string =>
  `load of the machine ${loadavg()
    .map((value) => value.toFixed(1))
    .join(' ')}`;

async function main(): Promise<void> {
  const store = await openMeasuredStore();
  const client = EventStoreDBClient.connectionString(store.url);
  const [appended, caughtUp] = [openOwnLog(store.address), openOwnLog(store.address)];
  try {
    console.log(
      `${(await appended.log.check()).store}, ${store.kind}; Node ${process.version}; ${load()}`,
    );
    await appends(appended, client);
    await catchingUp(caughtUp, client);
    console.log(`\n${load()}`);
  } finally {
    await Promise.all([appended.log.close(), caughtUp.log.close()]);
    // Waits for ever for its own streams, which have ended already.
    void client.dispose();
    await store.stop();
  }
}

await main();
// The client keeps its connection open although it was disposed of.
process.exit();
