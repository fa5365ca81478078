import { withThousands } from '../foundation/thousands.js';

/**
 * Tables on a terminal, and for a pipe. The time is linear in what is shown; cli-table3 is
 * quadratic in the rows and in the lines of a cell (100 lines in one cell: minutes).
 */

/** Longest text of a cell, in characters; `--json` shows all of it. */
export const CELL_CHARACTERS_MAX = 500;
/** Most lines of a cell. */
export const CELL_LINES_MAX = 12;

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
/** Of the columns that have no place in the first line of their row. */
const INDENT = '  ';

/**
 * The table as lines for a terminal, each with its line break: a header, a rule, the rows. A row
 * that is shorter than the header has empty cells. What is wider than the terminal is shortened:
 * times to seconds, ids as far as they stay apart from each other, then texts, then the space
 * between columns. Then names of columns are broken into words, and what still does not fit stands
 * in a further line of its row: texts, ids and times before amounts, and the last ones first.
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
  const [first = [], ...further] = width === undefined ? [whole] : fitted(whole, width);
  if (isShortened(whole, [first, ...further])) onShortened();
  const all = [first, ...further];
  const hasRoom = width === undefined || all.every((each) => widthOfAll(each) <= width);
  const gap = hasRoom ? GAP : NARROW_GAP;
  const line = (cells: readonly string[], indent = ''): string =>
    `${(indent + cells.join(gap)).trimEnd()}\n`;
  const indentOf = (each: readonly ShownColumn[]): string => (each === first ? '' : INDENT);
  for (const each of all) {
    const height = each.reduce((most, { head }) => Math.max(most, head.length), 1);
    for (let row = 0; row < height; row++) {
      const words = each.map((column) =>
        aligned(column, column.head[row - height + column.head.length] ?? ''),
      );
      yield line(words, indentOf(each));
    }
  }
  yield line(first.map((column) => '─'.repeat(column.width)));
  for (const row of rows.keys())
    for (const each of all) {
      const cells = each.map(({ cells: of }) => of[row] ?? EMPTY);
      const isFirst = each === first;
      if (!isFirst && cells.every(({ width: filled }) => filled === 0)) continue;
      const height = cells.reduce((most, { lines }) => Math.max(most, lines.length), 1);
      for (let part = 0; part < height; part++) {
        const texts = each.map((column, place) => aligned(column, cells[place]?.lines[part] ?? ''));
        yield line(texts, indentOf(each));
      }
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
  /** The name, and a line for each word of it where there is little room. */
  readonly head: readonly string[];
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
  return withWidth({ head: [nameOf(column)], isAmount, isText: !isAmount, cells });
}

const withWidth = (column: Omit<ShownColumn, 'width'>): ShownColumn => ({
  ...column,
  width: column.cells.reduce((most, { width }) => Math.max(most, width), headWidth(column)),
});

const aligned = ({ isAmount, width }: ShownColumn, text: string): string => {
  const space = ' '.repeat(Math.max(0, width - widthOf(text)));
  return isAmount ? space + text : text + space;
};

const headWidth = ({ head }: Pick<ShownColumn, 'head'>): number => Math.max(...head.map(widthOf));

const widthOfAll = (columns: readonly ShownColumn[], gap = GAP): number =>
  columns.reduce((sum, { width }) => sum + width, gap.length * (columns.length - 1));

/** The columns of each line of a row. */
type Layout = readonly (readonly ShownColumn[])[];

function fitted(whole: readonly ShownColumn[], width: number): Layout {
  if (widthOfAll(whole) <= width) return [whole];
  const shorter = whole.map(shortened);
  if (leastWidth(shorter) <= width) return [cut(shorter, width)];
  return brokenUp(shorter.map(withBrokenHead), width);
}

const withBrokenHead = (column: ShownColumn): ShownColumn =>
  withWidth({ ...column, head: column.head.flatMap((name) => name.split(' ')) });

/** Texts as wide as they can be. */
function cut(columns: readonly ShownColumn[], width: number): readonly ShownColumn[] {
  const gap = leastWidth(columns, GAP) <= width ? GAP : NARROW_GAP;
  const most = widestText(columns, width, gap);
  return columns.map((column) => (column.isText ? cutTo(column, most) : column));
}

/** With every text as short as may be. */
function leastWidth(columns: readonly ShownColumn[], gap = NARROW_GAP): number {
  return columns.reduce(
    (sum, column) => sum + (column.isText ? leastOf(column) : column.width),
    gap.length * (columns.length - 1),
  );
}

const leastOf = (column: ShownColumn): number =>
  Math.min(column.width, Math.max(TEXT_WIDTH_MIN, headWidth(column)));

function brokenUp(columns: readonly ShownColumn[], width: number): Layout {
  const first = [...columns];
  const further: ShownColumn[] = [];
  while (first.length > 1 && leastWidth(first) > width) {
    const lastText = first.findLastIndex(({ isAmount }, place) => place > 0 && !isAmount);
    further.unshift(...first.splice(lastText === -1 ? -1 : lastText, 1));
  }
  const shown = cut(first, width);
  return further.length === 0 ? [shown] : [shown, ...brokenUp(further, width - INDENT.length)];
}

/** Whether something of a cell is left out; the break between two lines is nothing. */
function isShortened(whole: readonly ShownColumn[], shown: Layout): boolean {
  const lengthOf = (columns: readonly ShownColumn[]): number =>
    columns.reduce((sum, { cells }) => cells.reduce((more, { width }) => more + width, sum), 0);
  return lengthOf(shown.flat()) < lengthOf(whole);
}

/** A UUID, or as many hexadecimal digits. */
const ID = /^(?:[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}|[\da-f]{32,64})$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/;
const ID_DIGITS_MIN = 8;
/** Shown beginning of an id, which is distinguished by its end. */
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
function widestText(columns: readonly ShownColumn[], width: number, gap: string): number {
  const texts = columns.filter(({ isText }) => isText).map((column) => column.width);
  let left = width - widthOfAll(columns, gap) + texts.reduce((sum, each) => sum + each, 0);
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
  const most = Math.max(width, headWidth(column));
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
