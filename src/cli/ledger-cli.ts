import { Option, type Command } from 'commander';
import { operatingSystemUser } from '../operations/audit.js';
import { NotDone } from '../operations/outcome.js';
import { adjustOnRecord, type AdjustmentRequest } from '../operations/ledger/ledger-adjustment.js';
import { exportLedger } from '../operations/ledger/ledger-export.js';
import { entriesAfterDay, entriesAfterPeriod } from '../operations/ledger/later-entries.js';
import { changePeriodOnRecord } from '../operations/ledger/ledger-periods.js';
import { statementOnRecord } from '../operations/ledger/ledger-statement.js';
import { filled, scopeOf } from './arguments.js';
import { CommandError } from './command-error.js';
import { note, printJson } from './command-line.js';
import { parseAmount, parseIdempotencyKey, parseUnit } from './correction-arguments.js';
import {
  audited,
  ledgerGroup,
  noteEntriesAfter,
  withLedgerOptions,
  type LedgerOptions,
} from './ledger-command.js';
import { statementCsv } from '../operations/ledger/statement-csv.js';
import { accountProjectors } from '../../projections/account-projectors.js';
import {
  tenantStatementCsv,
  tenantStatementOnRecord,
} from '../operations/ledger/tenant-statement.js';
import { printStatement, printTenantStatement } from './ledger-output.js';
import { withOwnKeys } from './own-keys.js';

interface StatementOptions extends LedgerOptions {
  readonly asOf?: string;
  readonly position?: string;
  readonly from?: string;
  readonly to?: string;
  readonly unit?: string;
  readonly format: 'table' | 'csv' | 'json';
}

interface PeriodOptions extends LedgerOptions {
  readonly period: string;
  readonly comment: string;
}

interface AdjustOptions extends LedgerOptions {
  readonly user: string;
  readonly unit: string;
  readonly amount: string;
  readonly reason: string;
  readonly approvedBy: string;
  readonly idempotencyKey?: string;
}

