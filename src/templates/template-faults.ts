import Handlebars from 'handlebars';
import { structureFaults } from './markdown-structure.js';
import { TEMPLATE_CHARACTERS_MAX } from './template-limits.js';

/** Variables and blocks of one template, counted by what opens them. */
export const TAGS_MAX = 100;
const DEPTH_MAX = 8;
const FAULTS_MAX = 10;
const NAME_CHARACTERS_SHOWN = 60;

const BLOCKS: ReadonlySet<string> = new Set(['if', 'unless', 'each']);
/** Names that lead from a value to its prototype or to code. */
const FORBIDDEN_NAMES: ReadonlySet<string> = new Set([
  'constructor',
  'prototype',
  '__proto__',
  '__defineGetter__',
  '__defineSetter__',
  '__lookupGetter__',
  '__lookupSetter__',
]);
const LOOP_NAMES: ReadonlySet<string> = new Set(['key', 'index', 'first', 'last']);

/**
 * The faults of a template of a tenant, one line each, at most 10; none for a good one.
 * Allowed: variables of the list, `if` and `unless` over one variable, `each` over a group of
 * variables (`user`), which is not nested in another `each`; comments and markdown.
 *
 * @param variables names with dots (`user.firstName`); every other variable is a fault
 */
export function templateFaults(text: string, variables: readonly string[]): string[] {
  const known = new Set(variables);
  return faultsOf(text, (name) => known.has(name), groupsOf(variables));
}

/** The faults of a template whose variables are not known: what it cannot render is left blank. */
export function faultsInAnyVariables(text: string): string[] {
  return faultsOf(text, () => true, undefined);
}

function faultsOf(
  text: string,
  isKnown: (name: string) => boolean,
  groups: ReadonlySet<string> | undefined,
): string[] {
  const early = faultsBeforeParsing(text);
  if (early.length > 0) return early;
  let program: hbs.AST.Program;
  try {
    program = Handlebars.parse(text);
  } catch (error) {
    return [`does not parse: ${firstLineOf(error)}`];
  }
  const walk = new FaultFinder(isKnown, groups);
  walk.accept(program);
  return [...new Set(walk.faults)].slice(0, FAULTS_MAX);
}

/** What would make the parser, or markdown, slow; what the parsed form does not show. */
function faultsBeforeParsing(text: string): string[] {
  if (text.length > TEMPLATE_CHARACTERS_MAX) {
    return [`is longer than ${TEMPLATE_CHARACTERS_MAX} characters`];
  }
  if (/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]/.test(text)) {
    return ['holds control characters'];
  }
  if (text.split('{{').length - 1 > TAGS_MAX) return [`has more than ${TAGS_MAX} tags`];
  if (text.includes('{{{')) return ['`{{{` is not allowed: values are always shown as text'];
  return structureFaults(text);
}

/** `user` of `user.firstName`: what `each` may go over. */
function groupsOf(variables: readonly string[]): ReadonlySet<string> {
  return new Set(
    variables.filter((name) => name.includes('.')).map((name) => name.slice(0, name.indexOf('.'))),
  );
}

class FaultFinder extends Handlebars.Visitor {
  readonly faults: string[] = [];
  private depth = 0;
  private inEach = false;

  constructor(
    private readonly isKnown: (name: string) => boolean,
    private readonly groups: ReadonlySet<string> | undefined,
  ) {
    super();
  }

  override MustacheStatement(mustache: hbs.AST.MustacheStatement): void {
    if (!mustache.escaped) {
      this.add('`{{&` is not allowed: values are always shown as text', mustache);
    }
    if (mustache.params.length > 0 || hasOptions(mustache.hash)) {
      this.add(`unknown helper: ${shownName(mustache.path)}`, mustache);
      return;
    }
    this.variable(mustache.path);
  }

  override BlockStatement(block: hbs.AST.BlockStatement): void {
    const name = block.path.original;
    if (!isBlock(name)) {
      this.add(`unknown helper: ${shownName(block.path)}`, block);
      return;
    }
    this.condition(block, name);
    this.within(block, name === 'each');
  }

  override PartialStatement(partial: hbs.AST.PartialStatement): void {
    this.add('partials (`{{>`) are not allowed', partial);
  }

  override PartialBlockStatement(partial: hbs.AST.PartialBlockStatement): void {
    this.add('partials (`{{#>`) are not allowed', partial);
  }

  override DecoratorBlock(decorator: hbs.AST.DecoratorBlock): void {
    this.add('decorators (`{{#*`) are not allowed', decorator);
  }

