/**
 * Tables on a terminal. The time is linear in what is shown; cli-table3 is quadratic in the rows
 * and in the lines of a cell (100 lines in one cell: minutes).
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

interface Cell {
  readonly lines: readonly string[];
  readonly width: number;
}

/**
 * The table as lines, each with its line break: a header, and a rule between rows. A row that is
 * shorter than the header has empty cells.
 */
export function* tableLines(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): Iterable<string> {
  const table = [head, ...rows].map((row) => head.map((_, column) => cellOf(row[column] ?? '')));
  const widths = head.map((_, column) =>
    table.reduce((widest, row) => Math.max(widest, row[column]?.width ?? 0), 0),
  );
  const rule = (left: string, between: string, right: string): string =>
    `${left}${widths.map((width) => '─'.repeat(width + 2)).join(between)}${right}\n`;
  yield rule('┌', '┬', '┐');
  for (const [index, row] of table.entries()) {
    if (index > 0) yield rule('├', '┼', '┤');
    const height = row.reduce((most, { lines }) => Math.max(most, lines.length), 1);
    for (let line = 0; line < height; line++)
      yield `│${row.map(({ lines }, column) => ` ${padded(lines[line] ?? '', widths[column] ?? 0)} `).join('│')}│\n`;
  }
  yield rule('└', '┴', '┘');
}

function cellOf(text: string): Cell {
  const isCut = text.length > CELL_CHARACTERS_MAX;
  const all = (isCut ? `${text.slice(0, CELL_CHARACTERS_MAX)}…` : text).split('\n');
  const shown = all.length > CELL_LINES_MAX ? [...all.slice(0, CELL_LINES_MAX - 1), '…'] : all;
  // Text of clients must not control the operator's terminal.
  const lines = shown.map((line) => line.replace(/\p{Cc}/gu, '\ufffd'));
  return { lines, width: lines.reduce((widest, line) => Math.max(widest, widthOf(line)), 0) };
}

const padded = (text: string, width: number): string => text + ' '.repeat(width - widthOf(text));

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
