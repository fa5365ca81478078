import type { Statement, StatementLine } from '../bookkeeping/statement.js';
import { printTable } from './command-line.js';

/** How figures of the ledger look to people and to spreadsheets. */

const CSV_HEAD = ['unit', 'eventId', 'position', 'recordedAt', 'effectiveAt', 'type', 'actor', 'rewardId', 'amount', 'balance'] as const;

/** A row for the opening and the closing of each unit, and one for each line between them. RFC 4180, with a header. */
export function statementCsv({ units }: Statement): string {
  const rows = units.flatMap(({ unit, opening, closing, lines }) => [
    [unit, '', '', '', '', 'opening', '', '', '', opening],
    ...lines.map((line) => [unit, ...cellsOf(line)]),
    [unit, '', '', '', '', 'closing', '', '', '', closing],
  ]);
  return [CSV_HEAD, ...rows].map((row) => `${row.map(csvCell).join(',')}\r\n`).join('');
}

const cellsOf = (line: StatementLine): (string | number)[] => [
  line.eventId,
  line.position,
  line.recordedAt,
  line.effectiveAt,
  line.type,
  line.actor,
  line.rewardId,
  line.amount,
  line.balance,
];

/** A cell that a spreadsheet would run as a formula gets an apostrophe before it. */
export function csvCell(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function printStatement({ account, position, units, digest }: Statement): void {
  process.stdout.write(`account ${account}, position ${position ?? 'none'}\n`);
  if (units.length === 0) process.stdout.write('no credit\n');
  for (const { unit, opening, closing, lines } of units) {
    printTable(
      [unit, 'recorded', 'effective', 'who', 'reward', 'amount', 'balance', 'event'],
      [
        ['opening', '', '', '', '', '', String(opening), ''],
        ...lines.map(({ type, recordedAt, effectiveAt, actor, rewardId, amount, balance, eventId }) => [
          type,
          recordedAt,
          effectiveAt,
          actor,
          rewardId,
          String(amount),
          String(balance),
          eventId,
        ]),
        ['closing', '', '', '', '', '', String(closing), ''],
      ],
    );
  }
  process.stdout.write(`digest ${digest}\n`);
}
