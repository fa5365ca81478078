import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** Of a client between two calls, on average, in milliseconds. */
const PAUSE_MS = 50;

/** A client of a tenant. */
export interface AskingClient {
  readonly port: number;
  readonly alias: string;
  readonly key: string;
  /** The loopback address that it calls from. */
  readonly from: string;
}

/** What clients saw. */
export interface Times {
  /** Of each call, in milliseconds. */
  readonly ms: number[];
  /** Calls that were not answered with 200. */
  refused: number;
}

/** What a client does until when. */
export interface Asking {
  readonly account: string;
  /** Epoch milliseconds, with fractions. */
  readonly end: number;
}

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

export const noTimes = (): Times => ({ ms: [], refused: 0 });

/** Epoch milliseconds, with fractions; the same in all threads. */
export const now = (): number => performance.timeOrigin + performance.now();

/** One client until the end: a write and a read of its own account, in turn. */
export async function ask(
  client: AskingClient,
  { account, end }: Asking,
  times: Times,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const calls: readonly Asked[] = [
    {
      method: 'POST',
      path: 'accountsync',
      body: { id: account, subscription: { status: 'TRIAL' } },
    },
    { method: 'GET', path: `reward/balance?accountId=${account}` },
  ];
  await delay(Math.random() * PAUSE_MS);
  for (let n = 0; now() < end; n++) {
    const began = performance.now();
    const asked = calls[n % calls.length];
    if (asked === undefined) return;
    const status = await call(client, agent, asked);
    times.ms.push(performance.now() - began);
    if (status !== 200) times.refused += 1;
    await delay(PAUSE_MS * (0.5 + Math.random()));
  }
  agent.destroy();
}

/** The status of one call; 0: the connection was lost. */
function call(client: AskingClient, agent: Agent, { method, path, body }: Asked): Promise<number> {
  const text = body === undefined ? '' : JSON.stringify(body);
  const options = {
    host: '127.0.0.1',
    port: client.port,
    localAddress: client.from,
    path: `/api/v1/${client.alias}/${path}`,
    method,
    agent,
    headers: {
      authorization: `Basic ${Buffer.from(`:${client.key}`).toString('base64')}`,
      ...(text === ''
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    },
  };
  return new Promise((resolve) => {
    request(options, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    })
      .on('error', () => resolve(0))
      .end(text);
  });
}
