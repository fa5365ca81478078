import { API_ERRORS, isApiErrorCode } from '../edge/api-error.js';
import type { Operation } from './openapi-operation.js';
import type { ErrorText } from './error-texts.js';
import type { FieldTexts } from './reference-texts.js';

/** The codes of the generated answers. */
export function errorCodes({ responses }: Operation): readonly string[] {
  return Object.values(responses).flatMap(({ content }) =>
    Object.values(content ?? {}).flatMap(({ schema }) =>
      (schema?.allOf ?? []).flatMap((part) => {
        const code: unknown = part.properties?.['apiErrorCode'];
        return typeof code === 'object' && code !== null && 'enum' in code
          ? (code.enum as readonly string[])
          : [];
      }),
    ),
  );
}

/** The operation's own errors by status, then the codes of all operations. */
export function errorTable(
  codes: readonly string[],
  own: FieldTexts,
  errors: ReadonlyMap<string, ErrorText>,
): string {
  const isGeneral = (code: string): boolean =>
    !own.has(code) && errors.get(code)?.isGeneral === true;
  const link = (code: string): string => `[\`${code}\`](/docs/errors#${code})`;
  const rows = codes
    .filter((code) => !isGeneral(code))
    .map((code) => {
      const text = errors.get(code);
      const cause = own.get(code)?.text ?? text?.cause ?? '';
      const status = isApiErrorCode(code) ? String(API_ERRORS[code].status) : '';
      return `| ${status} | ${link(code)} | ${cause} | ${text?.cure ?? ''} |`;
    });
  const table = ['| Status | `apiErrorCode` | Cause | What to do |', '|---|---|---|---|', ...rows];
  const general = codes.filter(isGeneral).map(link).join(', ');
  if (codes.length === 0) return '';
  return [
    '<details>',
    `<summary>Errors (${codes.length})</summary>`,
    ...(rows.length === 0 ? [] : ['', ...table]),
    ...(general === '' ? [] : ['', `[Errors of many operations](/docs/errors): ${general}.`]),
    '',
    '</details>',
  ].join('\n');
}
