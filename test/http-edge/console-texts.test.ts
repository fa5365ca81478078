import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** What people read in the console is in texts.ts: no other source holds any. */

const CONSOLE = join(process.cwd(), 'src/console');

/** Properties whose text people see, whatever it looks like. */
const SHOWN = new Set(['label', 'title', 'hint', 'button', 'message', 'problem', 'problems']);
const MARKUP = /<\/?[a-z][^<]*>/;
const SHOWN_ATTRIBUTE = /\b(?:aria-label|placeholder|title|alt)="([^"]*)"/g;
/** Of the helpers `formField` and `formFieldInRow`. */
const OF_A_FIELD = /\b(?:label|hint|none|placeholder)="([^"]*)"(?=[^<]*\}\})/g;
const WORD = /\p{L}{2,}/u;
const SENTENCE = /^[A-Z][\p{L}-]* \p{L}|^[A-Z]\p{L}+[.:]( |$)/u;

/** A literal without what is filled in. */
function literalText(node: ts.Node): string | undefined {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  return node.head.text + node.templateSpans.map(({ literal }) => literal.text).join('');
}

/** The words between tags, and those of attributes that are shown or read out. */
function wordsOfMarkup(html: string): readonly string[] {
  const plain = html.replace(/<!--.*?-->/gs, '').replace(/\{\{.*?\}\}/gs, '');
  const attributes = [html.matchAll(OF_A_FIELD), plain.matchAll(SHOWN_ATTRIBUTE)].flatMap((found) =>
    [...found].map(([, text = '']) => text),
  );
  const between = plain
    .replace(/<[^>]*>/g, '\n')
    .replace(/&\w+;/g, '')
    .split('\n');
  return [...attributes, ...between].map((text) => text.trim()).filter((text) => WORD.test(text));
}

function isShown(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isConditionalExpression(parent)) return parent.condition !== node && isShown(parent);
  if (ts.isArrayLiteralExpression(parent) || ts.isParenthesizedExpression(parent))
    return isShown(parent);
  return ts.isPropertyAssignment(parent) && SHOWN.has(parent.name.getText());
}

/** Texts of people in a source. */
function textsIn(source: string): readonly string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const text = ts.isImportDeclaration(node) ? undefined : literalText(node);
    if (text !== undefined) {
      if (MARKUP.test(text)) found.push(...wordsOfMarkup(text));
      else if (SENTENCE.test(text) || (isShown(node) && WORD.test(text))) found.push(text);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest, true));
  return found;
}

const sources = readdirSync(CONSOLE, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && path !== 'texts.ts')
  .sort();
const textsOf = (path: string): readonly string[] =>
  textsIn(readFileSync(join(CONSOLE, path), 'utf8'));

test.each(sources)('%s holds no text of people', (path) => expect(textsOf(path)).toEqual([]));
