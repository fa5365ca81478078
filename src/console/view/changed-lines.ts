import { diffLines } from 'diff';

/** A line of one of two texts; a line of both has no sign. */
export interface ChangedLine {
  readonly sign: '+' | '−' | ' ';
  readonly line: string;
}

/** How long a comparison may take; after that both texts are listed whole. */
const COMPARE_MS_MAX = 200;

/** A page with more takes the service seconds, and the browser minutes. */
const LINES_MAX = 5_000;

/**
 * Both texts in one list of lines; none for equal texts. Of a longer list the first lines, and one
 * that says so.
 */
export function changedLines(before: string, after: string): readonly ChangedLine[] {
  if (before === after) return [];
  const parts = diffLines(before, after, { timeout: COMPARE_MS_MAX }) ?? [
    { value: before, added: false, removed: true },
    { value: after, added: true, removed: false },
  ];
  const lines: ChangedLine[] = [];
  for (const { value, added, removed } of parts) {
    const sign = added ? '+' : removed ? '−' : ' ';
    const left = LINES_MAX + 1 - lines.length;
    const some = value.replace(/\n$/, '').split('\n', left);
    lines.push(...some.map((line): ChangedLine => ({ sign, line })));
    if (lines.length > LINES_MAX) break;
  }
  if (lines.length <= LINES_MAX) return lines;
  return [...lines.slice(0, LINES_MAX), { sign: ' ', line: `… (the first ${LINES_MAX} lines)` }];
}
