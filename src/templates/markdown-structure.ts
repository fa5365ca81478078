/**
 * What makes markdown slow: marks that may open something, each compared with those before it
 * (10 000 of them took more than a second), and containers in containers, which are recursive.
 */
const MARKS_MAX = 1_000;
const LINES_MAX = 1_000;
/** An address is looked for from each letter of a word on. */
const WORD_CHARACTERS_MAX = 1_000;
const CONTAINERS_MAX = 6;
const INDENTATION_MAX = 24;

/** A run of spaces counts once, so that these patterns are linear in the text. */
const MARK = /[[\]*_~`<>&|\\"#(!@]/g;
const LEADING = /^[ \t]*((?:>|[-*+]|\d{1,9}[.)])[ \t]*)*/;
const CONTAINER = />|[-*+]|\d{1,9}[.)]/g;

/** Why a text is too intricate to be rendered in bounded time, one line for each reason. */
export function structureFaults(text: string): string[] {
  const faults: string[] = [];
  if ((text.match(MARK)?.length ?? 0) > MARKS_MAX) {
    faults.push(`has more than ${MARKS_MAX} marks of markdown`);
  }
  if (text.split(/\s/).some((word) => word.length > WORD_CHARACTERS_MAX)) {
    faults.push(`has a word of more than ${WORD_CHARACTERS_MAX} characters`);
  }
  const lines = text.split(/\r\n|\r|\n/);
  if (lines.length > LINES_MAX) return [...faults, `has more than ${LINES_MAX} lines`];
  const deep = lines.findIndex(isDeep);
  if (deep >= 0) faults.push(`lists and quotes are nested too deep (line ${deep + 1})`);
  return faults;
}

function isDeep(line: string): boolean {
  const leading = LEADING.exec(line)?.[0] ?? '';
  const blanks = leading.replaceAll('\t', '    ').length - leading.trim().length;
  const marks = leading.match(CONTAINER)?.length ?? 0;
  // A line of dashes or stars is a rule, however long it is.
  if (/^[ \t]*([-*_])(?:[ \t]*\1)*[ \t]*$/.test(line)) return line.trim().length > 100;
  return marks > CONTAINERS_MAX || blanks > INDENTATION_MAX;
}
