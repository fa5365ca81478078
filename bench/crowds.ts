import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { makeDataDir, printedKey, removeDataDir, startServiceProcess } from './service-process.js';

/**
 * What a crowd without credentials costs the other clients: the calls of one client with a key, one
 * after the other, alone and beside each crowd. The crowds share the client's processor. Exits with
 * 1 when a call of the client beside a crowd is not answered with 200.
 *
 * `BENCH_SECONDS` (5), `BENCH_CONNECTIONS` (2200), `BENCH_FAILURES` (220 a second).
 */
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5);
const CONNECTIONS = Number(process.env.BENCH_CONNECTIONS ?? 2_200);
const FAILURES = Number(process.env.BENCH_FAILURES ?? 220);
const ADDRESSES = 12;
const LARGE_PAGE = '/docs/swagger-ui-bundle.js';
/** For the crowd to come, and to leave. */
const SETTLE_MS = 4_000;

interface Client {
  readonly port: number;
  readonly agent: Agent;
  readonly headers: Readonly<Record<string, string>>;
}

const basic = (key: string): string => `Basic ${Buffer.from(`:${key}`).toString('base64')}`;

/** The status of one call; 0: the connection was lost. */
function call({ port, agent, headers }: Client, from?: string): Promise<number> {
  const path = '/api/v1/demo/users?limit=1';
  const own = from === undefined ? {} : { localAddress: from };
  return new Promise((resolve) => {
    request({ host: '127.0.0.1', port, path, agent, headers, ...own }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    })
      .on('error', () => resolve(0))
      .end();
  });
}

interface Measured {
  readonly p50: number;
  readonly p99: number;
  readonly calls: number;
  readonly refused: number;
}

async function measure(client: Client): Promise<Measured> {
  const times: number[] = [];
  let refused = 0;
  const end = performance.now() + SECONDS * 1_000;
  for (let began = performance.now(); began < end; began = performance.now()) {
    if ((await call(client)) !== 200) refused += 1;
    times.push(performance.now() - began);
  }
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? NaN;
  return { p50: at(0.5), p99: at(0.99), calls: times.length, refused };
}

/** Connections from twelve addresses of the loopback network, which send this and read nothing. */
function holdConnections(port: number, sent: string): () => void {
  const sockets: Socket[] = [];
  for (let n = 0; n < CONNECTIONS; n++) {
    const localAddress = `127.0.0.${2 + (n % ADDRESSES)}`;
    const socket = connect({ host: '127.0.0.1', port, localAddress }, () => socket.write(sent));
    socket.on('error', () => undefined);
    sockets.push(socket);
  }
  return () => sockets.forEach((socket) => socket.destroy());
}

/** Wrong keys at a steady rate, from one address. */
function failSteadily(port: number): () => void {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const headers = { authorization: basic('wrong') };
  const everyMs = 20;
  const timer = setInterval(() => {
    for (let n = 0; n < (FAILURES * everyMs) / 1_000; n++)
      void call({ port, agent, headers }, '127.0.0.2');
  }, everyMs);
  return () => {
    clearInterval(timer);
    agent.destroy();
  };
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

async function main(): Promise<void> {
  const dataDir = await makeDataDir();
  const service = await startServiceProcess({ env: { DATA_DIR: dataDir } });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const { port } = service;
  const crowds: readonly (readonly [string, () => () => void])[] = [
    ['alone', () => () => undefined],
    [`beside ${CONNECTIONS} connections without a request`, () => holdConnections(port, '')],
    [
      `beside ${CONNECTIONS} connections that read no answer`,
      () => holdConnections(port, get(LARGE_PAGE).repeat(2)),
    ],
    [`beside ${FAILURES} wrong keys a second`, () => failSteadily(port)],
  ];
  try {
    await service.ready();
    const headers = { authorization: basic(printedKey(service.output())) };
    for (let n = 0; n < 200; n++) await call({ port, agent, headers });
    for (const [name, come] of crowds) {
      const leave = come();
      await delay(SETTLE_MS);
      const { p50, p99, calls, refused } = await measure({ port, agent, headers });
      leave();
      await delay(SETTLE_MS);
      process.stdout.write(
        `p50 ${p50.toFixed(2)} ms  p99 ${p99.toFixed(2)} ms  ${calls} calls, ${refused} not answered  ${name}\n`,
      );
      if (refused > 0) process.exitCode = 1;
    }
  } finally {
    agent.destroy();
    await service.terminate();
    await removeDataDir(dataDir);
  }
}

await main();
