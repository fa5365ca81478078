import { withThousands } from '../foundation/thousands.js';

/**
 * Tables on a terminal, and for a pipe. The time is linear in what is shown; cli-table3 is
 * quadratic in the rows and in the lines of a cell (100 lines in one cell: minutes).
 */

/** Longest text of a cell, in characters; `--json` shows all of it. */
export const CELL_CHARACTERS_MAX = 500;
/** Most lines of a cell. */
export const CELL_LINES_MAX = 12;

/** Items of a list that a cell names. */
const NAMED_MAX = 5;

/** The first items of a list, a line each, and the number of the others. */
export function firstOf(items: readonly string[]): string {
  const more = items.length - NAMED_MAX;
  return more > 0
    ? [...items.slice(0, NAMED_MAX), `and ${more} more`].join('\n')
    : items.join('\n');
}

/** A column by its name. Amounts stand right-aligned, with their thousands apart. */
export type Column = string | { readonly amount: string };

type Rows = readonly (readonly string[])[];

interface Cell {
  readonly lines: readonly string[];
  readonly width: number;
}

const GAP = '  ';
/** Where the columns would not fit otherwise. */
const NARROW_GAP = ' ';

/**
 * The table as lines for a terminal, each with its line break: a header, a rule, the rows. A row
 * that is shorter than the header has empty cells. What is wider than the terminal is shortened:
 * times to seconds, ids as far as they stay apart from each other, then texts, then the space
 * between columns; nothing else would fit into one line.
 * @param width of the terminal in columns; undefined: nothing is shortened.
 * @param onShortened called when something is not shown.
 */
export function* tableLines(
  columns: readonly Column[],
  rows: Rows,
  width?: number,
  onShortened: () => void = () => undefined,
): Iterable<string> {
  const whole = columns.map((column, place) => columnOf(column, rows, place));
  const shown = width === undefined ? whole : fitted(whole, width, onShortened);
  const gap = width !== undefined && widthOfAll(shown) > width ? NARROW_GAP : GAP;
  const line = (cells: readonly string[]): string => `${cells.join(gap).trimEnd()}\n`;
  yield line(shown.map((column) => aligned(column, column.name)));
  yield line(shown.map((column) => '─'.repeat(column.width)));
  for (const row of rows.keys()) {
    const cells = shown.map(({ cells: of }) => of[row] ?? EMPTY);
    const height = cells.reduce((most, { lines }) => Math.max(most, lines.length), 1);
    for (let each = 0; each < height; each++)
      yield line(shown.map((column, place) => aligned(column, cells[place]?.lines[each] ?? '')));
  }
}

/** The table for a pipe: tab-separated, a line each row, whole. */
export function* tabLines(columns: readonly Column[], rows: Rows): Iterable<string> {
  yield `${columns.map(nameOf).join('\t')}\n`;
  for (const row of rows)
    yield `${columns.map((_, place) => onOneLine(row[place] ?? '')).join('\t')}\n`;
}

const EMPTY: Cell = { lines: [], width: 0 };

interface ShownColumn {
  readonly name: string;
  readonly isAmount: boolean;
  /** Cells may be cut: they are neither amounts nor all of them ids and times. */
  readonly isText: boolean;
  readonly cells: readonly Cell[];
  readonly width: number;
}

const nameOf = (column: Column): string => (typeof column === 'string' ? column : column.amount);

/** Text of clients must not control the operator's terminal, nor make a row of its own. */
const onOneLine = (text: string): string =>
  text.replaceAll('\n', ', ').replace(/\p{Cc}/gu, '\ufffd');

function columnOf(column: Column, rows: Rows, place: number): ShownColumn {
  const isAmount = typeof column !== 'string';
  const cells = rows.map((row) => {
    const text = row[place] ?? '';
    return cellOf(isAmount && /^-?\d+$/.test(text) ? withThousands(text) : text);
  });
  return withWidth({ name: nameOf(column), isAmount, isText: !isAmount, cells });
}

const withWidth = (column: Omit<ShownColumn, 'width'>): ShownColumn => ({
  ...column,
  width: column.cells.reduce((most, { width }) => Math.max(most, width), widthOf(column.name)),
});

const aligned = ({ isAmount, width }: ShownColumn, text: string): string => {
  const space = ' '.repeat(Math.max(0, width - widthOf(text)));
  return isAmount ? space + text : text + space;
};

const widthOfAll = (columns: readonly ShownColumn[]): number =>
  columns.reduce((sum, { width }) => sum + width, GAP.length * (columns.length - 1));

