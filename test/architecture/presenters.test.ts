import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/**
 * Presenters return the classes that /openapi.json is made of: the compiler holds answer and
 * description together.
 */
const src = join(__dirname, '..', '..', 'src');

interface Presenter {
  readonly name: string;
  /** As it is declared; empty: left to the compiler to find out. */
  readonly returns: string;
}

function presentersIn(file: string): Presenter[] {
  const found: Presenter[] = [];
  ts.createSourceFile(
    file,
    readFileSync(join(src, file), 'utf8'),
    ts.ScriptTarget.ES2023,
    true,
  ).forEachChild((node) => {
    const functions = ts.isFunctionDeclaration(node)
      ? [{ name: node.name, made: node }]
      : declaredIn(node);
    for (const { name, made } of functions)
      found.push({ name: name?.getText() ?? '', returns: made.type?.getText() ?? '' });
  });
  return found.filter(({ name }) => name.endsWith('Json'));
}

function declaredIn(
  node: ts.Node,
): { readonly name: ts.BindingName; readonly made: ts.ArrowFunction }[] {
  if (!ts.isVariableStatement(node)) return [];
  return node.declarationList.declarations.flatMap(({ name, initializer }) =>
    initializer && ts.isArrowFunction(initializer) ? [{ name, made: initializer }] : [],
  );
}

const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
  (path) =>
    /^(http|presenting)\/.*\.ts$/.test(path) && !/^http\/(edge|shapes|writing)\//.test(path),
);
const presenters = files.flatMap((file) =>
  presentersIn(file).map((presenter) => ({ file, ...presenter })),
);

test('a presenter declares that it returns a response class', () => {
  expect(
    presenters.filter(({ returns }) => !/^(Omit<|readonly )?[A-Z]\w*Response\b/.test(returns)),
  ).toEqual([]);
});
