import type { Statement, StatementLine } from '../../bookkeeping/statement.js';
import { csvLines, oneLine } from '../../exports/files/csv-lines.js';
import type { Cell } from '../../exports/files/sheet-rows.js';

const HEAD = [
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
  return csvLines([HEAD, ...texts], '\r\n');
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
