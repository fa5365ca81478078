import { diffLines } from 'diff';

/** A line of one of two texts; a line of both has no sign. */
export interface ChangedLine {
  readonly sign: '+' | '−' | ' ';
  readonly line: string;
}

/** How long a comparison may take; after that both texts are listed whole. */
const COMPARE_MS_MAX = 200;

/** Both texts in one list of lines; none for equal texts. */
export function changedLines(before: string, after: string): readonly ChangedLine[] {
  if (before === after) return [];
  const parts = diffLines(before, after, { timeout: COMPARE_MS_MAX }) ?? [
    { value: before, added: false, removed: true },
    { value: after, added: true, removed: false },
  ];
  return parts.flatMap(({ value, added, removed }) => {
    const sign = added ? '+' : removed ? '−' : ' ';
    return value
      .replace(/\n$/, '')
      .split('\n')
      .map((line): ChangedLine => ({ sign, line }));
  });
}
