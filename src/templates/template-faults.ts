import Handlebars from 'handlebars';
import { structureFaults } from './markdown-structure.js';
import { TEMPLATE_CHARACTERS_MAX } from './template-values.js';

/** Limit of opening braces (`{{`) per template. */
export const TAGS_MAX = 100;
const DEPTH_MAX = 8;
const FAULTS_MAX = 10;
const NAME_CHARACTERS_SHOWN = 60;

/** Names that lead to a prototype. */
const FORBIDDEN_NAMES: ReadonlySet<string> = new Set(['constructor', 'prototype', '__proto__']);

/**
 * The faults of a tenant's template, one line each, at most 10. Checks the syntax only: unknown
 * variables and helpers are removed by `known-template.ts`.
 */
export function templateFaults(text: string): string[] {
  const early = faultsBeforeParsing(text);
  if (early.length > 0) return early;
  let program: hbs.AST.Program;
  try {
    program = Handlebars.parse(text);
  } catch (error) {
    return [`does not parse: ${firstLineOf(error)}`];
  }
  const walk = new FaultFinder();
  walk.accept(program);
  return [...new Set(walk.faults)].slice(0, FAULTS_MAX);
}

/** Checks what the parsed form does not show, and what makes the parser or markdown slow. */
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

class FaultFinder extends Handlebars.Visitor {
  readonly faults: string[] = [];
  private depth = 0;

  override BlockStatement(block: hbs.AST.BlockStatement): void {
    const parts: readonly (hbs.AST.Program | undefined)[] = [block.program, block.inverse];
    if (parts.some((part) => part?.blockParams?.length)) this.add('`as |…|` is not allowed', block);
    this.within('blocks', block, () => {
      super.BlockStatement(block);
    });
  }

  override SubExpression(call: hbs.AST.SubExpression): void {
    this.within('calls', call, () => {
      super.SubExpression(call);
    });
  }

  override PathExpression(path: hbs.AST.PathExpression): void {
    if (path.parts.some((part) => FORBIDDEN_NAMES.has(part)))
      this.add(`not allowed in a path: ${path.original.slice(0, NAME_CHARACTERS_SHOWN)}`, path);
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

  private within(what: string, node: hbs.AST.Node, visit: () => void): void {
    if (this.depth === DEPTH_MAX) {
      this.add(`${what} are nested deeper than ${DEPTH_MAX}`, node);
      return;
    }
    this.depth += 1;
    visit();
    this.depth -= 1;
  }

  private add(fault: string, { loc }: hbs.AST.Node): void {
    this.faults.push(`${fault} (line ${loc.start.line})`);
  }
}

function firstLineOf(error: unknown): string {
  const line = error instanceof Error ? error.message.split('\n', 1).join('') : '';
  return line.replace(/:$/, '').slice(0, 2 * NAME_CHARACTERS_SHOWN);
}
