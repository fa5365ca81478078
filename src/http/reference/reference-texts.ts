/** The texts of `docs/reference`, whose format `docs/reference/README.md` describes. */
export interface Reference {
  readonly introduction: string;
  /** Parameters and headers of several operations. */
  readonly parameters: FieldTexts;
  readonly shapes: readonly ShapeText[];
  readonly tags: readonly TagText[];
}

export interface TagText {
  readonly name: string;
  readonly description: string;
  readonly operations: readonly OperationText[];
  readonly shapes: readonly ShapeText[];
}

/** Fields of named shapes; a text applies to each shape with the field. */
export interface ShapeText {
  readonly names: readonly string[];
  readonly fields: FieldTexts;
}

export interface OperationText {
  readonly id: string;
  /** For example `POST /api/v1/{tenantAlias}/accountsync`. */
  readonly route: string;
  readonly title: string;
  readonly description: string;
  readonly parameters: FieldTexts;
  readonly requestFields: FieldTexts;
  readonly responseFields: FieldTexts;
  /** Parameters with their values, by the id of the next operation. */
  readonly links: FieldTexts;
  /** Causes of errors that are more specific than docs/errors.md. */
  readonly errors: FieldTexts;
  readonly request: HttpExample | undefined;
  readonly response: HttpExample | undefined;
}

export interface FieldText {
  /** Type of an undeclared field, such as `integer or null`. */
  readonly type: string | undefined;
  readonly text: string;
}

/** By the field's path, such as `subscription.status` or `units[].opening`. */
export type FieldTexts = ReadonlyMap<string, FieldText>;

/** An HTTP message: first line, headers and body. */
export interface HttpExample {
  readonly start: string;
  readonly headers: ReadonlyMap<string, string>;
  /** Empty: no body. */
  readonly body: string;
}

/** The parts of a tag's file. @throws for an operation without id and route. */
export function tagText(markdown: string): TagText {
  const [page] = parts(markdown, '# ').parts;
  if (page === undefined) throw new Error('A page of the reference has no title');
  const { lead, parts: own } = parts(page.body, '## ');
  const isShape = ({ title }: Part): boolean => title.startsWith('Fields: ');
  return {
    name: page.title,
    description: lead,
    operations: own.filter((part) => !isShape(part)).map(operationText),
    shapes: own.filter(isShape).map(({ title, body }) => ({
      names: title
        .slice('Fields: '.length)
        .split(',')
        .map((name) => name.trim()),
      fields: fieldTexts(body),
    })),
  };
}

const ROUTE = /^`(\w+)` · `((?:GET|POST|PUT|PATCH|DELETE) \/\S*)`\s*/;

function operationText({ title, body }: Part): OperationText {
  const { lead, parts: own } = parts(body, '### ');
  const found = ROUTE.exec(lead);
  const [whole = '', id, route] = found ?? [];
  if (id === undefined || route === undefined)
    throw new Error(`"${title}" names no operation: \`operationId\` · \`GET /path\``);
  const section = (name: string): string => own.find((part) => part.title === name)?.body ?? '';
  return {
    id,
    route,
    title,
    description: lead.slice(whole.length).trim(),
    parameters: fieldTexts(section('Parameters')),
    requestFields: fieldTexts(section('Request fields')),
    responseFields: fieldTexts(section('Response fields')),
    links: fieldTexts(section('Links')),
    errors: fieldTexts(section('Errors')),
    request: httpExample(section('Request')),
    response: httpExample(section('Response')),
  };
}

interface Part {
  readonly title: string;
  readonly body: string;
}

/** Cuts a text at headings of one level, ignoring those inside fences. */
export function parts(markdown: string, heading: string) {
  const found: { title: string; lines: string[] }[] = [];
  const lead: string[] = [];
  let isFenced = false;
  for (const line of markdown.split('\n')) {
    if (line.startsWith('```')) isFenced = !isFenced;
    if (!isFenced && line.startsWith(heading))
      found.push({ title: line.slice(heading.length).trim(), lines: [] });
    else (found.at(-1)?.lines ?? lead).push(line);
  }
  return {
    lead: lead.join('\n').trim(),
    parts: found.map(({ title, lines }): Part => ({ title, body: lines.join('\n').trim() })),
  };
}

const FIELD = /^[-*] ((?:`[^`]+`(?:, )?)+)(?: \(([^)]+)\))?: (.*)$/;

/** Lines such as "- `amount` (integer): text", with indented continuations. */
export function fieldTexts(markdown: string): FieldTexts {
  const texts = new Map<string, FieldText>();
  let last: readonly string[] = [];
  for (const line of markdown.split('\n')) {
    const [, names, type, text = ''] = FIELD.exec(line) ?? [];
    if (names === undefined) {
      for (const name of last) {
        const before = texts.get(name);
        if (before !== undefined && line.trim() !== '')
          texts.set(name, { ...before, text: `${before.text} ${line.trim()}` });
      }
      continue;
    }
    last = [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
    for (const name of last) texts.set(name, { type, text });
  }
  return texts;
}

/** The message in a fence of language `http`. */
function httpExample(section: string): HttpExample | undefined {
  const [, message] = /```http\n([\s\S]*?)\n?```/.exec(section) ?? [];
  if (message === undefined) return undefined;
  const end = message.indexOf('\n\n');
  const [start = '', ...fields] = (end < 0 ? message : message.slice(0, end)).split('\n');
  return {
    start,
    headers: new Map(
      fields.map((field) => {
        const colon = field.indexOf(':');
        return [field.slice(0, colon).trim(), field.slice(colon + 1).trim()];
      }),
    ),
    body: end < 0 ? '' : message.slice(end + 2).trim(),
  };
}
