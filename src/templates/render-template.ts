import Handlebars from 'handlebars';
import { LRUCache } from 'lru-cache';
import { Marked } from 'marked';
import { cleanHtml, escapeHtml, allowedAddress } from './clean-html.js';
import { knownTemplate } from './known-template.js';
import { plainText } from './plain-text.js';
import { templateFaults } from './template-faults.js';
import { oneLine, Placeholders, wellFormed, type TemplateValues } from './template-values.js';

export type { TemplateValues } from './template-values.js';
export { escapeHtml } from './clean-html.js';

const LINE_CHARACTERS_MAX = 255;
const IMAGE_SCHEMES = ['http:', 'https:'];
const TEXT_CHARACTERS_MAX = 100_000;
const HTML_CHARACTERS_MAX = 400_000;
const CACHE_BYTES_MAX = 8 * 1024 * 1024;
/** Estimated memory of compiled code per tag; 2 KiB were measured. */
const BYTES_PER_TAG = 4 * 1024;

/** `templateFaults` rejects the template, which older rules allowed. */
export class UnrenderableTemplate extends Error {}

type Compiled = (values: object) => string;

const handlebars = Handlebars.create();
for (const helper of ['lookup', 'log', 'with']) handlebars.unregisterHelper(helper);

/** Without tables: a short line would become a row with all cells of the header. */
const markdown = new Marked({
  gfm: true,
  breaks: false,
  async: false,
  tokenizer: { table: () => undefined },
});

const compiledTemplates = new LRUCache<string, Compiled>({
  maxSize: CACHE_BYTES_MAX,
  sizeCalculation: (_, key) => 1024 + 4 * key.length + BYTES_PER_TAG * key.split('{{').length,
});

/**
 * Renders one line of plain text, such as a subject; line breaks and control characters become
 * spaces. It is not HTML: use `escapeHtml`. @throws UnrenderableTemplate
 */
export function renderText(template: string, values: TemplateValues): string {
  const rendered = compiled(template, values)(nested(values));
  return wellFormed(oneLine(rendered).slice(0, LINE_CHARACTERS_MAX));
}

/** Both forms of a mail's text. */
export interface RichText {
  /** Without scripts and styles; its links are http, https or mailto. */
  readonly html: string;
  /** Several lines without markdown; links as `text (address)`. */
  readonly text: string;
}

/**
 * Renders markdown. Values are always text; only the value of a link variable may begin an address.
 * @throws UnrenderableTemplate
 */
export function renderRich(template: string, values: TemplateValues): RichText {
  const { clean, placeholders } = renderedMarkdown(template, values);
  const text = placeholders.replacedIn(plainText(clean), (value) => value);
  return { html: withValues(clean, placeholders), text: text.slice(0, TEXT_CHARACTERS_MAX).trim() };
}

/** The HTML of `renderRich`. @throws UnrenderableTemplate */
export function renderMarkdown(template: string, values: TemplateValues): string {
  const { clean, placeholders } = renderedMarkdown(template, values);
  return withValues(clean, placeholders);
}

/** Renders an image's http(s) address; empty if it is another one. @throws UnrenderableTemplate */
export function renderImageAddress(template: string, values: TemplateValues): string {
  if (!template.includes('{{')) return allowedAddress(template, IMAGE_SCHEMES) ?? '';
  const placeholders = new Placeholders(template, values);
  const rendered = compiled(template, values)(nested(placeholders.names));
  return allowedAddress(placeholders.replacedInAddress(rendered.trim()), IMAGE_SCHEMES) ?? '';
}

/**
 * Renders a theme's own text, or the built-in one if the own text violates present rules or its
 * output is too long.
 */
export function renderedOr<T>(own: string, ours: string, render: (template: string) => T): T {
  try {
    return render(own);
  } catch (error) {
    if (!(error instanceof UnrenderableTemplate)) throw error;
    return render(ours);
  }
}

interface RenderedMarkdown {
  /** With placeholders for values in texts. */
  readonly clean: string;
  readonly placeholders: Placeholders;
}

function renderedMarkdown(template: string, values: TemplateValues): RenderedMarkdown {
  const placeholders = new Placeholders(template, values);
  const rendered = compiled(template, values)(nested(placeholders.names));
  const clean = cleanHtml(markdown.parse(rendered, { async: false }), placeholders);
  return { clean, placeholders };
}

function withValues(clean: string, placeholders: Placeholders): string {
  const html = placeholders.replacedIn(clean, escapeHtml);
  if (html.length > HTML_CHARACTERS_MAX) throw new UnrenderableTemplate('its output is too long');
  return html;
}

function compiled(template: string, values: TemplateValues): Compiled {
  const variables = Object.keys(values);
  const key = JSON.stringify([template, variables]);
  const cached = compiledTemplates.get(key);
  if (cached !== undefined) return cached;
  const [fault] = templateFaults(template);
  if (fault !== undefined) throw new UnrenderableTemplate(fault);
  const { program } = knownTemplate(template, variables);
  const run = handlebars.compile<object>(program, {
    noEscape: true,
    knownHelpers: KNOWN_HELPERS,
    knownHelpersOnly: true,
    preventIndent: true,
  });
  const render: Compiled = (values) =>
    run(values, {
      allowProtoPropertiesByDefault: false,
      allowProtoMethodsByDefault: false,
    });
  compiledTemplates.set(key, render);
  return render;
}

const KNOWN_HELPERS: KnownHelpers = {
  helperMissing: false,
  blockHelperMissing: false,
  each: true,
  if: true,
  unless: true,
  with: false,
  log: false,
  lookup: false,
};

/** Nests `{ 'user.firstName': 'Ann' }` to `{ user: { firstName: 'Ann' } }`; omits empty groups. */
function nested(values: TemplateValues): object {
  const root = new Map<string, string | Map<string, string>>();
  for (const [name, value] of Object.entries(values)) {
    const [group, member] = splitName(name);
    if (member === undefined) {
      root.set(group, value ?? '');
      continue;
    }
    const found = root.get(group);
    const members = found instanceof Map ? found : new Map<string, string>();
    root.set(group, members.set(member, value ?? ''));
  }
  const filled = [...root].map(([name, value]) => [
    name,
    value instanceof Map ? groupOf(value) : value,
  ]);
  return Object.fromEntries(filled) as object;
}

const groupOf = (members: ReadonlyMap<string, string>): object | undefined =>
  [...members.values()].some((value) => value !== '') ? Object.fromEntries(members) : undefined;

function splitName(name: string): [group: string, member: string | undefined] {
  const dot = name.indexOf('.');
  return dot < 0 ? [name, undefined] : [name.slice(0, dot), name.slice(dot + 1)];
}
