import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { Acceptors } from '../../src/http/edge/acceptors.js';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../support/embedded.js';

const CLIENTS = 24;

/** A server whose requests wait for `answer`. */
class Listening {
  readonly warnings: string[] = [];
  answer: () => void = () => undefined;
  readonly server: Server;
  private readonly acceptors: Acceptors;
  private readonly clients: Socket[] = [];

  constructor(count: number) {
    this.server = createServer((_request, response) => {
      this.answer = () => void response.end('answered');
    });
    this.acceptors = new Acceptors(this.server, count);
  }

  async start(): Promise<this> {
    await once(this.server.listen(0, '127.0.0.1'), 'listening');
    const warn = (_fields: object, message: string): void => void this.warnings.push(message);
    await this.acceptors.add({ info: () => undefined, warn, error: () => undefined });
    return this;
  }

  connect(): Socket {
    const { port } = this.server.address() as AddressInfo;
    const client = connect(port, '127.0.0.1').on('error', () => undefined);
    this.clients.push(client);
    return client;
  }

  /** Connections that are accepted in each turn of the event loop until all are. */
  async acceptedByTurn(): Promise<readonly number[]> {
    let accepted = 0;
    const count = (): void => void accepted++;
    this.server.on('connection', count);
    // The system completes each of them before the loop turns.
    for (let made = 0; made < CLIENTS; made++) this.connect();
    const turns: number[] = [];
    for (let before = 0; accepted < CLIENTS; before = accepted) {
      await new Promise((resolve) => setImmediate(resolve));
      turns.push(accepted - before);
    }
    this.server.off('connection', count);
    return turns;
  }

  async end(): Promise<void> {
    for (const client of this.clients) client.destroy();
    if (this.server.listening) await new Promise((resolve) => this.server.close(resolve));
  }
}

/** Whether anything listens. */
function isAnswered(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const client = connect(port, '127.0.0.1');
    client.once('connect', () => resolve(true)).once('error', () => resolve(false));
    client.once('connect', () => client.destroy());
  });
}

/** Other processes of Node are this shell's commands meanwhile. */
async function insteadOfNode(commands: string, work: () => Promise<void>): Promise<void> {
  const { execPath } = process;
  const folder = await mkdtemp(join(tmpdir(), 'instead-of-node-'));
  try {
    process.execPath = join(folder, 'node');
    await writeFile(process.execPath, `#!/bin/sh\n${commands}\n`, { mode: 0o700 });
    await work();
  } finally {
    process.execPath = execPath;
    await rm(folder, { recursive: true });
  }
}

describe('acceptors of a listening socket', () => {
  let listening: Listening;

  afterEach(() => listening.end());

  /** The server stops while handles are added: nothing is left, and nothing is said. */
  async function stopsWhileAdded(): Promise<void> {
    listening = new Listening(8);
    const starting = listening.start();
    await once(listening.server, 'listening');
    const { port } = listening.server.address() as AddressInfo;
    await new Promise((resolve) => listening.server.close(resolve));
    await starting;
    expect(listening.warnings).toEqual([]);
    expect(await isAnswered(port)).toBe(false);
  }

  it('accept as many connections in a turn of the event loop as there are', async () => {
    listening = await new Listening(8).start();
    const turns = await listening.acceptedByTurn();
    expect(listening.warnings).toEqual([]);
    expect(Math.max(...turns)).toBe(8);
  });

  it('are one at first: Node accepts one connection in a turn', async () => {
    listening = await new Listening(1).start();
    expect(Math.max(...(await listening.acceptedByTurn()))).toBe(1);
  });

  it('hand their connections to the server, which closes when those have ended', async () => {
    listening = await new Listening(16).start();
    const { server } = listening;
    const { port } = server.address() as AddressInfo;
    // Of so many most have come by an added handle.
    const clients = Array.from({ length: CLIENTS }, () => listening.connect());
    await Promise.all(clients.map((client) => once(client, 'connect')));
    const [last] = clients.slice(-1);
    if (last === undefined) throw new Error('no client');
    const asked = once(server, 'request');
    last.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await asked;
    let isClosed = false;
    const closed = new Promise<void>((resolve) =>
      server.close(() => {
        isClosed = true;
        resolve();
      }),
    );
    for (const client of clients) if (client !== last) client.destroy();
    await eventually(async () => !(await isAnswered(port)));
    expect(isClosed).toBe(false);
    const answered = once(last, 'data') as Promise<[Buffer]>;
    listening.answer();
    expect(String((await answered)[0])).toMatch(/^HTTP\/1\.1 200 OK.*answered$/s);
    last.destroy();
    await closed;
  });

  it('are not added to a server that has stopped meanwhile', async () => {
    await stopsWhileAdded();
  });

  it('are not waited for when the server stops: what makes them is ended', async () => {
    await insteadOfNode('exec sleep 600', stopsWhileAdded);
  });

  it('stop with the server, those too that came before the others failed', async () => {
    const sendsThree = `process.on('message', (times, handle) => {
      for (let sent = 0; sent < 2; sent++) process.send(sent, handle);
      process.send(2, handle, () => process.exit());
    });`;
    await insteadOfNode(`exec '${process.execPath}' -e "${sendsThree}"`, async () => {
      listening = await new Listening(8).start();
    });
    expect(listening.warnings).toEqual(['connections are accepted one by one']);
    expect(Math.max(...(await listening.acceptedByTurn()))).toBe(4);
    const { port } = listening.server.address() as AddressInfo;
    const asked = once(listening.server, 'request');
    listening.connect().write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await asked;
    listening.server.close();
    await eventually(async () => !(await isAnswered(port)));
  });

  it('leave a server alone that they cannot be added to, and say so', async () => {
    listening = await new Listening(1).start();
    const { execPath } = process;
    const warnings: string[] = [];
    try {
      process.execPath = '/nowhere';
      await new Acceptors(listening.server, 8).add({
        info: () => undefined,
        warn: (_fields, message) => void warnings.push(message),
        error: () => undefined,
      });
    } finally {
      process.execPath = execPath;
    }
    expect(warnings).toEqual(['connections are accepted one by one']);
    expect(Math.max(...(await listening.acceptedByTurn()))).toBe(1);
  });
});
