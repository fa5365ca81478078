import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const CONSOLE = join(process.cwd(), 'src/console');
const MARKUP = /<\/?[a-z][a-z0-9-]*(?:\s[^<]*)?>/;

function markupIn(path: string): readonly string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const isText =
      ts.isStringLiteralLike(node) ||
      ts.isTemplateHead(node) ||
      ts.isTemplateMiddleOrTemplateTail(node);
    if (isText && MARKUP.test(node.text)) found.push(`${path}: ${node.text}`);
    ts.forEachChild(node, visit);
  };
  const source = readFileSync(join(CONSOLE, path), 'utf8');
  visit(ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest, true));
  return found;
}

test('no source of the console holds markup', () => {
  const sources = readdirSync(CONSOLE, { recursive: true, encoding: 'utf8' });
  expect(sources.filter((path) => path.endsWith('.ts')).flatMap(markupIn)).toEqual([]);
});
