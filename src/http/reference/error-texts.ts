import { parts } from './reference-texts.js';

/** The entry of a code in `docs/errors.md`. */
export interface ErrorText {
  readonly cause: string;
  readonly cure: string;
  /** In the page's first section: any operation may return it. */
  readonly isGeneral: boolean;
}

/** The entries of `docs/errors.md`: a heading with the code, "Cause: …", "What to do: …". */
export function errorTexts(markdown: string): ReadonlyMap<string, ErrorText> {
  const sections = parts(markdown, '## ').parts.filter(({ body }) => body.includes('\nCause: '));
  const codes = sections.flatMap(({ body }, section) =>
    parts(body, '### ').parts.map((part) => ({ ...part, isGeneral: section === 0 })),
  );
  return new Map(
    codes.map(({ title, body, isGeneral }) => [
      title.replaceAll('`', ''),
      { cause: paragraph(body, 'Cause: '), cure: paragraph(body, 'What to do: '), isGeneral },
    ]),
  );
}

const paragraph = (body: string, beginning: string): string =>
  body
    .split(/\n{2,}/)
    .find((text) => text.startsWith(beginning))
    ?.slice(beginning.length)
    .replaceAll('\n', ' ') ?? '';
