import { parts } from './reference-texts.js';

/** What `docs/errors.md` says about a code. */
export interface ErrorText {
  readonly cause: string;
  readonly cure: string;
  /** Of the first section of the page: any operation may return it. */
  readonly isGeneral: boolean;
}

/** The entries of `docs/errors.md`: a code as the heading, then "Cause: …" and "What to do: …". */
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
