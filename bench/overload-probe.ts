import { get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';

/** Asks for health until told to stop, on a thread of its own. */
export interface Probe {
  readonly url: string;
}

/** What it saw since the last question. */
export interface Probed {
  /** Milliseconds of each answer, by path. */
  readonly live: readonly number[];
  readonly ready: readonly number[];
  /** Answers other than 200, and none within two seconds. */
  readonly failed: number;
}

const EVERY_MS = 50;
const WITHIN_MS = 2_000;

const live: number[] = [];
const ready: number[] = [];
let failed = 0;

function ask(url: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const began = performance.now();
    const asked = get(url, { timeout: WITHIN_MS, agent: false }, (answer) => {
      answer.resume();
      answer.once('end', () =>
        resolve(answer.statusCode === 200 ? performance.now() - began : undefined),
      );
    });
    asked.once('timeout', () => asked.destroy());
    asked.once('error', () => resolve(undefined));
  });
}

async function probe(url: string): Promise<never> {
  for (;;) {
    for (const [path, times] of [
      ['live', live],
      ['ready', ready],
    ] as const) {
      const ms = await ask(`${url}/health/${path}`);
      if (ms === undefined) failed += 1;
      else times.push(ms);
    }
    await delay(EVERY_MS);
  }
}

parentPort?.on('message', (message: Probe | 'tell') => {
  if (message !== 'tell') return void probe(message.url);
  const probed: Probed = { live: [...live], ready: [...ready], failed };
  live.length = ready.length = 0;
  failed = 0;
  parentPort?.postMessage(probed);
});
