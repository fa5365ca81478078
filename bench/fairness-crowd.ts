import { parentPort } from 'node:worker_threads';
import { ask, noTimes, type AskingClient } from './asking-clients.js';

/** Many clients of one tenant and address, for a phase. */
export interface Crowd {
  readonly client: AskingClient;
  readonly size: number;
  /** Epoch milliseconds. */
  readonly end: number;
}

// A thread of its own for all phases: one that loads its modules during a phase takes a processor.
parentPort?.on('message', ({ client, size, end }: Crowd) => {
  const times = noTimes();
  const clients = Array.from({ length: size }, (_, n) =>
    ask(client, { account: `crowd-${n}`, end }, times),
  );
  void Promise.all(clients).then(() => parentPort?.postMessage(times));
});
parentPort?.postMessage('ready');
