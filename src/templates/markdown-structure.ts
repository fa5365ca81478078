/**
 * Limits on what makes markdown slow: marks, which are compared with all earlier ones (10 000 took
 * more than a second), nested containers, which are recursive, and elements, which a mail matches
 * with each style.
 */
const MARKS_MAX = 500;
/** Each is compared with all later ones: 200 in each text cost as much as 19 mails. */
const EMPHASIS_MAX = 100;
const LINES_MAX = 300;
/** The parser searches an address from each letter of a word. */
const WORD_CHARACTERS_MAX = 1_000;
/** Limit for the sum of squared lengths of words with `@`: 19 of 1 000 cost as much as 36 mails. */
const ADDRESS_SQUARES_MAX = 1_000_000;
/** Marks of lists and quotes at the start of a line, in all lines, and after variables. */
const CONTAINERS_OF_LINE_MAX = 6;
const CONTAINERS_MAX = 150;
const CONTAINERS_BEHIND_TAGS_MAX = 20;
const INDENTATION_MAX = 24;
const ELEMENTS_MAX = 400;

/** Spaces in sequence count once, so that the patterns take linear time. */
const MARK = /[[\]*_~`<>&|\\"#(!@]/g;
/** Between blanks a mark has no effect. */
const EMPHASIS = /(?<=\S)[*_~]|[*_~](?=\S)/g;
/** Texts that become links without marks. */
const ADDRESS = /www\.|:\/\/|@/gi;
const LEADING = /^[ \t]*((?:>|[-*+]|\d{1,9}[.)])[ \t]*)*/;
const CONTAINER = />|[-*+]|\d{1,9}[.)]/g;
/** A horizontal rule of any length. */
const RULE = /^[ \t]*([-*_])(?:[ \t]*\1)*[ \t]*$/;
/** Includes `{{else each …}}`. */
const EACH = /\{\{[^}]*\beach\b/;

/** Why a text cannot be rendered in bounded time, one line per reason. */
export function structureFaults(text: string): string[] {
  const faults: string[] = [];
  const lines = text.split(/\r\n|\r|\n/);
  // A group has two values, so `each` renders twice.
  const times = EACH.test(text) ? 2 : 1;
  const marks = times * (countOf(MARK, text) + 2 * countOf(ADDRESS, text));
  if (marks > MARKS_MAX) faults.push(`has more than ${MARKS_MAX} marks of markdown`);
  const words = text.split(/\s/);
  if (words.some(({ length }) => length > WORD_CHARACTERS_MAX)) {
    faults.push(`has a word of more than ${WORD_CHARACTERS_MAX} characters`);
  }
  const addresses = words.filter((word) => word.includes('@'));
  if (sum(addresses.map(({ length }) => length ** 2)) > ADDRESS_SQUARES_MAX) {
    faults.push('has too many long words with @');
  }
  if (times * lines.length > LINES_MAX) return [...faults, `has more than ${LINES_MAX} lines`];
  // A tag may end in a line break.
  const pieces = lines.map((line) => line.split('}}'));
  // `{{~` joins lines, so that a rule may become a list.
  const isRule = (line: string): boolean => !text.includes('{{~') && RULE.test(line);
  const emphasis = times * sum(lines.map((line) => (isRule(line) ? 0 : countOf(EMPHASIS, line))));
  if (emphasis > EMPHASIS_MAX) {
    faults.push(`has more than ${EMPHASIS_MAX} marks of emphasis (*, _ or ~)`);
  }
  const deep = pieces.findIndex((line) => line.some((piece) => isDeep(piece, isRule(piece))));
  if (deep >= 0) faults.push(`lists and quotes are nested too deep (line ${deep + 1})`);
  const behind = sum(pieces.flatMap((line) => line.slice(1)).map(containersOf));
  const ofLines = lines.map((line) => (isRule(line) ? 1 : containersOf(line)));
  const containers = times * (sum(ofLines) + behind);
  if (containers > CONTAINERS_MAX || behind > CONTAINERS_BEHIND_TAGS_MAX) {
    faults.push(`has more than ${CONTAINERS_MAX} marks of lists and quotes`);
  }
  // At most one element per line and two marks, and two per container (list and item).
  const filled = lines.filter((line) => line.trim() !== '').length;
  if (times * filled + marks / 2 + 2 * containers > ELEMENTS_MAX) {
    faults.push(`becomes more than ${ELEMENTS_MAX} elements`);
  }
  return faults;
}

const countOf = (pattern: RegExp, text: string): number => text.match(pattern)?.length ?? 0;
const sum = (counts: readonly number[]): number => counts.reduce((a, b) => a + b, 0);
const leadingOf = (line: string): string => LEADING.exec(line)?.[0] ?? '';

const containersOf = (line: string): number => countOf(CONTAINER, leadingOf(line));

function isDeep(line: string, isRule: boolean): boolean {
  if (isRule) return line.trim().length > 100;
  const leading = leadingOf(line);
  const blanks = leading.replaceAll('\t', '    ').length - leading.trim().length;
  return containersOf(line) > CONTAINERS_OF_LINE_MAX || blanks > INDENTATION_MAX;
}