  override Decorator(decorator: hbs.AST.Decorator): void {
    this.add('decorators (`{{*`) are not allowed', decorator);
  }

  /** The one variable that a block asks for. */
  private condition(block: hbs.AST.BlockStatement, name: string): void {
    const [variable, ...more] = block.params;
    if (variable === undefined || more.length > 0 || hasOptions(block.hash)) {
      this.add(`\`${name}\` takes one variable and no options`, block);
    } else if (name === 'each') {
      this.group(variable);
    } else {
      this.variable(variable);
    }
    if (partsOf(block).some(({ blockParams }) => blockParams?.length))
      this.add('`as |…|` is not allowed', block);
  }

  private within(block: hbs.AST.BlockStatement, each: boolean): void {
    if (each && this.inEach) {
      this.add('`each` within `each` is not allowed', block);
      return;
    }
    if (this.depth === DEPTH_MAX) {
      this.add(`blocks are nested deeper than ${DEPTH_MAX}`, block);
      return;
    }
    const outside = this.inEach;
    this.depth += 1;
    this.inEach ||= each;
    // What is after `else` is not repeated.
    for (const part of partsOf(block)) {
      if (part === block.inverse) this.inEach = outside;
      this.accept(part);
    }
    this.inEach = outside;
    this.depth -= 1;
  }

  private group(expression: hbs.AST.Expression): void {
    const path = asPath(expression);
    const name = path?.parts.join('.');
    const known = this.groups === undefined || this.groups.has(name ?? '');
    if (path === undefined || path.data || path.depth > 0 || isForbidden(path) || !known) {
      this.add(`\`each\` goes over none: ${shownName(expression)}`, expression);
    }
  }

  private variable(expression: hbs.AST.Expression): void {
    const path = asPath(expression);
    if (path === undefined) {
      this.add(`no variable: ${shownName(expression)}`, expression);
    } else if (isForbidden(path)) {
      this.add(`not allowed in a path: ${shownName(path)}`, path);
    } else if (!this.isReachable(path)) {
      this.add(`unknown variable: ${shownName(path)}`, path);
    }
  }

  private isReachable({ parts, data, depth }: hbs.AST.PathExpression): boolean {
    if (data) {
      if (parts[0] === 'root') return depth === 0 && this.isVariable(parts.slice(1));
      return this.inEach && depth === 0 && parts.length === 1 && LOOP_NAMES.has(parts.join('.'));
    }
    if (!this.inEach) return depth === 0 && this.isVariable(parts);
    // In the loop: the value itself, and by `../` everything that is known outside.
    return depth === 0 ? parts.length === 0 : depth === 1 && this.isVariable(parts);
  }

  private isVariable(parts: readonly string[]): boolean {
    return parts.length > 0 && this.isKnown(parts.join('.'));
  }

  private add(fault: string, { loc }: hbs.AST.Node): void {
    this.faults.push(`${fault} (line ${loc.start.line})`);
  }
}

const isBlock = (name: unknown): name is string => typeof name === 'string' && BLOCKS.has(name);

/** A block has either or both, whatever the library's types say: `{{^if code}}` has no program. */
const partsOf = ({ program, inverse }: hbs.AST.BlockStatement): hbs.AST.Program[] =>
  [program, inverse].filter((part: hbs.AST.Program | undefined) => part !== undefined);

// The library's types have a hash where there may be none.
const hasOptions = (hash: hbs.AST.Hash | undefined): boolean => (hash?.pairs.length ?? 0) > 0;

const isForbidden = ({ parts }: hbs.AST.PathExpression): boolean =>
  parts.some((part) => FORBIDDEN_NAMES.has(part));

function asPath(expression: hbs.AST.Expression): hbs.AST.PathExpression | undefined {
  return isPath(expression) && expression.parts.every((part) => typeof part === 'string')
    ? expression
    : undefined;
}

const isPath = (expression: hbs.AST.Expression): expression is hbs.AST.PathExpression =>
  expression.type === 'PathExpression';

function shownName(expression: hbs.AST.Node): string {
  const text = 'original' in expression ? String(expression.original) : expression.type;
  return text.slice(0, NAME_CHARACTERS_SHOWN);
}

function firstLineOf(error: unknown): string {
  const line = error instanceof Error ? error.message.split('\n', 1).join('') : '';
  return line.replace(/:$/, '').slice(0, 2 * NAME_CHARACTERS_SHOWN);
}
