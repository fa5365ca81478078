// Builds the package from the description of a service:
//   node build.mjs <openapi.json, a file or a URL>
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import openapiTS, { astToString } from 'openapi-typescript';

const source = process.argv[2];
if (source === undefined) {
  console.error('name the description of the interface: node build.mjs openapi.json');
  process.exit(1);
}
const here = (path) => new URL(path, import.meta.url);
const text = /^https?:/.test(source)
  ? await (await fetch(source)).text()
  : readFileSync(source, 'utf8');
const document = JSON.parse(text);

/** Without what no caller sees in the types: refusals are a `LedgerError`, examples are at /docs. */
function slim(value) {
  if (Array.isArray(value)) return value.map(slim);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      if (name === 'example' || name === 'examples' || name === 'links') return [];
      if (name !== 'responses') return [[name, slim(member)]];
      const succeeded = Object.entries(member).filter(([status]) => /^2/.test(status));
      return [
        [
          name,
          slim(Object.fromEntries(succeeded.map(([s, r]) => [s, { ...r, headers: undefined }]))),
        ],
      ];
    }),
  );
}

/** Definitions within a shape as shapes of their own: a type cannot name a part of itself. */
for (const [name, { $defs = {} }] of Object.entries(document.components.schemas)) {
  delete document.components.schemas[name].$defs;
  for (const [part, schema] of Object.entries($defs))
    document.components.schemas[`${name}_${part}`] = schema;
}
const withOwnShapes = (text) => JSON.parse(text.replaceAll('/$defs/', '_'));

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { operationId }]) => [
    operationId,
    `${method.toUpperCase()} ${path}`,
  ]),
);
rmSync(here('src/generated'), { recursive: true, force: true });
rmSync(here('dist'), { recursive: true, force: true });
mkdirSync(here('src/generated'), { recursive: true });
writeFileSync(
  here('src/generated/schema.ts'),
  astToString(await openapiTS(withOwnShapes(JSON.stringify(slim(document))))),
);
writeFileSync(
  here('src/generated/operations.ts'),
  `/** Method and path of each operation, by its id. */\nexport const OPERATIONS = ${JSON.stringify(
    Object.fromEntries(operations),
    null,
    2,
  )} as const;\n`,
);
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
execFileSync(process.execPath, [tsc, '-p', '.'], { cwd: here('.'), stdio: 'inherit' });
