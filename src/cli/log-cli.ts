import type { Command } from 'commander';
import { loadConfig } from '../config/config.js';
import { openLedgerDatabase } from '../stores/ledger-database.js';
import { durationText } from '../foundation/duration.js';
import { CommandError } from './command-error.js';
import { openLogAt, parseLogAddress, type OpenLog } from '../operations/log/log-address.js';
import { copyWholeLog, type LogMoveResult } from '../operations/log/log-move.js';
import { operatingSystemUser } from '../operations/audit.js';
import { acceptClock } from '../operations/log/clock-acceptance.js';
import { filled } from './arguments.js';
import { commandLogger, note, printJson, withCore, type OutputOptions } from './command-line.js';
import { CopyProgress } from './copy-progress.js';
import { done } from './outcomes.js';

interface CopyCommandOptions extends OutputOptions {
  readonly from: string;
  readonly to: string;
  readonly whileRunning?: boolean;
}

/** How long an unreachable log is retried; the command can be run again. */
const AWAY_MS_MAX = 60_000;
const NAMES_SHOWN_MAX = 5;

/** `log …` */
export function addLogCommands(cli: Command): void {
  const log = cli.command('log').description('the event log as a whole');
  log
    .command('copy')
    .description('copies the whole log to another store; a stopped copy continues when run again')
    .requiredOption('--from <url>', 'postgresql://…, esdb://…, or the word embedded')
    .requiredOption('--to <url>', 'the same')
    .option(
      '--while-running',
      'a first copy beside the running service, which must be stopped for the last one',
    )
    .option('--json', 'one JSON document')
    .action(async (options: CopyCommandOptions) => reportCopy(await copy(options), options));
  log
    .command('accept-clock')
    .description('accepts a log whose newest entry is ahead of the clock, so that writes continue')
    .requiredOption('--reason <text>', 'what happened, for later auditors')
    .option('--by <name>', 'the operator who accepts; default: the user of the operating system')
    .option('--json', 'one JSON document')
    .addHelpText(
      'after',
      "\nExample:\n  log accept-clock --reason 'ntp of app2 was 40 days ahead, ticket 4711'",
    )
    .action(accept);
}

interface AcceptOptions extends OutputOptions {
  readonly reason: string;
  readonly by?: string;
}

async function accept({ reason, by, json }: AcceptOptions): Promise<void> {
  const request = {
    reason: filled('--reason', reason),
    by: filled('--by', by ?? operatingSystemUser()),
    warn: note,
  };
  const accepted = await withCore(async (core) => done(await acceptClock(core, request)), {
    acceptsClock: true,
  });
  if (json) return printJson(accepted);
  process.stdout.write(
    `accepted: the newest entry, ${accepted.position}, is ${durationText(accepted.aheadSeconds * 1_000)} ahead of the clock; later entries carry the time of the clock\n`,
  );
}

async function copy({
  from,
  to,
  whileRunning = false,
}: CopyCommandOptions): Promise<LogMoveResult> {
  const addresses = {
    from: done(parseLogAddress('from', from)),
    to: done(parseLogAddress('to', to)),
  };
  const config = loadConfig();
  const logger = commandLogger();
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  const progress = new CopyProgress(process.stderr);
  const database = await openLedgerDatabase({ config, logger, applicationName: 'ledger-cli' });
  const open: OpenLog[] = [];
  process.on('SIGINT', stop).on('SIGTERM', stop);
  try {
    for (const address of [addresses.from, addresses.to]) {
      const isTarget = address === addresses.to;
      open.push(done(await openLogAt(address, isTarget, { config, database, logger })));
    }
    const [source, target] = open;
    if (source === undefined || target === undefined) throw new Error('a log is missing');
    const copied = await copyWholeLog({
      database,
      source: source.log,
      target: target.log,
      whileRunning,
      onProgress: progress.at,
      signal: stopping.signal,
      awayMsMax: AWAY_MS_MAX,
    });
    return done(copied);
  } finally {
    progress.end();
    process.off('SIGINT', stop).off('SIGTERM', stop);
    for (const opened of open) await opened.close();
    await database.close();
  }
}

/**
 * Prints the result of a copy. @throws {CommandError} of exit 2 for a difference, of exit 1 for a
 * copy that is not the last one.
 */
export function reportCopy(
  result: LogMoveResult,
  { whileRunning = false, json }: Pick<CopyCommandOptions, 'whileRunning' | 'json'>,
): void {
  const {
    events,
    streams,
    found,
    appended,
    digest,
    differences,
    isOrderSame,
    otherOrigins,
    cameSince,
    isRecorded,
  } = result;
  const ok = differences.length === 0 && isOrderSame;
  if (json)
    printJson({
      ok,
      events,
      streams,
      found,
      appended,
      digest,
      differences,
      sameOrder: isOrderSame,
      otherOrigins,
      cameSince,
      recorded: isRecorded,
    });
  if (!ok) throw new CommandError(difference(result), 2);
  if (cameSince > 0 && !whileRunning) {
    throw new CommandError(
      `${cameSince} events came to the source since: stop its writers and run the same command again`,
    );
  }
  if (!json)
    process.stdout.write(
      `OK: ${events} events in ${streams} streams are the same in both logs, ${appended} of them copied now; digest ${digest}\n`,
    );
  if (otherOrigins > 0)
    note(
      `${otherOrigins} events show other recording times in the two logs: one of the logs was copied by an earlier release, which did not keep them`,
    );
  if (isRecorded) note('The service moves over at its next start on the log at --to.');
  else if (whileRunning)
    note(
      `${cameSince} events were appended since. This was a first copy: stop the service and run again without --while-running.`,
    );
  else note('The database of this configuration follows another log: it does not move over.');
}

function difference({ differences, isOrderSame }: LogMoveResult): string {
  if (!isOrderSame) return 'the logs hold the same streams in another order: the target is no copy';
  const shown = differences.slice(0, NAMES_SHOWN_MAX).join(', ');
  const more =
    differences.length > NAMES_SHOWN_MAX ? ` and ${differences.length - NAMES_SHOWN_MAX} more` : '';
  return `the logs differ in ${shown}${more}: the target is no copy`;
}
