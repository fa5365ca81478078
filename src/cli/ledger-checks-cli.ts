import type { Command } from 'commander';
import { parseBalances } from '../operations/ledger/balance-file.js';
import { entriesAfterPeriod } from '../operations/ledger/later-entries.js';
import {
  reconcileOnRecord,
  type Reconciliation,
} from '../operations/ledger/ledger-reconciliation.js';
import { replayOnRecord } from '../operations/ledger/ledger-replay.js';
import type { Replay } from '../operations/ledger/replay/replay-run.js';
import { NotDone } from '../operations/outcome.js';
import { scopeOf } from './arguments.js';
import { CommandError } from './command-error.js';
import { note, printJson, printTable, readTextFile } from './command-line.js';
import { CopyProgress } from './copy-progress.js';
import {
  auditedRun,
  ledgerGroup,
  noteEntriesAfter,
  withLedgerOptions,
  type LedgerOptions,
} from './ledger-command.js';
import { done } from './outcomes.js';
import { firstOf } from './table.js';

interface ReplayCommandOptions extends LedgerOptions {
  readonly account?: string;
  readonly asOf?: string;
  readonly position?: string;
  readonly resumeFrom?: string;
}

interface ReconcileCommandOptions extends LedgerOptions {
  readonly period?: string;
  readonly against?: string;
}

/** `ledger replay` and `ledger reconcile`: exit 2 for a difference. */
export function addLedgerChecks(cli: Command): void {
  const ledger = ledgerGroup(cli);
  withLedgerOptions(ledger.command('replay <tenant>'))
    .description('folds the log and compares it with the read models; can be stopped and resumed')
    .option('--account <account>', 'this account only')
    .option('--as-of <time>', 'as of this time')
    .option('--position <position>', 'as of this position')
    .option('--resume-from <position>', 'the position where an earlier run stopped')
    .action(
      async (
        alias: string,
        { mode, by, json, account: accountId, ...options }: ReplayCommandOptions,
      ) => {
        const scope = scopeOf(alias, mode);
        const stopping = new AbortController();
        const stop = (): void => stopping.abort();
        const progress = new CopyProgress(process.stderr);
        const account = accountId === undefined ? {} : { account: accountId };
        const run = { parameters: { ...options, ...account }, stop };
        process.on('SIGINT', stop).on('SIGTERM', stop);
        try {
          const replay = await auditedRun(
            { scope, by, operation: 'ledger replay', ...run },
            (core, noteProgress) => {
              const request = { ...options, ...(accountId === undefined ? {} : { accountId }) };
              const { signal } = stopping;
              const onProgress = (accounts: number, total: number): void => {
                progress.at('replaying', accounts, total);
                noteProgress('replaying', accounts, total);
              };
              return replayOnRecord(core, scope, request, { signal, onProgress });
            },
          );
          progress.end();
          reportReplay(replay, json);
        } finally {
          progress.end();
          process.off('SIGINT', stop).off('SIGTERM', stop);
        }
      },
    );

  withLedgerOptions(ledger.command('reconcile <tenant>'))
    .description('the roll-forward and trial balance of each unit, and the differences')
    .option('--period <YYYY-MM>', 'this month, in UTC; default: everything up to now')
    .option('--against <file>', 'a CSV file account,unit,balance to compare with')
    .action(
      async (alias: string, { mode, by, json, period, against: path }: ReconcileCommandOptions) => {
        const scope = scopeOf(alias, mode);
        const against =
          path === undefined
            ? undefined
            : done(await parseBalances(await readTextFile(path), path));
        const progress = new CopyProgress(process.stderr);
        const stopping = new AbortController();
        const parameters = { period, againstFile: against !== undefined };
        const run = { parameters, stop: () => stopping.abort() };
        let later = 0;
        try {
          const reconciliation = await auditedRun(
            { scope, by, operation: 'ledger reconcile', ...run },
            async (core, noteProgress) => {
              const onProgress = (accounts: number): void => {
                progress.at('reconciling', accounts, undefined);
                noteProgress('reconciling', accounts);
              };
              const { signal } = stopping;
              const asked = { period, against };
              const found = await reconcileOnRecord(core, scope, asked, { onProgress, signal });
              if (period !== undefined && !(found instanceof NotDone))
                later = await entriesAfterPeriod(core, scope, period);
              return found;
            },
          );
          progress.end();
          noteEntriesAfter(later, 'month');
          reportReconciliation(reconciliation, json);
        } finally {
          progress.end();
        }
      },
    );
}

function reportReplay(replay: Replay, json: boolean | undefined): void {
  const { differences, events, notCompared, position } = replay;
  if (json) printJson(replay);
  else if (differences.length > 0) {
    printTable(
      ['account', 'read model', 'field', 'ledger', 'live', 'events'],
      differences.map(({ account, readModel, field, ledger, live, eventIds }) => [
        account,
        readModel,
        field,
        JSON.stringify(ledger),
        JSON.stringify(live),
        firstOf(eventIds),
      ]),
    );
  }
  if (notCompared > 0)
    note(
      `${notCompared === 1 ? '1 account has' : `${notCompared} accounts have`} changed since then: folded, not compared`,
    );
  if (differences.length > 0)
    throw new CommandError(
      `${count(differences.length)} between the ledger and its read models`,
      2,
    );
  if (!json)
    process.stdout.write(
      `OK: ${events} events up to ${position ?? 'the beginning'} ${notCompared > 0 ? 'folded, no difference in what was compared' : 'agree with the read models'}\n`,
    );
}

function reportReconciliation(reconciliation: Reconciliation, json: boolean | undefined): void {
  const { units, differences } = reconciliation;
  if (json) printJson(reconciliation);
  else {
    printTable(
      [
        'unit',
        { amount: 'opening' },
        { amount: 'issued' },
        { amount: 'redeemed' },
        { amount: 'expired' },
        { amount: 'cancelled' },
        { amount: 'restored' },
        { amount: 'closing' },
        { amount: 'scheduled' },
        { amount: 'debits' },
        { amount: 'credits' },
      ],
      units.map(({ unit, ...sums }) => [
        ...[
          unit,
          sums.opening,
          sums.issued,
          -sums.redeemed,
          -sums.expired,
          -sums.cancelled,
          sums.restored,
          sums.closing,
        ].map(String),
        ...[sums.scheduled, sums.debits, sums.credits].map(String),
      ]),
    );
    if (differences.length > 0)
      printTable(
        ['difference', 'account', 'unit', { amount: 'ledger' }, { amount: 'against' }],
        differences.map(({ kind, account, unit, ledger, against }) => [
          kind,
          account ?? '',
          unit ?? '',
          ledger === null ? 'none' : String(ledger),
          against === null ? 'none' : String(against),
        ]),
      );
  }
  const overdue = units.reduce((sum, unit) => sum + unit.overdue, 0);
  if (overdue > 0)
    note(
      `${overdue} dates passed more than an hour ago and are not recorded yet: check that the jobs run`,
    );
  if (differences.length > 0) throw new CommandError(`NOT OK: ${count(differences.length)}`, 2);
  if (!json) process.stdout.write('OK\n');
}

const count = (differences: number): string =>
  differences === 1 ? '1 difference' : `${differences} differences`;
