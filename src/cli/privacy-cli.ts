import type { Command } from 'commander';
import * as z from 'zod';
import { accountProjectors } from '../../projections/account-projectors.js';
import { RepeatErasureEnvelope } from '../command-handling/commands.js';
import { subjectsOf, type ListedErasure } from '../command-handling/processes/erasure-process.js';
import type { Core } from '../stores/core.js';
import { countOtherReleases } from '../stores/release.js';
import { logPages } from '../event-log/event-pages.js';
import { CommandError } from './command-error.js';
import { openPool } from '../postgres/database.js';
import { customerStreams, replayErasures } from '../stores/erasure-replay.js';
import { accountRefOf } from '../privacy/keyed-names.js';
import { scrub } from '../privacy/scrub.js';
import { ScrubbedGenerations } from '../projecting/generations/scrubbed-generations.js';
import { note, type OutputOptions, printJson, readTextFile, withCore } from './command-line.js';

/** `privacy …`. */
export function addPrivacyCommands(cli: Command): void {
  const privacy = cli.command('privacy').description('erasures of personal data');
  privacy
    .command('scrub')
    .description('removes erased bytes from the files of Postgres now; a job does it daily')
    .option('--json', 'one JSON document')
    .action(async ({ json }: OutputOptions) => {
      const scrubbed = await withCore(async ({ databaseUrl, log }) => {
        // Rewriting a large table takes longer than a request may.
        const pool = openPool({ url: databaseUrl, max: 1, applicationName: 'ledger-scrub' });
        try {
          return await scrub(pool, {
            readModels: new ScrubbedGenerations({
              pool,
              log,
              readModels: accountProjectors,
              otherProcesses: (db) => countOtherReleases(db, accountProjectors),
            }),
            progress: note,
          });
        } finally {
          await pool.end();
        }
      });
      if (!scrubbed.walRemoved)
        note(
          'This role may not switch the write-ahead log: the server removes old segments as configured.',
        );
      if (json) return printJson(scrubbed);
      process.stdout.write(`${scrubbed.tables} tables rewritten\n`);
    });

  privacy
    .command('replay-erasures')
    .description(
      'destroys the keys of all people whose erasure is in the log; after a restore, before the service is started',
    )
    .option(
      '--from <file>',
      'the output of list-erasures on a newer copy of the log: missing erasures are appended to this one',
    )
    .option('--json', 'one JSON document')
    .action(async ({ json, from }: OutputOptions & { from?: string }) => {
      const listed = from === undefined ? [] : await readErasures(from);
      const replayed = await withCore(async (core) => {
        const { destroyed, events } = await replayErasures(core.pool, core.log, core.keys, {
          fromStart: true,
        });
        const alive = await aliveOf(core, listed);
        const customers = listed.flatMap(({ customer }) => customer ?? []);
        const streams = await customerStreams(core.log, new Set(customers));
        for (const erasure of listed) {
          const stream = streams.get(erasure.customer ?? '');
          const cause = causeOf(erasure.erasureId);
          await core.commands.execute(new RepeatErasureEnvelope(cause, erasure, stream));
        }
        await core.followedLog.hideUntilCaughtUp();
        return { events, destroyed: destroyed + alive };
      });
      if (json) return printJson(replayed);
      process.stdout.write(
        `${replayed.events} events read, ${replayed.destroyed} keys destroyed\n`,
      );
    });

  privacy
    .command('list-erasures')
    .description(
      'every erasure in the log, a JSON document a line, without personal data; for replay-erasures --from',
    )
    .action(async () => {
      await withCore(async ({ log, codec }) => {
        for await (const page of logPages(log, { upTo: await log.head(), limit: PAGE })) {
          const requested = page.filter(({ type }) => type === 'ErasureRequested');
          for (const { event, envelope, recorded } of await codec.decodeAll(requested)) {
            if (event.type !== 'ErasureRequested' || envelope.mode === null) continue;
            const { type: _type, at: _at, ...erasure } = event;
            const { tenant, mode } = envelope;
            const listed = {
              tenant,
              mode,
              accountRef: accountRefOf(recorded.stream) ?? '',
              ...erasure,
            };
            process.stdout.write(`${JSON.stringify(listed satisfies ListedErasure)}\n`);
          }
        }
      });
    });
}

const PAGE = 1_000;

const LISTED = z.object({
  tenant: z.string(),
  mode: z.enum(['live', 'test']),
  accountRef: z.string().regex(/^[0-9a-f]{32}$/),
  erasureId: z.uuid(),
  persons: z.array(z.uuid()),
  account: z.uuid().nullable(),
  customer: z.uuid().exactOptional(),
  suppressed: z.array(z.string().regex(/^[0-9a-f]{32}$/)),
});

/** All lines are read before the first is applied. @throws {CommandError} */
async function readErasures(path: string): Promise<readonly ListedErasure[]> {
  const content = await readTextFile(path);
  return content
    .split('\n')
    .flatMap((line, index) => (line.trim() === '' ? [] : [{ line, number: index + 1 }]))
    .map(({ line, number }) => {
      try {
        return LISTED.parse(JSON.parse(line));
      } catch {
        throw new CommandError(
          `${path}: line ${number} is no erasure as list-erasures writes them`,
        );
      }
    });
}

async function aliveOf({ keys }: Core, listed: readonly ListedErasure[]): Promise<number> {
  const subjects = listed.flatMap(subjectsOf);
  return [...(await keys.load(new Set(subjects))).values()].filter((key) => key !== null).length;
}

const causeOf = (erasureId: string) => ({
  correlationId: erasureId,
  causationId: erasureId,
  actor: { kind: 'operator' as const, id: 'command-line' },
  idempotency: null,
});
