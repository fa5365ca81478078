import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { useFolder } from '../support/folder.js';
import { runHere } from '../support/command-line.js';
import { useService } from '../support/running-service.js';

/** `KILLS` (4): at how many random moments imports are killed; `KILLS=20` for a long run. */
const KILLS = Number(process.env['KILLS'] ?? 4);
const ROWS = 800;
const ACCOUNTS = 600;

const running = useService();
const folder = useFolder();

beforeAll(async () => {
  const of = (row: (n: number) => string, count = ROWS): string =>
    Array.from({ length: count }, (_, n) => `${row(n)}\n`).join('');
  const files = {
    users: `id,accountId,email,referralCode\n${of((n) => `u${n},a${n % ACCOUNTS},u${n}@moved.example,${n % 3 ? `C${n}` : ''}`)}`,
    referrals: `id,referredAccount,referredUser,referrerAccount,referrerUser\n${of((n) => `r${n},a${2 * n},u${2 * n},a${2 * n + 1},u${2 * n + 1}`, 250)}`,
    rewards: `type,accountId,userId,unit,amount,redeemed\n${of((n) => `CREDIT,a${n % ACCOUNTS},u${n % ACCOUNTS},CENTS,${100 + (n % 3)},${n % 7}`)}`,
  };
  for (const [kind, content] of Object.entries(files)) await writeFile(join(folder, kind), content);
});

const KINDS = ['users', 'referrals', 'rewards'] as const;

const words = (kind: string, alias: string): readonly string[] => [
  'import',
  kind,
  alias,
  '--file',
  join(folder, kind),
  '--json',
];

async function imported(kind: string, alias: string): Promise<Record<string, unknown>> {
  const { code, out, err } = await runHere(running.stores, words(kind, alias));
  expect([code, err.includes('Error')]).toEqual([0, false]);
  return JSON.parse(out) as Record<string, unknown>;
}

/** Begins the import in a process of its own, and kills it after so many milliseconds. */
async function killed(kind: string, alias: string, afterMs: number): Promise<void> {
  const { databaseUrl, masterKeyFile } = running.stores;
  const env = { ...process.env, DATABASE_URL: databaseUrl, MASTER_KEY_FILE: masterKeyFile };
  const child = spawn(process.execPath, ['dist/bin/cli.js', ...words(kind, alias)], {
    env,
    stdio: 'ignore',
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), afterMs);
  await once(child, 'exit');
  clearTimeout(timer);
}

const balances = async (alias: string): Promise<unknown> =>
  JSON.parse((await runHere(running.stores, ['ledger', 'balances', alias, '--json'])).out);

test('an import that is killed at any moment and repeated ends like one that was not', async () => {
  const [whole, broken] = [
    await running.service.createTenant(),
    await running.service.createTenant(),
  ];
  const seed = Math.random();
  for (const [place, kind] of KINDS.entries()) {
    await imported(kind, whole.alias);
    for (let kill = place; kill < KILLS; kill += KINDS.length)
      await killed(kind, broken.alias, 800 + ((seed * (kill + 1)) % 1) * 3_000);
    expect(await imported(kind, broken.alias)).toMatchObject({ rejected: 0 });
    const again = await imported(kind, broken.alias);
    expect(again).toMatchObject({ imported: 0, unchanged: again['rows'] });
  }
  expect(await balances(broken.alias)).toEqual(await balances(whole.alias));
  const replayed = await runHere(running.stores, ['ledger', 'replay', broken.alias, '--json']);
  expect(JSON.parse(replayed.out)).toMatchObject({ differences: [] });
}, 600_000);
