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
  private readonly others = new Set<SocketServer>();
  private isStopped = false;

  /** @param count handles in all; 1: only the server's own. */
  constructor(
    private readonly server: Server,
    private readonly count: number,
  ) {
    if (count > 1) waitForOthers(server, () => this.stop());
  }

  /**
   * Adds the handles to the listening server. Where that fails the server goes on with its own, and
   * the log says so.
   */
  async add(logger: Logger): Promise<void> {
    const own: unknown = Reflect.get(this.server, '_handle');
    if (this.count <= 1 || !isHandle(own)) return;
    try {
      for (const copy of await copiesOf(own, this.count - 1)) this.accept(copy);
    } catch (error) {
      logger.warn({ error: errorName(error) }, 'connections are accepted one by one');
    }
  }

  /** Accepts no more; resolves when the connections of the added handles have ended. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await Promise.all([...this.others].map(closed));
  }

  private accept(copy: Handle): void {
    if (this.isStopped) return copy.close();
    const { server } = this;
    // As the HTTP server itself makes its sockets.
    const other = new SocketServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
      server.emit('connection', socket),
    );
    // The limit is the socket's: the last call sets it.
    other.listen(copy, NOT_ACCEPTED_MAX);
    this.others.add(other);
  }
}

/** Closing the server waits for the connections that others have accepted for it. */
function waitForOthers(server: Server, stopOthers: () => Promise<void>): void {
  const close = server.close.bind(server);
  server.close = (then) => close((error) => void stopOthers().then(() => then?.(error)));
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

/** @throws when the other process cannot be started, ends, or is late. */
async function copiesOf(own: Handle, times: number): Promise<readonly Handle[]> {
  const other = spawn(process.execPath, ['-e', SENDS_BACK], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: {},
  });
  try {
    const late = (): Error => new Error('the handles were not copied in time');
    return await inTime(sentBack(other, own, times), COPIED_WITHIN_MS, late);
  } finally {
    // Until then the socket listens, whoever else has closed it.
    if (other.kill('SIGKILL')) await once(other, 'exit');
  }
}

function sentBack(other: ChildProcess, own: Handle, times: number): Promise<readonly Handle[]> {
  return new Promise((resolve, reject) => {
    const copies: Handle[] = [];
    const failed = (error: Error | null): void => {
      if (error !== null) reject(error);
    };
    other.once('error', reject);
    other.once('exit', () => reject(new Error('the process that copies handles has ended')));
    other.on('message', (_number, copy: unknown) => {
      if (isHandle(copy)) copies.push(copy);
      if (copies.length === times) resolve(copies);
    });
    // Such a handle is sent as it is; of a server the other process would make one that accepts.
    other.send(times, own as never, failed);
  });
}
