import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import ts from 'typescript';
import { UserRequest } from '../../src/http/users/user.request.js';
import { usersProjector } from '../../projections/users/projector.js';

/** What is tested is what ships. */
const root = join(__dirname, '..', '..');

test('a test imports the compiled modules of the project, as Node loads them', () => {
  const dist = createRequire(join(root, 'dist', 'any.js'));
  const compiled = (path: string) => dist(`./${path}`) as Readonly<Record<string, unknown>>;
  expect(compiled('src/http/users/user.request.js')['UserRequest']).toBe(UserRequest);
  expect(compiled('projections/users/projector.js')['usersProjector']).toBe(usersProjector);
});

/** The settings on which the meaning of a class depends. */
function meaningOf(file: string) {
  const { config, error } = ts.readConfigFile(join(root, file), (path) =>
    readFileSync(path, 'utf8'),
  );
  if (error !== undefined)
    throw new Error(ts.flattenDiagnosticMessageText(error.messageText, '\n'));
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  return {
    target: options.target === undefined ? undefined : ts.ScriptTarget[options.target],
    fields: options.useDefineForClassFields,
    decorators: options.experimentalDecorators,
    metadata: options.emitDecoratorMetadata,
  };
}

test('the types of the tests are checked with the settings that the service is compiled with', () => {
  expect(meaningOf('tsconfig.test.json')).toEqual(meaningOf('tsconfig.json'));
});