function fitted(
  whole: readonly ShownColumn[],
  width: number,
  onShortened: () => void,
): readonly ShownColumn[] {
  if (widthOfAll(whole) <= width) return whole;
  onShortened();
  const shorter = whole.map(shortened);
  const most = widestText(shorter, width);
  return shorter.map((column) => (column.isText ? cutTo(column, most) : column));
}

/** A UUID, or as many hexadecimal digits. */
const ID = /^(?:[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}|[\da-f]{32,64})$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/;
const ID_DIGITS_MIN = 8;
/** Of an id that is told apart by its end. */
const ID_HEAD_DIGITS = 4;
const TEXT_WIDTH_MIN = 8;

const isIdOrTime = (text: string): boolean => ID.test(text) || TIME.test(text);

/** Ids and times of each cell that is nothing else. */
function shortened(column: ShownColumn): ShownColumn {
  const texts = column.cells.map(({ lines }) => lines.join('\n'));
  const shortId = shortIdOf(texts.filter((text) => ID.test(text)));
  const cells = column.cells.map((cell, row) => {
    const text = texts[row] ?? '';
    if (ID.test(text)) return cellOf(shortId(text));
    if (TIME.test(text)) return cellOf(`${text.slice(0, 10)} ${text.slice(11, 19)}Z`);
    return cell;
  });
  const isText = column.isText && texts.some((text) => text !== '' && !isIdOrTime(text));
  return withWidth({ ...column, isText, cells });
}

/** By its first characters, or by its last ones where fewer of these tell the ids apart. */
function shortIdOf(ids: readonly string[]): (id: string) => string {
  const first = digitsOf(ids);
  const last = digitsOf(ids.map((id) => [...id].reverse().join('')));
  if (ID_HEAD_DIGITS + last < first)
    return (id) => `${id.slice(0, ID_HEAD_DIGITS)}…${id.slice(-last)}`;
  return (id) => (first < id.length ? `${id.slice(0, first)}…` : id);
}

/** So many characters at the beginning tell these ids apart. */
function digitsOf(ids: readonly string[]): number {
  const sorted = [...new Set(ids)].sort();
  let digits = ID_DIGITS_MIN;
  for (const [place, id] of sorted.entries()) {
    const next = sorted[place + 1] ?? '';
    while (next.startsWith(id.slice(0, digits))) digits += 1;
  }
  return digits;
}

/** The greatest width of a text with which all columns fit, if any does. */
function widestText(columns: readonly ShownColumn[], width: number): number {
  const texts = columns.filter(({ isText }) => isText).map((column) => column.width);
  let left = width - widthOfAll(columns) + texts.reduce((sum, each) => sum + each, 0);
  const narrowFirst = texts.sort((a, b) => a - b);
  for (const [place, each] of narrowFirst.entries()) {
    const share = Math.floor(left / (narrowFirst.length - place));
    if (each > share) return Math.max(TEXT_WIDTH_MIN, share);
    left -= each;
  }
  return Infinity;
}

/** Names stay whole: a column is as wide as its name at least. */
function cutTo(column: ShownColumn, width: number): ShownColumn {
  const most = Math.max(width, widthOf(column.name));
  if (column.width <= most) return column;
  const cells = column.cells.map(({ lines }) =>
    cellOf(lines.map((line) => cutText(line, most)).join('\n')),
  );
  return withWidth({ ...column, cells });
}

function cutText(text: string, most: number): string {
  if (widthOf(text) <= most) return text;
  let shown = '';
  let width = 1;
  for (const character of text) {
    width += widthOf(character);
    if (width > most) break;
    shown += character;
  }
  return `${shown}…`;
}

function cellOf(text: string): Cell {
  const isCut = text.length > CELL_CHARACTERS_MAX;
  const all = (isCut ? `${text.slice(0, CELL_CHARACTERS_MAX)}…` : text).split('\n');
  const shown = all.length > CELL_LINES_MAX ? [...all.slice(0, CELL_LINES_MAX - 1), '…'] : all;
  // Text of clients must not control the operator's terminal.
  const lines = shown.map((line) => line.replace(/\p{Cc}/gu, '\ufffd'));
  return { lines, width: lines.reduce((widest, line) => Math.max(widest, widthOf(line)), 0) };
}

const PLAIN = /^[\x20-\x7e]*$/;
const WITHOUT_WIDTH = /[\p{M}\p{Cf}]/gu;
const TWICE_AS_WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/gu;

/** Number of terminal columns that a text fills. */
function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length;
  const visible = text.replace(WITHOUT_WIDTH, '');
  return [...visible].length + (visible.match(TWICE_AS_WIDE)?.length ?? 0);
}