/** `ledger statement`, `close`, `reopen`, `adjust` and `export`. */
export function addLedgerCommands(cli: Command): void {
  const ledger = ledgerGroup(cli);
  withLedgerOptions(ledger.command('statement <tenant> <account>'))
    .description('the statement of an account: opening, lines and closing of each unit')
    .option('--as-of <time>', 'as of this time')
    .option('--position <position>', 'as of this position')
    .option('--from <time>', 'the first moment; earlier events are in the opening')
    .option('--to <time>', 'the last moment')
    .option('--unit <unit>', 'this unit only')
    .addOption(
      new Option('--format <format>', 'the output format')
        .choices(['table', 'csv', 'json'])
        .default('table'),
    )
    .action(
      async (
        alias: string,
        accountId: string,
        { format, mode, by, json, ...options }: StatementOptions,
      ) => {
        const scope = scopeOf(alias, mode);
        let later = 0;
        const noteLater = (entries: number): void => void (later = entries);
        const statement = await audited(scope, by, 'ledger statement', (core) =>
          statementOnRecord(core, scope, { accountId, noteLater, ...options }),
        );
        noteEntriesAfter(later, 'statement');
        if (json || format === 'json') return printJson(statement);
        if (format === 'csv') return void process.stdout.write(statementCsv(statement));
        printStatement(statement, options.unit);
      },
    );

  withLedgerOptions(ledger.command('tenant-statement <tenant>'))
    .description('the statement of all accounts: opening, a line a day and closing of each unit')
    .option('--from <day>', 'the first day, in UTC; earlier days are in the opening')
    .option('--to <day>', 'the last day, in UTC')
    .option('--unit <unit>', 'this unit only')
    .addOption(
      new Option('--format <format>', 'the output format')
        .choices(['table', 'csv', 'json'])
        .default('table'),
    )
    .action(async (alias: string, { format, mode, by, json, from, to, unit }: StatementOptions) => {
      const scope = scopeOf(alias, mode);
      let later = 0;
      const statement = await audited(scope, by, 'ledger tenant-statement', async (core) => {
        const asked = { from, to, unit };
        const done = await tenantStatementOnRecord(core, scope, asked, accountProjectors);
        if (!(done instanceof NotDone)) later = await entriesAfterDay(core, scope, done.result.to);
        return done;
      });
      noteEntriesAfter(later, 'statement');
      if (json || format === 'json') return printJson(statement);
      if (format === 'csv') return void process.stdout.write(tenantStatementCsv(statement));
      printTenantStatement(statement, unit);
    });

  for (const [name, type, description] of [
    ['close', 'ClosePeriod', 'closes a month'],
    ['reopen', 'ReopenPeriod', 'reopens a closed month'],
  ] as const) {
    withLedgerOptions(ledger.command(`${name} <tenant>`))
      .description(description)
      .requiredOption('--period <YYYY-MM>', 'the month, in UTC')
      .requiredOption('--comment <text>', 'why')
      .action(async (alias: string, { mode, by, json, period, comment }: PeriodOptions) => {
        const scope = scopeOf(alias, mode);
        const who = by ?? operatingSystemUser();
        let later = 0;
        const changed = await audited(scope, who, `ledger ${name}`, async (core) => {
          const request = { period, comment: filled('--comment', comment), by: who };
          const done = await changePeriodOnRecord(core, scope, type, request);
          if (!(done instanceof NotDone) && type === 'ClosePeriod')
            later = await entriesAfterPeriod(core, scope, period);
          return done;
        });
        noteEntriesAfter(later, 'month');
        if (json) return printJson(changed);
        process.stdout.write(`${alias}: ${period} is ${changed.status}\n`);
      });
  }

  withLedgerOptions(ledger.command('adjust <tenant> <account>'))
    .description("appends a correction of a user's credit")
    .requiredOption('--user <user>', 'the user of the account')
    .requiredOption('--unit <unit>', 'the unit of the credit')
    .requiredOption('--amount <amount>', '+n adds a manual reward, -n redeems')
    .requiredOption('--reason <text>', 'why')
    .requiredOption('--approved-by <name>', 'who approved it')
    .option('--idempotency-key <key>', 'the same key again has no second effect')
    .action(async (alias: string, accountId: string, options: AdjustOptions) => {
      const { mode, by, json } = options;
      const scope = scopeOf(alias, mode);
      const request = adjustmentOf(accountId, options, by ?? operatingSystemUser());
      const key = parseIdempotencyKey(options.idempotencyKey);
      const adjusted = await audited(scope, by, 'ledger adjust', (core) =>
        withOwnKeys(core, key, (keyed) => adjustOnRecord(core, scope, request, keyed)),
      );
      if (json) return printJson(adjusted);
      process.stdout.write(
        `adjusted by ${request.amount} ${request.unit}: event ${adjusted.eventId} at ${adjusted.position ?? ''}\n`,
      );
    });

  withLedgerOptions(ledger.command('export <tenant>'))
    .description('the events as JSON lines, decrypted; forgotten people stay anonymous')
    .option('--from <time>', 'recorded at this time or later')
    .option('--to <time>', 'recorded at this time or earlier')
    .action(
      async (
        alias: string,
        { mode, by, from, to }: LedgerOptions & { from?: string; to?: string },
      ) => {
        const scope = scopeOf(alias, mode);
        const exported = await audited(scope, by, 'ledger export', async (core) => {
          const result = await exportLedger(core, scope, { from, to }, writeOut);
          if (result instanceof NotDone) return result;
          return { result, parameters: { from, to }, digest: result.digest };
        });
        note(`${exported.events} events; digest ${exported.digest}`);
      },
    );
}

function adjustmentOf(accountId: string, options: AdjustOptions, by: string): AdjustmentRequest {
  return {
    accountId,
    userId: options.user,
    unit: parseUnit(options.unit),
    amount: parseAmount(options.amount),
    reason: filled('--reason', options.reason),
    approvedBy: filled('--approved-by', options.approvedBy),
    by,
  };
}

/** The reader of standard output may close it early. */
function writeOut(lines: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (): void => reject(new CommandError('standard output was closed'));
    process.stdout.once('error', failed);
    process.stdout.write(lines, (error) => {
      if (error) return failed();
      process.stdout.off('error', failed);
      resolve();
    });
  });
}
