import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { makeOperatorKey } from '../src/config/operators.js';
import { lengthenAccount } from './long-account.js';
import { grantRewards } from './rewards-in-log.js';
import { makeDataDir, removeDataDir, startServiceProcess } from './service-process.js';
import { clientOf, grant, makeTenant, makeUser, withCore } from './webhook-tenants.js';

/**
 * Every page of the console on a small ledger and on a large one: the time to its first byte, the
 * bytes of its body, and of all that a first visit of the overview fetches. Exits with 1 when one
 * is not answered with 200. `BENCH_EVENTS` (1 000 000), `BENCH_LONG` (100 000) events of one
 * account, `BENCH_READS` (20) of each page.
 */
const EVENTS = Number(process.env.BENCH_EVENTS ?? 1_000_000);
const LONG = Number(process.env.BENCH_LONG ?? 100_000);
const READS = Number(process.env.BENCH_READS ?? 20);
const SMALL = 1_000;
const CATCH_UP_MS = 3_600_000;
const SCOPE = { tenant: 'demo', mode: 'live' } as const;
const TENANT = `/console/tenants/${SCOPE.tenant}/${SCOPE.mode}`;
const ACCOUNT = 'long';

const PAGES: Readonly<Record<string, string>> = {
  tenants: '/console',
  projections: '/console/projections',
  overview: TENANT,
  'a search': `${TENANT}?search=account-1`,
  'an account, today': `${TENANT}/accounts/${ACCOUNT}`,
  'an account, older events': `${TENANT}/accounts/${ACCOUNT}?before=500`,
  'an account, earlier': `${TENANT}/accounts/${ACCOUNT}?asOf=`,
  'a statement': `${TENANT}/statement?account=account-1`,
  'a long statement': `${TENANT}/statement?account=${ACCOUNT}`,
  ...Object.fromEntries(
    ['replay', 'reconcile', 'periods', 'verify', 'corrections', 'moderation', 'webhooks']
      .concat('exports', 'mails', 'payments', 'settings', 'program', 'theme')
      .map((page) => [page, `${TENANT}/${page}`]),
  ),
};
/** What a browser fetches with the first page. */
const ASSETS = ['console.css', 'console.js', 'icon.svg'].map((name) => `/console/assets/${name}`);

interface Measured {
  readonly first: number;
  readonly times: readonly number[];
  readonly bytes: number;
}

const percentile = (times: readonly number[], share: number): number =>
  [...times].sort((a, b) => a - b)[Math.floor(times.length * share)] ?? NaN;

/** @returns milliseconds to the first byte, and the bytes of the body. */
async function read(url: string, cookie: string): Promise<{ ms: number; bytes: number }> {
  const began = performance.now();
  const answer = await fetch(url, { headers: { cookie }, redirect: 'manual' });
  const ms = performance.now() - began;
  const { byteLength: bytes } = await answer.arrayBuffer();
  const isFound = answer.status === 200 || answer.status === 303;
  if (!isFound) {
    process.exitCode = 1;
    console.error(`${url}: ${answer.status}`);
  }
  return { ms, bytes };
}

async function signedIn(url: string, key: string): Promise<string> {
  const body = new URLSearchParams({ key });
  const answer = await fetch(`${url}/console/session`, {
    method: 'POST',
    body,
    redirect: 'manual',
  });
  const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';');
  return cookie;
}

async function measured(events: number, long: number): Promise<ReadonlyMap<string, Measured>> {
  const dataDir = await makeDataDir();
  const operators = join(dataDir, 'operators.json');
  const { key, entry } = makeOperatorKey('bench', ['finance', 'support']);
  try {
    const tenant = await withCore(dataDir, async (core) => {
      const made = await makeTenant(core, SCOPE.tenant);
      await grantRewards(core, SCOPE, events - long);
      return made;
    });
    await writeFile(operators, JSON.stringify([entry]), { mode: 0o600 });
    const env = { DATA_DIR: dataDir, OPERATORS_FILE: operators };
    const service = await startServiceProcess({ env });
    try {
      await service.ready(CATCH_UP_MS);
      const client = clientOf(service, tenant);
      await makeUser(client, ACCOUNT);
      await grant(client, ACCOUNT, long);
      await withCore(dataDir, async (core) => {
        await lengthenAccount(core, SCOPE, core.names.accountRef(SCOPE, ACCOUNT), long);
      });
      const cookie = await signedIn(service.url, key);
      await caughtUp(service.url, cookie);
      return await readAll(service.url, cookie);
    } finally {
      await service.kill();
    }
  } finally {
    await removeDataDir(dataDir);
  }
}

/** Pages are measured when the read models have followed. */
async function caughtUp(url: string, cookie: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${url}/console/projections`, { headers: { cookie } });
    const lags = [
      ...(await answer.text()).matchAll(/data-figure="lag:[^"]*" data-value="([^"]*)"/g),
    ];
    if (lags.length > 0 && lags.every(([, lag]) => lag === '0')) return;
    await pause(200);
  }
}

async function readAll(url: string, cookie: string): Promise<ReadonlyMap<string, Measured>> {
  const found = new Map<string, Measured>();
  const now = new Date().toISOString();
  for (const [name, path] of Object.entries(PAGES)) {
    const page = `${url}${path.endsWith('asOf=') ? `${path}${now}` : path}`;
    const { ms: first } = await read(page, cookie);
    const times: number[] = [];
    let bytes = 0;
    for (let n = 0; n < READS; n++) {
      const again = await read(page, cookie);
      times.push(again.ms);
      ({ bytes } = again);
    }
    found.set(name, { first, times, bytes });
  }
  let visit = found.get('overview')?.bytes ?? NaN;
  for (const asset of ASSETS) visit += (await read(`${url}${asset}`, cookie)).bytes;
  console.log(`a first visit of the overview: ${(visit / 1e3).toFixed(1)} KB`);
  return found;
}

const small = await measured(SMALL, 500);
const large = await measured(EVENTS, LONG);
console.log(`${SMALL} events, and ${EVENTS}; ms to the first byte: first read, p50, p95; KB`);
for (const [name, { first, times, bytes }] of large) {
  const before = small.get(name);
  const figures = [first, percentile(times, 0.5), percentile(times, 0.95)];
  const others = [
    before?.first ?? NaN,
    ...[0.5, 0.95].map((p) => percentile(before?.times ?? [], p)),
  ];
  const cells = [...others, ...figures].map((ms) => ms.toFixed(1).padStart(8));
  const sizes = [before?.bytes ?? NaN, bytes].map((size) => (size / 1e3).toFixed(1).padStart(8));
  console.log(name.padEnd(26) + cells.join('') + sizes.join(''));
}
