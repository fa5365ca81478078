import type { Statement, StatementLine } from '../../bookkeeping/statement.js';
import { namedActorInWords } from '../../operations/accounts/actor-in-words.js';
import {
  each,
  MOVEMENTS,
  signedMovement,
  type TenantStatement,
  type TenantStatementLine,
} from '../../operations/ledger/tenant-statement.js';
import { amountCell, idCell, textCell, timeCell, type Cell } from './cells.js';
import { partOf, tableState, tableView, type PathWith, type TableColumn } from './table.js';

/** What the tables of a statement are shown with. */
interface ShownIn {
  /** What the address says of the tables: all of the page's are in one order. */
  readonly state: Readonly<Record<string, string>>;
  readonly pathWith: PathWith;
  readonly filePath: string;
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

/** A movement of credit: a figure of `--json`, shown with the sign of its effect. */
const amountOf = (
  value: number | undefined,
  { text, figure }: { readonly text: (value: number) => string; readonly figure: string | null },
  shown = value,
): Cell => {
  if (value === undefined || shown === undefined) return NONE;
  const cell = amountCell(value, text(shown), figure);
  return cell.kind === 'amount' ? { ...cell, isNegative: shown < 0 } : cell;
};

const lineColumns = (unit: string, { amount }: ShownIn): readonly TableColumn<Line>[] => {
  const text = (value: number): string => amount(value, unit);
  return [
    {
      key: 'effective',
      label: 'Date',
      cell: (line) => (line.effectiveAt === undefined ? NONE : timeCell(line.effectiveAt, true)),
    },
    { key: 'type', label: 'Line', cell: (line) => textCell(textOf(line), { note: noteOf(line) }) },
    {
      key: 'recorded',
      label: 'Recorded',
      cell: (line) => (line.recordedAt === undefined ? NONE : timeCell(line.recordedAt, true)),
      isMinor: true,
    },
    {
      key: 'actor',
      label: 'By',
      cell: ({ actor }) => textCell(actor === undefined ? '' : namedActorInWords(actor)),
      isMinor: true,
    },
    {
      key: 'reward',
      label: 'Reward',
      cell: ({ rewardId }) => (rewardId === undefined ? NONE : idCell(rewardId)),
      isMinor: true,
    },
    {
      key: 'amount',
      label: 'Amount',
      cell: (line) => amountOf(line.amount, { text, figure: figureOf(line, 'line.amount') }),
    },
    {
      key: 'balance',
      label: 'Balance',
      sorts: false,
      cell: (line) =>
        amountOf(line.balance, { text, figure: figureOf(line, 'line.balance', unit) }),
    },
    {
      key: 'event',
      label: 'Event',
      sorts: false,
      cell: ({ eventId }) => (eventId === undefined ? NONE : idCell(eventId)),
      isMinor: true,
    },
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

const heading = (day: string): string => day.slice(0, 1).toUpperCase() + day.slice(1);

const dayColumns = (unit: string, { amount }: ShownIn): readonly TableColumn<DayLine>[] => {
  const text = (value: number): string => amount(value, unit);
  const moved = (value: number): string => (value === 0 ? '–' : text(value));
  const isLine = ({ day }: DayLine): boolean => /^\d/.test(day);
  return [
    { key: 'day', label: 'Day', cell: ({ day }) => textCell(day) },
    ...MOVEMENTS.map((movement): TableColumn<DayLine> => ({
      key: movement,
      label: heading(movement),
      isMinor: true,
      cell: (line) =>
        amountOf(
          line[movement],
          { text: moved, figure: isLine(line) ? `line.${movement}` : null },
          line[movement] && signedMovement({ ...each(() => 0), ...line }, movement),
        ),
    })),
    {
      key: 'balance',
      label: 'Balance',
      sorts: false,
      cell: (line) =>
        amountOf(line.balance, {
          text,
          figure: figureOf({ type: line.day }, 'line.balance', unit),
        }),
    },
  ];
};

function unitTable<L>(
  { unit, lines, opening, sums }: Unit<L>,
  columns: readonly TableColumn<L>[],
  order: string,
  { state, pathWith, filePath }: ShownIn,
) {
  const asked = tableState(state, columns, { sort: order, descending: false });
  // Without a chosen order the lines are in that of the ledger, on which balances rest.
  const isOwn = state['sort'] === '' || state['sort'] === undefined;
  const part = partOf(lines, isOwn ? [] : columns, asked);
  return {
    unit,
    table: tableView(part, columns, asked, {
      label: `Statement in ${unit}`,
      empty: { text: 'No movement in this period.' },
      pathWith,
      filePath,
      opening: [opening],
      sums,
    }),
  };
}

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
    return unitTable(of, lineColumns(unit, shownIn), 'effective', shownIn);
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
    return unitTable(of, dayColumns(unit, shownIn), 'day', shownIn);
  });
