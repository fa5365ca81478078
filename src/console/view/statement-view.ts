import type { Statement, StatementLine } from '../../bookkeeping/statement.js';
import { namedActorInWords } from '../../operations/accounts/actor-in-words.js';
import {
  each,
  MOVEMENTS,
  signedMovement,
  type Movement,
  type TenantStatement,
  type TenantStatementLine,
} from '../../operations/ledger/tenant-statement.js';
import { idCell, movementCell, textCell, timeCell, type Cell } from './cells.js';
import type { Money } from '../../operations/registry/printing.js';
import type { tablesOf } from './page-tables.js';
import { column, type TableColumn } from './table.js';
import { amountText, capital } from './templates.js';

/** What the tables of a statement are shown with. */
interface ShownIn {
  readonly tables: ReturnType<typeof tablesOf>;
  readonly amount: (value: number, unit: string) => string;
}

type Line = Partial<Omit<StatementLine, 'type'>> & { readonly type: string };
type DayLine = Partial<TenantStatementLine> & { readonly day: string };
interface Unit<L> {
  readonly unit: string;
  readonly lines: readonly L[];
  readonly opening: L;
  readonly sums: readonly L[];
}

/** Types of lines, for people. */
const WORDS: Readonly<Record<string, string>> = {
  issued: 'Reward granted',
  scheduled: 'Reward granted for later',
  available: 'Became available',
  redeemed: 'Redeemed',
  expired: 'Expired',
  cancelled: 'Cancelled',
  restored: 'Restored',
  forfeited: 'Ended with its forgotten user',
  imported: 'Imported opening balance',
};

const textOf = ({ type, proposedBy }: Line): string => {
  const words = WORDS[type] ?? type;
  return proposedBy === undefined ? words : `Correction: ${words.toLowerCase()}`;
};

const noteOf = ({ proposedBy, approvedBy, reason }: Line): string | null => {
  if (proposedBy === undefined) return null;
  const named = (name: string | null | undefined): string => name ?? 'a forgotten person';
  const people = `proposed by ${named(proposedBy)}, approved by ${named(approvedBy)}`;
  return `${reason ?? 'A forgotten reason'}; ${people}`;
};

const NONE = textCell('');

/** Empty where the line has no such amount. */
const amountOf = (
  value: number | undefined,
  { text, figure }: { readonly text: (value: number) => string; readonly figure: string | null },
  shown = value,
): Cell => (value === undefined ? NONE : movementCell({ value, shown }, text, figure));

/** From the opening of a unit over its movements to its closing. */
export const rollForwardCells = (
  sums: Readonly<Record<Movement | 'opening' | 'closing', number>> & { readonly unit: string },
  money: Money | undefined,
) => {
  const { unit, opening, closing } = sums;
  const line = (name: string, value: number, shown = value) => ({
    label: capital(name),
    cell: movementCell(
      { value, shown },
      (amount) => amountText(amount, unit, money),
      `${name}:${unit}`,
    ),
  });
  return [
    line('opening', opening),
    ...MOVEMENTS.map((one) => line(one, sums[one], signedMovement(sums, one))),
    line('closing', closing),
  ];
};

const lineColumns = (unit: string, { amount }: ShownIn): readonly TableColumn<Line>[] => {
  const text = (value: number): string => amount(value, unit);
  return [
    column(['effective', 'Date'], (line) =>
      line.effectiveAt === undefined ? NONE : timeCell(line.effectiveAt, true),
    ),
    column(['type', 'Line'], (line) => textCell(textOf(line), { note: noteOf(line) })),
    column(['recorded', 'minor'], (line) =>
      line.recordedAt === undefined ? NONE : timeCell(line.recordedAt, true),
    ),
    column(['actor', 'By', 'minor'], ({ actor }) =>
      textCell(actor === undefined ? '' : namedActorInWords(actor)),
    ),
    column(['reward', 'minor'], ({ rewardId }) =>
      rewardId === undefined ? NONE : idCell(rewardId),
    ),
    column('amount', (line) =>
      amountOf(line.amount, { text, figure: figureOf(line, 'line.amount') }),
    ),
    column(['balance', 'unsorted'], (line) =>
      amountOf(line.balance, { text, figure: figureOf(line, 'line.balance', unit) }),
    ),
    column(['event', 'unsorted', 'minor'], ({ eventId }) =>
      eventId === undefined ? NONE : idCell(eventId),
    ),
  ];
};

const OPENING = 'Opening balance';
const CLOSING = 'Closing balance';
const TOTAL = 'Total';

/** Of the balances at both ends, or of a line. */
function figureOf({ type }: { readonly type: string }, line: string, unit = ''): string | null {
  if (type === TOTAL) return null;
  if (type === OPENING) return `opening:${unit}`;
  return type === CLOSING ? `closing:${unit}` : line;
}

const dayColumns = (unit: string, { amount }: ShownIn): readonly TableColumn<DayLine>[] => {
  const text = (value: number): string => amount(value, unit);
  const moved = (value: number): string => (value === 0 ? '–' : text(value));
  const isLine = ({ day }: DayLine): boolean => /^\d/.test(day);
  return [
    column('day', ({ day }) => textCell(day)),
    ...MOVEMENTS.map((movement): TableColumn<DayLine> =>
      column([movement, 'minor'], (line) =>
        amountOf(
          line[movement],
          { text: moved, figure: isLine(line) ? `line.${movement}` : null },
          line[movement] && signedMovement({ ...each(() => 0), ...line }, movement),
        ),
      ),
    ),
    column(['balance', 'unsorted'], (line) =>
      amountOf(line.balance, {
        text,
        figure: figureOf({ type: line.day }, 'line.balance', unit),
      }),
    ),
  ];
};

/** Without a chosen order the lines are in that of the ledger, on which balances rest. */
const unitTable = <L>(
  { unit, lines: rows, opening, sums }: Unit<L>,
  columns: readonly TableColumn<L>[],
  { tables }: ShownIn,
) => ({
  unit,
  table: tables({
    label: `Statement in ${unit}`,
    rows,
    columns,
    empty: { text: 'No movement in this period.' },
    ends: { opening: [opening], sums },
  }).view,
});

/** Of each unit a table. */
export const accountTables = ({ units }: Statement, shownIn: ShownIn) =>
  units.map(({ unit, opening, closing, lines }) => {
    const amount = lines.reduce((sum, line) => sum + line.amount, 0);
    const of: Unit<Line> = {
      unit,
      lines,
      opening: { type: OPENING, balance: opening },
      sums: [
        { type: TOTAL, amount },
        { type: CLOSING, balance: closing },
      ],
    };
    return unitTable(of, lineColumns(unit, shownIn), shownIn);
  });

/** Of each unit a table, a line a day. */
export const tenantTables = ({ units }: TenantStatement, shownIn: ShownIn) =>
  units.map(({ unit, opening, closing, lines, due }) => {
    const total = each((movement) => lines.reduce((sum, line) => sum + line[movement], 0));
    const of: Unit<DayLine> = {
      unit,
      lines,
      opening: { day: OPENING, balance: opening },
      sums: [
        ...(due === 0 ? [] : [{ day: 'Dates that passed, not recorded yet', balance: closing }]),
        { day: TOTAL, ...total },
        { day: CLOSING, balance: closing },
      ],
    };
    return unitTable(of, dayColumns(unit, shownIn), shownIn);
  });
