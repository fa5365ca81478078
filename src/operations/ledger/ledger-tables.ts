import type { Statement, StatementLine } from '../../bookkeeping/statement.js';
import { csvLines, oneLine } from '../../exports/files/csv-lines.js';
import type { Printer, ShownColumn } from '../registry/printing.js';
import type { Reconciliation, ReconciliationDifference } from './ledger-reconciliation.js';
import type { Difference } from './replay/comparison.js';
import {
  each,
  MOVEMENTS,
  signedMovement,
  type Movement,
  type TenantStatement,
  type TenantStatementLine,
} from './tenant-statement.js';

/** The ledger's figures as tables for people, and as CSV files. */

type Shown = Partial<Omit<StatementLine, 'type'>> & { readonly type: string };

function correctionText({ reason, proposedBy, approvedBy }: Shown): string | undefined {
  if (proposedBy === undefined) return undefined;
  const named = (name: string | null | undefined): string => name ?? 'a forgotten person';
  const people = `proposed by ${named(proposedBy)}, approved by ${named(approvedBy)}`;
  return `${reason ?? 'a forgotten reason'} (${people})`;
}

const withEnds = ({ opening, closing, lines }: Statement['units'][number]): readonly Shown[] => [
  { type: 'opening', balance: opening },
  ...lines,
  { type: 'closing', balance: closing },
];

/** The type of a line, for people. */
export const lineInWords = (type: string): string =>
  type === 'imported' ? 'Imported opening balance' : type;

/** @param only the requested unit; without it all of them. */
export function printStatement(
  { account, position, units, rewards = [], digest }: Statement,
  { line, table }: Printer,
  { unit: only }: { readonly unit?: string | undefined },
): void {
  line(`account ${account}, position ${position ?? 'none'}`);
  if (units.length === 0) line(noCredit(only));
  for (const of of units) {
    const { unit, closing: balance, lines } = of;
    const amount = lines.reduce((sum, one) => sum + one.amount, 0);
    table<Shown>(
      [
        [unit, ({ type }) => lineInWords(type)],
        ['recorded', 'recordedAt'],
        ['effective', 'effectiveAt'],
        ['who', 'actor'],
        ['reward', 'rewardId'],
        ['amount', 'amount', 'amount'],
        ['balance', 'balance', 'amount'],
        ['event', 'eventId'],
        ['correction', correctionText],
      ],
      [...withEnds(of), { type: 'total', amount, balance }],
      { unit, account },
    );
  }
  if (rewards.length > 0)
    table(
      [
        ['paid by the payment provider', 'paidAt'],
        ['reward', 'rewardId'],
        ['external reference', 'externalReference'],
      ],
      rewards,
    );
  line(`digest ${digest}`);
}

const CELLS = [
  ...(['eventId', 'position', 'recordedAt', 'effectiveAt', 'type', 'actor'] as const),
  ...(['rewardId', 'amount', 'balance'] as const),
] as const;

/** RFC 4180, with a header; cells are written as in exports. */
export const statementCsv = ({ units }: Pick<Statement, 'units'>): string =>
  csvLines(
    [
      ['unit', ...CELLS],
      ...units.flatMap((of) =>
        withEnds(of).map((line) =>
          [of.unit, ...CELLS.map((name) => line[name] ?? '')].map((cell) =>
            typeof cell === 'string' ? oneLine(cell) : cell,
          ),
        ),
      ),
    ],
    '\r\n',
  );

type DayLine = TenantStatementLine | { readonly day: string; readonly balance: number };
type DayUnit = TenantStatement['units'][number];

const daysWithEnds = ({ opening, closing, lines, due }: DayUnit): readonly DayLine[] => [
  { day: 'opening', balance: opening },
  ...lines,
  ...(due === 0 ? [] : [{ day: 'due', balance: closing }]),
  { day: 'closing', balance: closing },
];

const movementColumns = <Row>(
  amountOf: (row: Row, movement: Movement) => number | undefined,
): readonly ShownColumn<Row>[] =>
  MOVEMENTS.map((movement) => [movement, (row) => amountOf(row, movement), 'amount']);

const movedOn = (line: DayLine, movement: Movement): number | undefined =>
  'issued' in line ? signedMovement(line, movement) : undefined;

const totalOf = ({ lines, closing: balance }: DayUnit): TenantStatementLine => ({
  day: 'total',
  ...each((movement) => lines.reduce((sum, line) => sum + line[movement], 0)),
  balance,
});

export function printTenantStatement(
  { tenant, from, to, units, tooLarge, digest }: TenantStatement,
  { line, table, note }: Printer,
  { unit: only }: { readonly unit?: string | undefined },
): void {
  line(`${tenant}, ${from ?? 'since the first event'} to ${to}`);
  if (units.length === 0) line(noCredit(only));
  for (const of of units)
    table<DayLine>(
      [[of.unit, 'day'], ...movementColumns<DayLine>(movedOn), ['balance', 'balance', 'amount']],
      [...daysWithEnds(of), totalOf(of)],
      { unit: of.unit },
    );
  if (tooLarge.length > 0) note(`sums beyond 2^53, not shown: ${tooLarge.join(', ')}`);
  line(`digest ${digest}`);
}

export const tenantStatementCsv = ({ units }: Pick<TenantStatement, 'units'>): string =>
  csvLines(
    [
      ['unit', 'day', ...MOVEMENTS, 'balance'],
      ...units.flatMap((of) =>
        daysWithEnds(of).map((line) => [
          of.unit,
          line.day,
          ...MOVEMENTS.map((movement) => movedOn(line, movement) ?? ''),
          line.balance,
        ]),
      ),
    ],
    '\r\n',
  );

const noCredit = (only: string | undefined): string =>
  only === undefined ? 'no credit' : `no credit in ${only}; without --unit all units are shown`;

type RolledForward = Reconciliation['units'][number];

const ROLL_FORWARD: readonly ShownColumn<RolledForward>[] = [
  'unit',
  ['opening', 'opening', 'amount'],
  ...movementColumns<RolledForward>(signedMovement),
  ...(['closing', 'scheduled', 'debits', 'credits'] as const).map(
    (sum): ShownColumn<RolledForward> => [sum, sum, 'amount'],
  ),
];

const DIFFERENCES: readonly ShownColumn<ReconciliationDifference>[] = [
  ['difference', 'kind'],
  'account',
  'unit',
  ['ledger', ({ ledger }) => ledger ?? 'none', 'amount'],
  ['against', ({ against }) => against ?? 'none', 'amount'],
];

export function printReconciliation(
  { units, differences }: Reconciliation,
  { line, table }: Printer,
): void {
  table(ROLL_FORWARD, units);
  if (differences.length > 0) table(DIFFERENCES, differences);
  else line('OK');
}

/** Items of a list that a cell names. */
const NAMED_MAX = 5;

/** The first items of a list, a line each, and the number of the others. */
export function firstOf(items: readonly string[]): string {
  const more = items.length - NAMED_MAX;
  return [...items.slice(0, NAMED_MAX), ...(more > 0 ? [`and ${more} more`] : [])].join('\n');
}

export const REPLAY_DIFFERENCES: readonly ShownColumn<Difference>[] = [
  'account',
  ['read model', 'readModel'],
  'field',
  ['ledger', ({ ledger }) => JSON.stringify(ledger)],
  ['live', ({ live }) => JSON.stringify(live)],
  ['events', ({ eventIds }) => firstOf(eventIds)],
];
