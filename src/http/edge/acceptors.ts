import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { Server as SocketServer } from 'node:net';
import { errorName } from '../../foundation/describe-error.js';
import { inTime } from '../../foundation/in-time.js';
import type { Logger } from '../../foundation/logger.js';

/**
 * Connections of an address that are not accepted yet; the system's own limit may be less. A burst
 * larger than that is tried again by its clients' systems after a second.
 */
export const NOT_ACCEPTED_MAX = 4_096;

/** For those at the shutdown, however many more come. */
const ACCEPTED_WITHIN_MS = 1_000;

/** For the other process to start and to send all handles. */
const COPIED_WITHIN_MS = 10_000;

/**
 * Accepts several connections in a turn of the event loop. Node accepts one for each handle of a
 * listening socket, so that under load, when a turn takes milliseconds, connections wait for
 * seconds in the system's queue, or find it full and are tried again a second later: those of
 * health checks, too. More handles of the same socket accept as many more.
 *
 * Node makes a second handle of a socket by sending it to another process and back.
 */
export class Acceptors {
  private readonly others: SocketServer[] = [];
  private readonly stopping = new AbortController();
  private adding: Promise<void> | undefined;

  /** @param count handles in all; 1: only the server's own. */
  constructor(
    private readonly server: Server,
    private readonly count: number,
  ) {
    if (count > 1) stopWith(server, () => this.stop());
  }

  /**
   * Adds the handles to the listening server. Where that fails the server goes on with those that
   * it has, and the log says so.
   */
  add(logger: Logger): Promise<void> {
    this.adding = this.addOthers(logger);
    return this.adding;
  }

  /** Accepts no more; resolves when the connections of the added handles have ended. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all([this.adding, ...this.others.map(closed)]);
  }

  private async addOthers(logger: Logger): Promise<void> {
    const own: unknown = Reflect.get(this.server, '_handle');
    if (this.count <= 1 || !isHandle(own)) return;
    const { signal } = this.stopping;
    try {
      await copy(own, { times: this.count - 1, take: (copied) => this.accept(copied), signal });
    } catch (error) {
      if (signal.aborted) return;
      logger.warn({ error: errorName(error) }, 'connections are accepted one by one');
    }
  }

  private accept(copied: Handle): void {
    if (this.stopping.signal.aborted) return copied.close();
    const { server } = this;
    // As the HTTP server itself makes its sockets.
    const other = new SocketServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
      server.emit('connection', socket),
    );
    // The limit is the socket's: the last call sets it.
    other.listen(copied, NOT_ACCEPTED_MAX);
    this.others.push(other);
  }
}

/**
 * Accepts the connections that the system has made: it resets those that are left when the socket
 * is closed. Others may come all the time, so not for longer than a moment.
 */
export async function acceptWaiting(server: Server): Promise<void> {
  let accepted = 0;
  const count = (): void => void accepted++;
  server.on('connection', count);
  const end = performance.now() + ACCEPTED_WITHIN_MS;
  for (let before = -1; before < accepted && performance.now() < end;) {
    before = accepted;
    // The rest of this turn of the event loop, and one that looks at the socket.
    for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
  server.off('connection', count);
}

/** Closing the server stops the others, and waits for the connections that they have accepted. */
function stopWith(server: Server, stopOthers: () => Promise<void>): void {
  const close = server.close.bind(server);
  server.close = (then) => {
    const stopped = stopOthers();
    return close((error) => void stopped.then(() => then?.(error)));
  };
}

const closed = (server: SocketServer): Promise<void> =>
  new Promise((resolve) => server.close(() => resolve()));

/** What Node listens with, and passes to other processes. */
interface Handle {
  readonly fd: number;
  close(): void;
}

const isHandle = (value: unknown): value is Handle =>
  typeof value === 'object' && value !== null && 'fd' in value;

/**
 * Sends what it gets back, so many times, and runs until it is ended. It never listens: it would
 * accept connections.
 */
const SENDS_BACK = `process.on('message', (times, handle) => {
  for (let sent = 0; sent < times; sent++) process.send(sent, handle);
});`;

interface Copying {
  readonly times: number;
  /** Called with each copy, also where a later one fails. */
  readonly take: (copied: Handle) => void;
  /** Ends the other process at once. */
  readonly signal: AbortSignal;
}

/** @throws when the other process cannot be started, ends, or is late. */
async function copy(own: Handle, copying: Copying): Promise<void> {
  const other = spawn(process.execPath, ['-e', SENDS_BACK], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: {},
    signal: copying.signal,
    killSignal: 'SIGKILL',
  });
  try {
    const late = (): Error => new Error('the handles were not copied in time');
    await inTime(allSentBack(other, own, copying), COPIED_WITHIN_MS, late);
  } finally {
    // Until then the socket listens, whoever else has closed it.
    if (other.kill('SIGKILL')) await once(other, 'exit');
  }
}

function allSentBack(other: ChildProcess, own: Handle, { times, take }: Copying): Promise<void> {
  return new Promise((resolve, reject) => {
    let taken = 0;
    const failed = (error: Error | null): void => {
      if (error !== null) reject(error);
    };
    other.on('error', reject);
    other.once('exit', () => reject(new Error('the process that copies handles has ended')));
    other.on('message', (_number, copied: unknown) => {
      if (!isHandle(copied)) return;
      take(copied);
      taken += 1;
      if (taken === times) resolve();
    });
    // Such a handle is sent as it is; of a server the other process would make one that accepts.
    other.send(times, own as never, failed);
  });
}
