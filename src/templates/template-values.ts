/** Values by the names of variables with dots; null and undefined are shown as nothing. */
export type TemplateValues = Readonly<Record<string, string | null | undefined>>;

const TEXT_CHARACTERS_MAX = 200;
const LINK_CHARACTERS_MAX = 1_000;

/** Variables whose values may begin a link; the service makes them. */
const LINKS: ReadonlySet<string> = new Set(['shareLink']);

/**
 * Stands in for the values while markdown is parsed and cleaned: letters and digits that occur
 * nowhere else, so that no value is ever read as markdown or HTML.
 */
export class Placeholders {
  /** A placeholder for each value that is not empty, by the name of its variable. */
  readonly names: TemplateValues;
  private readonly mark: string;
  private readonly values: { readonly value: string; readonly link: boolean }[] = [];

  constructor(template: string, values: TemplateValues) {
    this.mark = unusedMark([template, ...Object.values(values)]);
    this.names = Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, this.placeholderOf(name, value)]),
    );
  }

  /** The text with the values in place of their placeholders. */
  replacedIn(text: string, written: (value: string) => string): string {
    return text.replace(this.pattern(), (_, index: string) => {
      return written(this.values[Number(index)]?.value ?? '');
    });
  }

  /**
   * An address with its values: one that begins it must be a link, any other is encoded.
   * Undefined for an address that begins with a text of somebody's.
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

/** Letters that neither the template nor a value holds, in any case. */
function unusedMark(texts: readonly (string | null | undefined)[]): string {
  const all = texts.map((text) => (text ?? '').toLowerCase()).join('\n');
  let mark = 'value';
  while (all.includes(mark)) mark += mark.length % 2 === 0 ? 'q' : 'x';
  return mark;
}

/** Without line breaks, control characters and marks that turn the direction of writing. */
export function oneLine(text: string | null | undefined): string {
  return wellFormed(text ?? '')
    .replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
}

/** Without halves of characters, which no encoding can hold. */
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
