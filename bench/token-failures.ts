import { createHmac } from 'node:crypto';
import { Agent, request } from 'node:http';
import { makeDataDir, printedKey, removeDataDir, startServiceProcess } from './service-process.js';

/**
 * How long the service takes to refuse a user token, for each kind of fault: the time must not
 * reveal what is wrong. The kinds take turns on one kept connection, so that a slow spell of the
 * machine hits all; medians, and each as a ratio to that of a forged signature. Exits with 1 when a
 * median is outside 1 / `BOUND` to `BOUND`.
 *
 * `BENCH_ROUNDS` (400), `BENCH_BOUND` (1.5).
 */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 400);
const BOUND = Number(process.env.BENCH_BOUND ?? 1.5);
const WARM_UP = 50;

const part = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

function signed(
  claims: unknown,
  secret: string,
  header: unknown = { alg: 'HS256', typ: 'JWT' },
): string {
  const input = `${part(header)}.${part(claims)}`;
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
}

const REFERENCE = 'forged signature';

function tokensOf(secret: string): ReadonlyMap<string, string> {
  const user = { id: 'somebody@example.com', accountId: 'an account of ours' };
  const [header = '', payload = ''] = signed({ user }, secret).split('.');
  return new Map([
    [REFERENCE, signed({ user }, 'a guess')],
    ['no signature', `${header}.${payload}.`],
    ['two parts', `${header}.${payload}`],
    ['no token at all', 'x'],
    ['alg none', `${part({ alg: 'none' })}.${payload}.`],
    ['alg RS256', signed({ user }, secret, { alg: 'RS256', typ: 'JWT' })],
    ['claims that are no JSON', signed('{', secret)],
    [
      'a claim twice',
      signed('{"user":{"id":"a","accountId":"b"},"user":{"id":"c","accountId":"d"}}', secret),
    ],
    ['expired', signed({ user, exp: 1 }, secret)],
    ['of another tenant', signed({ sub: 'an account:somebody@elsewhere:users' }, secret)],
    ['good, on a route for keys', signed({ user }, secret)],
    ['too long to be looked at', signed({ user: { ...user, note: 'x'.repeat(15_000) } }, secret)],
  ]);
}

function timed(agent: Agent, url: string, token: string): Promise<number> {
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { agent, headers: { 'x-saasquatch-user-token': token } },
      (response) => {
        if (response.statusCode !== 401) reject(new Error(`answered ${response.statusCode}`));
        response.resume().on('end', () => resolve(performance.now() - startedAt));
      },
    );
    sent.on('error', reject).end();
  });
}

const median = (times: readonly number[]): number =>
  [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? NaN;

async function main(): Promise<void> {
  const dataDir = await makeDataDir();
  const service = await startServiceProcess({
    env: { DATA_DIR: dataDir, FAILED_CREDENTIALS_PER_MINUTE: '1000000' },
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    await service.ready();
    const tokens = tokensOf(printedKey(service.output()));
    const times = new Map([...tokens.keys()].map((kind) => [kind, [] as number[]]));
    for (let round = -WARM_UP; round < ROUNDS; round++)
      for (const [kind, token] of tokens) {
        const ms = await timed(agent, `${service.url}/api/v1/demo/users`, token);
        if (round >= 0) times.get(kind)?.push(ms);
      }
    const reference = median(times.get(REFERENCE) ?? []);
    let outside = 0;
    for (const [kind, each] of times) {
      const ratio = median(each) / reference;
      if (ratio > BOUND || ratio < 1 / BOUND) outside += 1;
      process.stdout.write(`${median(each).toFixed(3)} ms  ${ratio.toFixed(2)}  ${kind}\n`);
    }
    process.exitCode = outside > 0 ? 1 : 0;
  } finally {
    agent.destroy();
    await service.terminate();
    await removeDataDir(dataDir);
  }
}

await main();
