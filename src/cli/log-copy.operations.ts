import * as z from 'zod';
import { loadConfig } from '../config/config.js';
import { openLedgerDatabase } from '../stores/ledger-database.js';
import { logAt, type OpenLog } from '../operations/log/log-address.js';
import { copyWholeLog, type LogMoveResult } from '../operations/log/log-move.js';
import { given, help, text } from '../operations/registry/members.js';
import { machineOperation, type Operation } from '../operations/registry/operation.js';
import type { Ending } from '../operations/registry/printing.js';
import { commandLogger } from './command-line.js';

/** How long an unreachable log is retried; the command can be run again. */
const AWAY_MS_MAX = 60_000;
const NAMES_SHOWN_MAX = 5;

/** Here and not with the other operations: it opens two logs in place of the stores. */
export const operations: readonly Operation[] = [
  machineOperation({
    name: 'log copy',
    summary: 'copies the whole log to another store; a stopped copy continues when run again',
    members: {
      from: given(text, { placeholder: 'url', help: 'postgresql://…, esdb://…, or embedded' }),
      to: given(text, { placeholder: 'url', help: 'the same' }),
      whileRunning: help(
        z.boolean().default(false),
        'a first copy while the service runs, which must be stopped for the last one',
      ),
    },
    examples: [
      'log copy --from embedded --to "esdb://127.0.0.1:2113?tls=false" --while-running',
      'log copy --from embedded --to "esdb://127.0.0.1:2113?tls=false"',
    ],
    run: async ({ signal, onProgress, note }, { from, to, whileRunning }) => {
      const logs = [logAt('from', from), logAt('to', to)];
      const config = loadConfig();
      const logger = commandLogger();
      const database = await openLedgerDatabase({ config, logger, applicationName: 'ledger-cli' });
      const open: OpenLog[] = [];
      try {
        for (const [place, openLog] of logs.entries())
          open.push(await openLog(place === 1, { config, database, logger }));
        const [source, target] = open;
        if (source === undefined || target === undefined) throw new Error('a log is missing');
        const copied = await copyWholeLog({
          database,
          source: source.log,
          target: target.log,
          whileRunning,
          onProgress,
          signal,
          awayMsMax: AWAY_MS_MAX,
        });
        const document = copyDocument(copied);
        if (copyEnding(document, whileRunning) === undefined)
          for (const line of copyNotes(document, whileRunning)) note(line);
        return document;
      } finally {
        for (const opened of open) await opened.close();
        await database.close();
      }
    },
    said: ({ events, streams, appended, digest }) =>
      `OK: ${events} events in ${streams} streams are the same in both logs, ${appended} of them copied now; digest ${digest}`,
    ending: (document, { whileRunning }) => copyEnding(document, whileRunning),
  }),
];

export const copyDocument = ({ isOrderSame, isRecorded, ...result }: LogMoveResult) => ({
  ok: result.differences.length === 0 && isOrderSame,
  events: result.events,
  streams: result.streams,
  found: result.found,
  appended: result.appended,
  digest: result.digest,
  differences: result.differences,
  sameOrder: isOrderSame,
  otherOrigins: result.otherOrigins,
  cameSince: result.cameSince,
  recorded: isRecorded,
});

type CopyDocument = ReturnType<typeof copyDocument>;

/** Exit 2 for a difference, exit 1 for a copy that is not the last one. */
export function copyEnding(
  { ok, differences, sameOrder, cameSince }: CopyDocument,
  whileRunning: boolean,
): Ending | undefined {
  if (!ok) return { exitCode: 2, line: difference(differences, sameOrder) };
  if (cameSince === 0 || whileRunning) return undefined;
  const line = `${cameSince} events came to the source since: stop its writers and run the same command again`;
  return { exitCode: 1, line };
}

/** What people read about a finished copy. */
export function copyNotes(
  { otherOrigins, cameSince, recorded }: CopyDocument,
  whileRunning: boolean,
): readonly string[] {
  const origins =
    otherOrigins > 0
      ? [
          `${otherOrigins} events show other recording times in the two logs: one of the logs was copied by an earlier release, which did not keep them`,
        ]
      : [];
  if (recorded) return [...origins, 'The service moves over at its next start on the log at --to.'];
  return [
    ...origins,
    whileRunning
      ? `${cameSince} events were appended since. This was a first copy: stop the service and run again without --while-running.`
      : 'The database of this configuration follows another log: it does not move over.',
  ];
}

function difference(differences: readonly string[], isOrderSame: boolean): string {
  if (!isOrderSame) return 'the logs hold the same streams in another order: the target is no copy';
  const shown = differences.slice(0, NAMES_SHOWN_MAX).join(', ');
  const more =
    differences.length > NAMES_SHOWN_MAX ? ` and ${differences.length - NAMES_SHOWN_MAX} more` : '';
  return `the logs differ in ${shown}${more}: the target is no copy`;
}
