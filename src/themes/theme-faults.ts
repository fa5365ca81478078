import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { isMailAddress } from '../foundation/mail-address.js';
import { templateFaults } from '../templates/template-faults.js';
import { TEMPLATE_CHARACTERS_MAX } from '../templates/template-values.js';
import { isDefined, THEME_SCHEMA, type DefinedKind } from './theme-schema.js';
import { textsOf } from './theme-texts.js';
import { NOT_STORABLE, unstorablePath } from '../foundation/outside-text.js';

const FAULTS_MAX = 100;
const DEPTH_MAX = 32;

/**
 * The faults of a theme's values, one line each, at most 100; a line begins with the member's path
 * (`/email/WELCOME/configuration/subject`). @param isWhole requires the members of a document.
 */
export function themeFaults(values: unknown, { isWhole }: { readonly isWhole: boolean }): string[] {
  const unstorable = unstorableFault(values);
  if (unstorable !== undefined) return [unstorable];
  const validate = isWhole ? validators().whole : validators().part;
  validate(values);
  const exact: Fault[] = [];
  for (const { path, kind, text } of textsOf(values)) {
    if (exact.length >= FAULTS_MAX) break;
    exact.push(...FAULTS[kind](text).map((fault) => ({ path, fault })));
  }
  const paths = new Set(exact.map(({ path }) => path));
  const general = (validate.errors ?? []).filter(
    (error) => !(paths.has(error.instancePath) && isOfText(error)),
  );
  const lines = [...general.map(lineOf), ...exact.map(({ path, fault }) => `${path} ${fault}`)];
  return [...new Set(lines)].slice(0, FAULTS_MAX);
}

interface Fault {
  readonly path: string;
  readonly fault: string;
}

/** The schema checks texts loosely, and `FAULTS` exactly. */
const isOfText = ({ schemaPath, params }: ErrorObject): boolean =>
  /\/\$defs\/(?:[A-Za-z]+\/(?:pattern|not)$|address\/)/.test(schemaPath) ||
  params['limit'] === TEMPLATE_CHARACTERS_MAX;

interface Validators {
  readonly whole: ValidateFunction;
  readonly part: ValidateFunction;
}
let compiled: Validators | undefined;

/** Compiled on first use. */
function validators(): Validators {
  const { required: _, ...part } = THEME_SCHEMA;
  const ajv = addFormats.default(new Ajv2020({ allErrors: true }));
  return (compiled ??= { whole: ajv.compile(THEME_SCHEMA), part: ajv.compile(part) });
}

const DEFINED = /\/\$defs\/([A-Za-z]+)\/(?:pattern|not)$/;

function lineOf({
  instancePath,
  schemaPath,
  params,
  message = 'is not valid',
}: ErrorObject): string {
  const path = instancePath === '' ? '/' : instancePath;
  if ('missingProperty' in params) return `${path} lacks ${String(params['missingProperty'])}`;
  if ('allowedValues' in params && Array.isArray(params['allowedValues']))
    return `${path} must be one of ${params['allowedValues'].join(', ')}`;
  const defined = DEFINED.exec(schemaPath)?.[1];
  if (isDefined(defined)) return `${path} is none: ${THEME_SCHEMA.$defs[defined].description}`;
  return `${path} ${message}`;
}

type Faults = (text: string) => readonly string[];

const oneLine = (text: string): readonly string[] =>
  CONTROL.test(text) ? ['must be one line'] : [];
const none: Faults = () => [];

/** By the kinds of the schema. */
const FAULTS: Readonly<Record<DefinedKind, Faults>> = {
  color: none,
  font: none,
  label: oneLine,
  sender: oneLine,
  address: (text) =>
    isMailAddress(text) && !text.includes('{{')
      ? []
      : ['must be one e-mail address, such as shop@example.com'],
  markdown: templateFaults,
  line: (text) => [...oneLine(text), ...templateFaults(text)],
  widgetMarkdown: templateFaults,
  widgetText: templateFaults,
  message: templateFaults,
  image: (text) => {
    if (text.includes('{{')) return [...oneLine(text), ...templateFaults(text)];
    return text === '' || isAddress(text, IMAGE) ? [] : ['must be an absolute http(s) address'];
  },
  site: (text) =>
    text === '' || isAddress(text, SITE) ? [] : ['must be an absolute http(s) address'],
  addressPattern: (text) =>
    CONTROL.test(text) || SCRIPT.test(bare(text)) ? ['must be a pattern of http(s) addresses'] : [],
};

const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;
const SITE = /^https?:\/\/[^\s<>"'`\\{}|^]+$/i;
const IMAGE = /^(?:https?:)?\/\/[^\s<>"'`\\{}|^]+$/i;

function isAddress(text: string, form: RegExp): boolean {
  const base = 'https://example.com';
  if (CONTROL.test(text) || !form.test(text) || !URL.canParse(text, base)) return false;
  const { hostname, username, password } = new URL(text, base);
  return hostname !== '' && username === '' && password === '';
}

const SCRIPT = /^[<("']*(?:javascript|vbscript|data):/;
/** Removes and decodes what a browser ignores or decodes in an address. */
const bare = (text: string): string =>
  text
    .replace(/&#x0*([0-9a-f]{1,6});?/gi, (_, code: string) => character(parseInt(code, 16)))
    .replace(/&#0*(\d{1,7});?/g, (_, code: string) => character(Number(code)))
    .replace(/&(?:tab|newline);/gi, '')
    .replace(/&colon;/gi, ':')
    .replace(/&lpar;/gi, '(')
    .replace(/[\s\p{C}\\]/gu, '')
    .toLowerCase();

const character = (code: number): string => (code <= 0x10ffff ? String.fromCodePoint(code) : '');

/** For documents from outside HTTP, which checks this before. */
function unstorableFault(root: unknown): string | undefined {
  const path = unstorablePath(root);
  if (path !== undefined) return `${path} ${NOT_STORABLE}`;
  const open = [{ node: root, depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, depth } = next;
    if (typeof node !== 'object' || node === null) continue;
    if (depth >= DEPTH_MAX) return `/ is nested deeper than ${DEPTH_MAX}`;
    for (const [name, child] of Object.entries(node)) {
      if (name === '__proto__') return '/ holds a forbidden member (__proto__)';
      open.push({ node: child, depth: depth + 1 });
    }
  }
  return undefined;
}
