import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { isAlias } from '../../src/tenants/tenant-directory.js';
import { CommandPresence, ProcessPresence } from '../../src/postgres/process-presence.js';
import { fetchRow, tables } from '../../src/postgres/statements.js';
import { loadConfig, type Config } from '../../src/config/config.js';
import { newOperatorKey, type OperatorRole } from '../../src/config/operators.js';
import { openCore, type Core } from '../../src/stores/core.js';
import { DEMO_OPERATORS, NotSeeded, seedDemo, type Seeded } from './seed-demo.js';

/** npm run demo:seed: a tenant with accounts and 90 days of history, to look at in the console. */

const DAYS = 90;

const { values } = parseArgs({
  options: {
    tenant: { type: 'string', default: 'demo' },
    accounts: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '1' },
  },
});

const say = (line: string): void => void process.stdout.write(`${line}\n`);

function wholeNumber(name: string, text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new NotSeeded(`--${name} is a whole number from 1`);
  return Number(text);
}

async function main(): Promise<void> {
  const config = loadConfig();
  const asked = {
    tenant: values.tenant,
    accounts: wholeNumber('accounts', values.accounts),
    seed: wholeNumber('seed', values.seed),
  };
  if (!isAlias(asked.tenant))
    throw new NotSeeded('--tenant takes 1 to 64 of a to z, 0 to 9, _ and -');
  const core = await openCore({
    // The past is recorded behind entries of today.
    acceptsClock: true,
    config,
    logger: pino({ level: 'warn', base: null }, pino.destination({ fd: 2, sync: true })),
    actor: { kind: 'system', id: 'demo' },
    applicationName: 'ledger-demo',
  });
  const presence = new CommandPresence(core.pool);
  try {
    await refuseBesideService(core);
    await presence.start();
    const began = performance.now();
    let shown = 0;
    const seeded = await seedDemo(core, {
      ...asked,
      days: DAYS,
      now: Date.now(),
      onDay: (day) => {
        if (day < shown + 10) return;
        shown = day;
        say(`day ${day} of ${DAYS}`);
      },
    });
    const files = await writeOperators(config, asked.tenant, seeded);
    report(asked.tenant, seeded, { ...files, seconds: (performance.now() - began) / 1_000 });
  } finally {
    await presence.stop().catch(() => undefined);
    await core.close();
  }
}

/** Its policies would carry out today what belongs into the past. */
async function refuseBesideService({ pool }: Core): Promise<void> {
  const running = tables.selectNoFrom(ProcessPresence.isAnyRunning.as('running'));
  if ((await fetchRow(pool, running))?.running === true)
    throw new NotSeeded('a service runs on these stores: stop it first, nothing was changed');
}

interface Files {
  /** For OPERATORS_FILE. */
  readonly operators: string;
  /** The keys themselves. */
  readonly keys: string;
}

/** The same operators for every tenant of the demo: keys that are there stay. */
async function writeOperators(config: Config, tenant: string, seeded: Seeded): Promise<Files> {
  const operators = join(config.dataDir, 'demo-operators.json');
  const keys = join(config.dataDir, 'demo-keys.json');
  const known =
    existsSync(keys) && existsSync(operators)
      ? (JSON.parse(await readFile(keys, 'utf8')) as Record<string, unknown>)
      : undefined;
  const made = Object.entries(DEMO_OPERATORS).map(
    ([name, roles]: [string, readonly OperatorRole[]]) => newOperatorKey(name, roles),
  );
  if (known === undefined)
    await writeOwn(
      operators,
      made.map(({ entry }) => entry),
    );
  await writeOwn(keys, {
    ...(known ?? Object.fromEntries(made.map(({ key, entry }) => [entry.name, key]))),
    ...(seeded.secrets && { [`tenant ${tenant}`]: seeded.secrets }),
  });
  return { operators, keys };
}

const writeOwn = (path: string, content: unknown): Promise<void> =>
  writeFile(path, `${JSON.stringify(content, undefined, 2)}\n`, { mode: 0o600 });

function report(
  tenant: string,
  { events, closed, account }: Seeded,
  { operators, keys, seconds }: Files & { readonly seconds: number },
): void {
  const path = (file: string): string => {
    const below = relative(process.cwd(), file);
    return below.startsWith('..') ? file : below;
  };
  const page = `/console/tenants/${tenant}/live`;
  const dataDir = process.env.DATA_DIR ? `DATA_DIR=${process.env.DATA_DIR} ` : '';
  say(`
Tenant ${tenant}: ${events} events in ${seconds.toFixed(0)} s; ${closed} is closed.

Start the service: ${dataDir}OPERATORS_FILE=${path(operators)} npm start
Sign in at /console with a key of ${path(keys)}: fay and flo are finance, sam is support, vic only looks.

Look at
  ${page}
    the overview, with the plots of ${DAYS} days
  ${page}/accounts/${account.accountId}
    an account that refers many
  ${page}/corrections
    a correction of fay's, which flo may approve
  ${page}/moderation
    referrals that wait for sam
  ${page}/webhooks
    an endpoint that is gone, and one that never answers
docs/tour.md leads through them.`);
}

try {
  await main();
} catch (error) {
  if (!(error instanceof NotSeeded)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
