export const TEMPLATE_CHARACTERS_MAX = 20_000;

/** Values by the dotted names of variables; null and undefined render as nothing. */
export type TemplateValues = Readonly<Record<string, string | null | undefined>>;

const TEXT_CHARACTERS_MAX = 200;
const LINK_CHARACTERS_MAX = 1_000;

/** Variables whose values are links made by the service. */
const LINKS: ReadonlySet<string> = new Set(['shareLink']);

/**
 * Replaces values while markdown is parsed and cleaned by unused letters and digits, so that no
 * value is parsed as markdown or HTML.
 */
export class Placeholders {
  /** The placeholder of each non-empty value, by the variable's name. */
  readonly names: TemplateValues;
  private readonly mark: string;
  private readonly values: { readonly value: string; readonly link: boolean }[] = [];

  constructor(template: string, values: TemplateValues) {
    this.mark = unusedMark([template, ...Object.values(values)]);
    this.names = Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, this.placeholderOf(name, value)]),
    );
  }

  /** Replaces the placeholders by their values. */
  replacedIn(text: string, written: (value: string) => string): string {
    return text.replace(this.pattern(), (_, index: string) => {
      return written(this.values[Number(index)]?.value ?? '');
    });
  }

  /**
   * An address with encoded values. Only a link may begin it; undefined if another value does.
   */
  replacedInAddress(address: string): string | undefined {
    const first = new RegExp(`^\\s*${this.pattern().source}`).exec(address);
    if (first !== null && this.values[Number(first[1])]?.link !== true) return undefined;
    const start = first?.[0].length ?? 0;
    const link = first === null ? '' : (this.values[Number(first[1])]?.value ?? '');
    return link + this.replacedIn(address.slice(start), encodeURIComponent);
  }

  private placeholderOf(name: string, value: string | null | undefined): string {
    const link = LINKS.has(name);
    const text = link ? linkOrNothing(value ?? '') : shown(value ?? '');
    if (text === '') return '';
    this.values.push({ value: text, link });
    return `${this.mark}${this.values.length - 1}z`;
  }

  private pattern(): RegExp {
    return new RegExp(`${this.mark}(\\d+)z`, 'gi');
  }
}

/** Letters that neither the template nor a value contains, in any case. */
function unusedMark(texts: readonly (string | null | undefined)[]): string {
  const all = texts.map((text) => (text ?? '').toLowerCase()).join('\n');
  let mark = 'value';
  while (all.includes(mark)) mark += mark.length % 2 === 0 ? 'q' : 'x';
  return mark;
}

/** Removes line breaks, control characters, and marks that change the writing direction. */
export function oneLine(text: string | null | undefined): string {
  return wellFormed(text ?? '')
    .replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
}

/** Replaces lone surrogates, which no encoding allows. */
export const wellFormed = (text: string): string => text.replace(/\p{Cs}/gu, '\ufffd');

function shown(value: string): string {
  const line = oneLine(value.slice(0, 2 * TEXT_CHARACTERS_MAX));
  if (line.length <= TEXT_CHARACTERS_MAX) return line;
  return wellFormed(`${line.slice(0, TEXT_CHARACTERS_MAX)}…`);
}

function linkOrNothing(value: string): string {
  if (value.length > LINK_CHARACTERS_MAX || !URL.canParse(value)) return '';
  const { protocol, href } = new URL(value);
  return protocol === 'https:' || protocol === 'http:' ? href : '';
}
