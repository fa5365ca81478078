import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { transformSync, type Options } from '@swc/core';
import ts from 'typescript';

/**
 * What is tested is what ships: one compiler builds dist/, another what jest runs, and a class must
 * be the same from both.
 */
const root = join(__dirname, '..', '..');
const requireHere = createRequire(__filename);

interface JestProject {
  readonly displayName: string;
  readonly transform: Readonly<Record<string, readonly [string, Options]>>;
}

const projects = (
  requireHere(join(root, 'jest.config.cjs')) as { readonly projects: readonly JestProject[] }
).projects;

function compilerOptions(file: string): ts.CompilerOptions {
  const { config, error } = ts.readConfigFile(join(root, file), (path) =>
    readFileSync(path, 'utf8'),
  );
  if (error !== undefined)
    throw new Error(ts.flattenDiagnosticMessageText(error.messageText, '\n'));
  return ts.parseJsonConfigFileContent(config, ts.sys, root).options;
}

/** The settings on which the meaning of a class depends. */
const meaningOf = (options: ts.CompilerOptions) => ({
  target: options.target === undefined ? undefined : ts.ScriptTarget[options.target],
  fields: options.useDefineForClassFields,
  decorators: options.experimentalDecorators,
  metadata: options.emitDecoratorMetadata,
});
const ships = compilerOptions('tsconfig.json');

function testedOptions({ transform }: JestProject): Options {
  const [, options] = transform['\\.ts$'] ?? [];
  if (options === undefined) throw new Error('jest compiles no TypeScript');
  return options;
}

test.each(['tsconfig.test.json', 'tsconfig.bench.json'])(
  '%s compiles as tsconfig.json does',
  (file) => {
    expect(meaningOf(compilerOptions(file))).toEqual(meaningOf(ships));
  },
);

test.each(projects.map((project) => [project.displayName, project] as const))(
  'jest (%s) is told what tsc is told',
  (_name, project) => {
    const { target, parser, transform, keepClassNames } = testedOptions(project).jsc ?? {};
    const decorators = parser?.syntax === 'typescript' ? parser.decorators : undefined;
    expect({
      target: target?.toUpperCase(),
      fields: transform?.useDefineForClassFields,

      decorators: transform?.legacyDecorator,
      metadata: transform?.decoratorMetadata,
      parsed: decorators,
      keepClassNames,
    }).toEqual({ ...meaningOf(ships), parsed: ships.experimentalDecorators, keepClassNames: true });
  },
);

/**
 * Everything in which two ways to compile classes can differ; what it observes is put into `seen`.
 */
const PROBE = `
  declare const seen: Record<string, unknown>;
  const types: Record<string, unknown> = {};
  function Seen(prototype: object, member: string): void {
    const type: unknown = Reflect.getMetadata('design:type', prototype, member);
    types[member] = typeof type === 'function' ? type.name : String(type);
  }
  function Sealed(type: Function): void {
    seen['parameters'] = (Reflect.getMetadata('design:paramtypes', type) as Function[]).map((one) => one?.name);
  }
  class Other {}
  interface Shape { readonly a: string }
  abstract class Base {
    declared?: string;
    base = 'base';
    static made = 0;
    #hidden = 1;
    set written(value: string) { seen['setter ran'] = value; }
    hidden(): number { return this.#hidden; }
  }
  @Sealed
  class Probe extends Base {
    declare base: 'base';
    @Seen required: string;
    @Seen optional?: number | null;
    @Seen when: Date;
    @Seen other: Other | undefined;
    @Seen either: string | number;
    @Seen list: string[];
    @Seen shape: Shape;
    @Seen anything: unknown;
    // Hides the accessor of the class below it, or calls it.
    override written = 'by a field';
    early: unknown = this.look();
    constructor(readonly given: Other = new Other(), private readonly text: string = 'text') { super(); }
    look(): unknown { return this.text; }
  }
  const probe = new Probe();
  seen['own'] = Reflect.ownKeys(probe);
  seen['json'] = JSON.stringify(probe);
  seen['spread'] = Object.keys({ ...probe });
  seen['in'] = ['declared' in probe, 'optional' in probe];
  seen['early'] = typeof probe.early;
  seen['types'] = types;
  seen['names'] = [Probe.name, Base.name, (class {}).name, Object.getOwnPropertyNames(Base)];
  seen['hidden'] = probe.hidden();
`;

function observed(code: string): unknown {
  const seen: Record<string, unknown> = {};
  runInNewContext(code, { seen, Reflect, exports: {} });
  return JSON.parse(JSON.stringify(seen));
}

const byTsc = (): unknown =>
  observed(
    ts.transpileModule(PROBE, {
      fileName: 'probe.ts',
      compilerOptions: { ...ships, module: ts.ModuleKind.CommonJS, sourceMap: false },
    }).outputText,
  );

test.each(projects.map((project) => [project.displayName, project] as const))(
  'a class of jest (%s) is the class that ships',
  (_name, project) => {
    const { code } = transformSync(PROBE, {
      ...testedOptions(project),
      filename: 'probe.ts',
      swcrc: false,
      sourceMaps: false,
    });
    expect(observed(code)).toEqual(byTsc());
  },
);

test('a declared field is an own member, in both', () => {
  class Declared {
    field?: string;
  }
  expect(Object.keys(new Declared())).toEqual(['field']);
  expect(byTsc()).toMatchObject({ in: [true, true] });
});
