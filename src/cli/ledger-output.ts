import type { Statement, StatementLine } from '../bookkeeping/statement.js';
import { csvLines, oneLine } from '../exports/files/csv-lines.js';
import type { Cell } from '../exports/files/sheet-rows.js';
import { printTable } from './command-line.js';

/** The ledger's figures as tables and as CSV. */

const CSV_HEAD = [
  'unit',
  'eventId',
  'position',
  'recordedAt',
  'effectiveAt',
  'type',
  'actor',
  'rewardId',
  'amount',
  'balance',
] as const;

/**
 * A row for the opening and the closing of each unit, and one for each line between them. RFC 4180,
 * with a header; cells are written as in exports.
 */
export function statementCsv({ units }: Statement): string {
  const rows = units.flatMap(({ unit, opening, closing, lines }) => [
    [unit, '', '', '', '', 'opening', '', '', '', opening],
    ...lines.map((line) => [unit, ...cellsOf(line)]),
    [unit, '', '', '', '', 'closing', '', '', '', closing],
  ]);
  const texts = rows.map((row) =>
    row.map((cell): Cell => (typeof cell === 'string' ? oneLine(cell) : cell)),
  );
  return csvLines([CSV_HEAD, ...texts], '\r\n');
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

export function printStatement({ account, position, units, digest }: Statement): void {
  process.stdout.write(`account ${account}, position ${position ?? 'none'}\n`);
  if (units.length === 0) process.stdout.write('no credit\n');
  for (const { unit, opening, closing, lines } of units) {
    printTable(
      [unit, 'recorded', 'effective', 'who', 'reward', 'amount', 'balance', 'event'],
      [
        ['opening', '', '', '', '', '', String(opening), ''],
        ...lines.map(
          ({ type, recordedAt, effectiveAt, actor, rewardId, amount, balance, eventId }) => [
            type,
            recordedAt,
            effectiveAt,
            actor,
            rewardId,
            String(amount),
            String(balance),
            eventId,
          ],
        ),
        ['closing', '', '', '', '', '', String(closing), ''],
      ],
    );
  }
  process.stdout.write(`digest ${digest}\n`);
}
