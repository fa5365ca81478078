const TAG = /<[^>]*>/g;
/** Exactly what the service writes: any browser reads it in one way. */
const CLOSING = /^<\/([a-z][a-z0-9]*)>$/;
const OPENING = /^<([a-z][a-z0-9]*)((?: [a-z]+="[^"<>]*")*)(?: \/)?>$/;
const ATTRIBUTE = / ([a-z]+)="([^"]*)"/g;
const HARMLESS_TAGS = new Set(
  'p br hr strong b em i u s del small sub sup h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code a img'.split(
    ' ',
  ),
);
const HARMLESS_ATTRIBUTES: Readonly<Record<string, RegExp>> = {
  href: /^(https?|mailto):/,
  src: /^https?:/,
  alt: /^/,
  start: /^\d+$/,
};

/** What of an HTML text is more than text, harmless tags and links to the web. */
export function tagFaults(html: string): string[] {
  const faults = (html.match(TAG) ?? []).filter((tag) => !isHarmless(tag));
  return /[<>]/.test(html.replace(TAG, '')) ? [...faults, 'a stray < or >'] : faults;
}

function isHarmless(tag: string): boolean {
  const closing = CLOSING.exec(tag);
  if (closing !== null) return HARMLESS_TAGS.has(closing[1]!);
  const opening = OPENING.exec(tag);
  if (opening === null || !HARMLESS_TAGS.has(opening[1]!)) return false;
  return [...opening[2]!.matchAll(ATTRIBUTE)].every(([, name, value]) =>
    HARMLESS_ATTRIBUTES[name!]?.test(decoded(value!)),
  );
}

/** Its tags and the names of their attributes. */
export const shapeOf = (html: string): string[] =>
  (html.match(TAG) ?? []).map((tag) => tag.replace(/="[^"]*"/g, ''));

export const textOf = (html: string): string => decoded(html.replace(TAG, ''));

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' };

const decoded = (text: string): string =>
  text.replace(/&(?:#(\d+)|([a-z]+));/g, (_, number: string | undefined, name: string) =>
    number === undefined ? (NAMED[name] ?? '') : String.fromCharCode(Number(number)),
  );
