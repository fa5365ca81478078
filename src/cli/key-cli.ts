import type { Command } from 'commander';
import type { Core } from '../stores/core.js';
import { pause } from '../foundation/pause.js';
import { openPool } from '../postgres/database.js';
import {
  keyStatus,
  rewrapSubjectKeys,
  rotateMasterKey,
  settleRotation,
  type KeyStatus,
} from '../privacy/key-rotation.js';
import { readMasterKeyFile } from '../privacy/master-key.js';
import { note, type OutputOptions, printJson, printTable, withCore } from './command-line.js';

const LOOK_AGAIN_MS = 250;

/** `key …` */
export function addKeyCommands(cli: Command): void {
  const key = cli
    .command('key')
    .description('the master key: which one is in use, and its rotation');
  key
    .command('rotate')
    .description('makes another key the master key, beside a running service or without one')
    .requiredOption('--new-key-file <file>', 'the new key: 64 hex digits, mode 0600')
    .option('--json', 'one JSON document')
    .action(async ({ newKeyFile, json }: OutputOptions & { newKeyFile: string }) => {
      const next = await readMasterKeyFile(newKeyFile);
      const status = await withCore((core) =>
        withoutTimeLimit(core, async (pool) => {
          await rotateMasterKey(pool, core.masterKey, next);
          note('From now on both keys open the database.');
          await rewrapSubjectKeys(pool, core.keyring, (done) =>
            note(`${done} keys of people encrypted anew`),
          );
          // A command that is stopped here is finished by the service.
          const forever = new AbortController().signal;
          while (!(await settleRotation(pool, core.keyring))) await pause(LOOK_AGAIN_MS, forever);
          return keyStatus(pool);
        }),
      );
      if (json) return printJson(status);
      process.stdout.write(`The master key is ${status.masterKeys[0]?.id ?? ''} now.\n`);
      process.stdout.write(
        `Set MASTER_KEY_FILE to the new file and start every process again. ${adviceOn(status)}\n`,
      );
    });
  key
    .command('status')
    .description('the master keys in use, and whether an old one can go')
    .option('--json', 'one JSON document')
    .action(async ({ json }: OutputOptions) => {
      const status = await withCore((core) => withoutTimeLimit(core, keyStatus));
      if (json) return printJson(status);
      printTable(
        ['master key', 'state', { amount: 'processes' }, 'can go'],
        status.masterKeys.map(({ id, state, processes, canGo }) => [
          id,
          state,
          String(processes),
          state === 'current' ? '' : canGo ? 'yes' : 'not yet',
        ]),
      );
      printTable(
        ['key of people encrypted with', { amount: 'people' }],
        status.sealedBy.map(({ generation, subjects }) => [`key ${generation}`, String(subjects)]),
      );
      if (status.masterKeys.length > 1) process.stdout.write(`${adviceOn(status)}\n`);
    });
}

/** All rows of a large vault take longer than a request may. */
async function withoutTimeLimit<T>(
  { databaseUrl: url }: Core,
  work: (pool: ReturnType<typeof openPool>) => Promise<T>,
): Promise<T> {
  const pool = openPool({ url, max: 2, applicationName: 'ledger-keys' });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}

const adviceOn = ({ oldKeysCanGo, waitsFor }: KeyStatus): string =>
  oldKeysCanGo
    ? 'The old key can go: only backups from before the rotation need it.'
    : `The old key cannot go yet: this waits for ${waitsFor ?? 'the next start'}.`;
