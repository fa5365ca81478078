import type { Command } from 'commander';
import { accountProjectors } from '../../projections/account-projectors.js';
import { openPool } from '../postgres/database.js';
import { replayErasures } from '../privacy/erasure-replay.js';
import { scrub } from '../privacy/scrub.js';
import { readModelsReachHead } from '../projecting/read-models-reach-head.js';
import { note, printJson, withCore, type OutputOptions } from './command-line.js';

/** `privacy …`. */
export function addPrivacyCommands(cli: Command): void {
  const privacy = cli.command('privacy').description('what becomes of people who asked to be forgotten');
  privacy
    .command('scrub')
    .description('makes erased bytes leave the files of Postgres now; a job does it daily')
    .option('--json', 'one JSON document')
    .action(async ({ json }: OutputOptions) => {
      const scrubbed = await withCore(async ({ databaseUrl, log }) => {
        // Rewriting a large table takes longer than any request may.
        const pool = openPool({ url: databaseUrl, max: 1, applicationName: 'ledger-scrub' });
        try {
          const names = accountProjectors.map(({ name }) => name);
          return await scrub(pool, { readModels: () => readModelsReachHead(pool, log, names), progress: note });
        } finally {
          await pool.end();
        }
      });
      if (!scrubbed.walRemoved) note('This role may not switch the write-ahead log: its old segments go as the server is set up.');
      if (json) return printJson(scrubbed);
      process.stdout.write(`${scrubbed.tables} tables rewritten\n`);
    });

  privacy
    .command('replay-erasures')
    .description('destroys the keys of everybody whose erasure stands in the log; after a restore, before the service is started')
    .option('--json', 'one JSON document')
    .action(async ({ json }: OutputOptions) => {
      const replayed = await withCore(({ pool, log, keys }) => replayErasures(pool, log, keys, { fromStart: true }));
      if (json) return printJson(replayed);
      process.stdout.write(`${replayed.events} events read, ${replayed.destroyed} keys destroyed\n`);
    });
}
