import Handlebars from 'handlebars';

const BLOCKS: ReadonlySet<string> = new Set(['if', 'unless', 'each']);
const LOOP_NAMES: ReadonlySet<string> = new Set(['key', 'index', 'first', 'last']);

/** A template reduced to names with values. */
export interface KnownTemplate {
  /** Texts, known variables, and the blocks `if`, `unless` and `each` with one operand. */
  readonly program: hbs.AST.Program;
  /** The removed variables and helpers, each once, in their order. */
  readonly unknown: readonly string[];
}

/**
 * Removes unknown variables, and calls of helpers with their blocks. A condition without a value is
 * false. `each` visits the members of a group (`user` of `user.firstName`), and nothing within
 * another `each`, so that the output is bounded.
 *
 * @param template without faults. @param variables for example `user.firstName`.
 */
export function knownTemplate(template: string, variables: readonly string[]): KnownTemplate {
  const reader = new Reader(variables);
  const program = reader.program(Handlebars.parse(template), false);
  return { program, unknown: [...reader.unknown] };
}

class Reader {
  readonly unknown = new Set<string>();
  private readonly variables: ReadonlySet<string>;
  private readonly groups: ReadonlySet<string>;

  constructor(variables: readonly string[]) {
    this.variables = new Set(variables);
    this.groups = new Set(
      variables
        .filter((name) => name.includes('.'))
        .map((name) => name.slice(0, name.indexOf('.'))),
    );
  }

  program(program: hbs.AST.Program, inEach: boolean): hbs.AST.Program {
    const body = program.body.flatMap((statement) => this.statement(statement, inEach) ?? []);
    return { ...program, body };
  }

  private statement(node: hbs.AST.Statement, inEach: boolean): hbs.AST.Statement | undefined {
    if (isMustache(node)) return this.mustache(node, inEach);
    return isBlock(node) ? this.block(node, inEach) : node;
  }

  private mustache(
    node: hbs.AST.MustacheStatement,
    inEach: boolean,
  ): hbs.AST.Statement | undefined {
    const { path, params, hash } = node;
    if (params.length === 0 && !hasOptions(hash) && this.isVariable(path, inEach)) return node;
    this.unknown.add(nameOf(path));
    this.operands(node, inEach);
    return undefined;
  }

  private block(node: hbs.AST.BlockStatement, inEach: boolean): hbs.AST.Statement | undefined {
    const name = nameOf(node.path);
    const isKnown = BLOCKS.has(name) && node.params.length === 1;
    if (!isKnown) this.unknown.add(name);
    const params = this.operands(node, inEach);
    // Also collects the names in a removed block.
    const program = this.part(node.program, inEach || name === 'each');
    const inverse = this.part(node.inverse, inEach);
    // A block has at least one part; the library's types require the first.
    const known: unknown = { ...node, params, hash: undefined, program, inverse };
    return isKnown ? (known as hbs.AST.BlockStatement) : undefined;
  }

  private part(part: hbs.AST.Program | undefined, inEach: boolean): hbs.AST.Program | undefined {
    return part === undefined ? undefined : this.program(part, inEach);
  }

  private operands({ path, params, hash }: Call, inEach: boolean): hbs.AST.Expression[] {
    const options = hasOptions(hash) ? hash.pairs.map(({ value }) => value) : [];
    const isEach = nameOf(path) === 'each';
    const read = params.map((one) => this.operand(one, { inEach, isEach }));
    for (const one of options) this.operand(one, { inEach, isEach });
    return read;
  }

  /** The operand if it has a value, otherwise `false`. */
  private operand(
    node: hbs.AST.Expression,
    { inEach, isEach }: { readonly inEach: boolean; readonly isEach: boolean },
  ): hbs.AST.Expression {
    if (isCall(node)) {
      this.unknown.add(nameOf(node.path));
      this.operands(node, inEach);
      return nothingAt(node);
    }
    if (!isPath(node)) return node;
    if (!(isEach && inEach) && this.isGroup(node, inEach)) return node;
    if (this.isVariable(node, inEach)) return isEach ? nothingAt(node) : node;
    this.unknown.add(nameOf(node));
    return nothingAt(node);
  }

  private isVariable(node: hbs.AST.Node, inEach: boolean): boolean {
    if (!isPath(node)) return false;
    const { data, depth, parts } = node;
    // In a loop: the value itself, and its position.
    const isOfLoop = inEach && depth === 0 && (data ? parts.length === 1 : parts.length === 0);
    if (isOfLoop && (!data || LOOP_NAMES.has(parts.join('.')))) return true;
    return this.variables.has(rootNameOf(node, inEach) ?? '');
  }

  private isGroup(node: hbs.AST.PathExpression, inEach: boolean): boolean {
    return this.groups.has(rootNameOf(node, inEach) ?? '');
  }
}

/** The variable's name; undefined: another path. */
function rootNameOf(
  { data, depth, parts }: hbs.AST.PathExpression,
  inEach: boolean,
): string | undefined {
  if (data) return depth === 0 && parts[0] === 'root' ? parts.slice(1).join('.') : undefined;
  return depth === (inEach ? 1 : 0) ? parts.join('.') : undefined;
}

type Call = Pick<hbs.AST.SubExpression, 'params' | 'hash'> & { readonly path: hbs.AST.Node };

const isMustache = (node: hbs.AST.Node): node is hbs.AST.MustacheStatement =>
  node.type === 'MustacheStatement';
const isBlock = (node: hbs.AST.Node): node is hbs.AST.BlockStatement =>
  node.type === 'BlockStatement';
const isCall = (node: hbs.AST.Node): node is hbs.AST.SubExpression => node.type === 'SubExpression';
const isPath = (node: hbs.AST.Node): node is hbs.AST.PathExpression =>
  node.type === 'PathExpression';

// The library's types claim that there always is a hash.
const hasOptions = (hash: hbs.AST.Hash | undefined): boolean => (hash?.pairs.length ?? 0) > 0;

const nameOf = (node: hbs.AST.Node): string =>
  'original' in node ? String(node.original) : node.type;

const nothingAt = ({ loc }: hbs.AST.Node): hbs.AST.BooleanLiteral => ({
  type: 'BooleanLiteral',
  value: false,
  original: false,
  loc,
});
