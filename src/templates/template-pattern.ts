/**
 * What a regular expression can say of a template: which tags it has, but not whether its blocks
 * are closed. For JSON Schema. Linear in the text: what may follow a place begins differently in
 * each case.
 */
export interface PatternOptions {
  /** Names with dots; undefined: any. */
  readonly variables?: readonly string[];
  readonly oneLine?: boolean;
}

const CONTROL = '\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f\\ufffe\\uffff';
const BEYOND_A_LINE = '\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029\\ufffe\\uffff';
/** Of a name in the syntax of Handlebars. */
const LETTER = '[^\\s!"#%-,.\\/;->@\\[-\\^`{-~]';
const FORBIDDEN = '(?:constructor|prototype|__proto__|__(?:define|lookup)[GS]etter__)';
const ABOVE = '(?:\\.{1,2}\\/|this[.\\/])*';

export function templatePattern({ variables, oneLine = false }: PatternOptions): string {
  const excluded = oneLine ? BEYOND_A_LINE : CONTROL;
  const blank = oneLine ? ' ' : '\\s';
  const variable = variables === undefined ? ANY : oneOf(variables);
  const group = variables === undefined ? ANY : oneGroupOf(variables);
  const text = `[^{\\\\${excluded}]*`;
  const close = `${blank}*~?\\}\\}`;
  const dashed = `(?=--)(?:[^\\-${excluded}]|-(?!-~?\\}\\}))*--~?\\}\\}`;
  const comment = `!(?:${dashed}|(?!--)(?:[^}${excluded}]|\\}(?!\\}))*\\}\\})`;
  const block = `(?:(?:if|unless)${blank}+${variable}|each${blank}+${group})`;
  const tags = [
    comment,
    `#${blank}*${block}${close}`,
    `\\^(?:${blank}*${block})?${close}`,
    `\\/${blank}*(?:if|unless|each)${close}`,
    `${blank}*(?:else(?:${blank}+${block})?|${variable})${close}`,
  ];
  const special = [
    '\\{(?!\\{)',
    // One backslash makes a tag a text; two do not.
    '\\\\(?!\\\\)(?:\\{\\{|(?!\\{\\{))',
    '\\\\{2,}(?!\\\\)',
    `\\{\\{~?(?:${tags.join('|')})`,
  ];
  return `^${text}(?:(?:${special.join('|')})${text})*$`;
}

const LITERAL = '(?:-?[0-9]+(?:\\.[0-9]+)?|true|false|null|undefined)[\\s~}]';
const SEGMENT = `(?:(?!${FORBIDDEN}(?!${LETTER}))${LETTER}+|\\[(?!${FORBIDDEN}\\])[^\\]{}]*\\])`;
const ANY = `(?:(?!else\\b|${LITERAL})@?(?:\\.{1,2}\\/)*${SEGMENT}(?:[.\\/]${SEGMENT})*|\\.)`;

/** In `each` the value itself and its place count as well. */
const oneOf = (names: readonly string[]): string =>
  `(?:(?:@root[.\\/])?${ABOVE}(?:${names.map(pathOf).join('|')})|@(?:key|index|first|last)|this|\\.)`;

function oneGroupOf(names: readonly string[]): string {
  const groups = names.filter((name) => name.includes('.')).map((name) => name.split('.', 1)[0]);
  return `(?:\\.\\/|this[.\\/])*(?:${[...new Set(groups)].join('|')})`;
}

const pathOf = (name: string): string =>
  name
    .split('.')
    .map((part) => `(?:${part}|\\[${part}\\])`)
    .join('[.\\/]');
