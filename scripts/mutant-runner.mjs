import { readFileSync, readdirSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import vm from 'node:vm';
import { transformSync } from '@swc/core';
import { expect } from 'expect';
import * as circus from 'jest-circus';
import { ModuleMocker } from 'jest-mock';

/**
 * Runs the tests of a folder for one mutant after the other in one process, in which the compiled
 * service and the packages stay loaded: a start of jest for each mutant takes a hundred times as
 * long as most tests. Test files are evaluated anew for each mutant, compiled once.
 */

const require = createRequire(import.meta.url);
const SOURCE = /^(src|projections|migrations|simulator|tools|bench|test[/\\]harness)[/\\]/;
const TEST_TIMEOUT_MS = 60_000;
const SUCCESS = 0;
const FAILED = 1;

const mocker = new ModuleMocker(globalThis);
const { describe, it, test, beforeAll, beforeEach, afterAll, afterEach } = circus;
Object.assign(globalThis, { describe, it, test, beforeAll, beforeEach, afterAll, afterEach });
Object.assign(globalThis, {
  expect,
  jest: {
    fn: mocker.fn.bind(mocker),
    spyOn: mocker.spyOn.bind(mocker),
    restoreAllMocks: () => mocker.restoreAllMocks(),
  },
});

/** Set by Stryker's instrumented code: which mutant is on, and what was covered. */
const switches = () => (globalThis.__stryker__ ??= {});

class InProcessRunner {
  static inject = ['options'];
  root = process.cwd();
  /** By file: its compiled code. */
  compiled = new Map();

  /**
   * @param options `inProcess.folders` of tests, patterns of files to leave out, and whether the
   * tests need a Postgres.
   */
  constructor({ inProcess: { folders, leftOut, needsPostgres = false } }) {
    this.needsPostgres = needsPostgres;
    const isLeftOut = (file) => leftOut.some((part) => new RegExp(part).test(file));
    this.files = folders
      .flatMap((folder) =>
        readdirSync(join(this.root, folder), { recursive: true }).map((name) => join(folder, name)),
      )
      .filter((file) => file.endsWith('.test.ts') && !isLeftOut(file))
      .sort();
  }

  async init() {
    if (this.needsPostgres) await this.support('start-postgres')();
  }

  async dispose() {
    if (this.needsPostgres) await this.support('global-teardown')();
  }

  support(name) {
    return require(join(this.root, `test/support/${name}.cjs`));
  }

  capabilities() {
    return { reloadEnvironment: false };
  }

  async dryRun() {
    switches().activeMutant = undefined;
    switches().mutantCoverage = undefined;
    const tests = [];
    const took = new Map();
    for (const file of this.files) {
      const beganAt = performance.now();
      tests.push(...(await this.run(file, { isCovered: true })));
      took.set(file, performance.now() - beganAt);
    }
    // Most mutants end at a quick test.
    this.files.sort((a, b) => took.get(a) - took.get(b));
    return { status: 'complete', tests, mutantCoverage: switches().mutantCoverage };
  }

  async mutantRun({ activeMutant, testFilter, hitLimit }) {
    const stryker = switches();
    stryker.hitLimit = hitLimit;
    stryker.hitCount = hitLimit ? 0 : undefined;
    let count = 0;
    const only = testFilter && new Set(testFilter);
    // By the ids alone: after a mutant without end this is another process, without a dry run.
    const files = only && new Set(testFilter.map((id) => id.slice(0, id.indexOf(': '))));
    for (const file of this.files) {
      if (files && !files.has(file)) continue;
      const results = await this.run(file, { only, mutant: activeMutant.id });
      count += results.length;
      if (hitLimit && stryker.hitCount > hitLimit) return { status: 'timeout' };
      const failed = results.find(({ status }) => status === FAILED);
      if (failed)
        return {
          status: 'killed',
          killedBy: [failed.id],
          failureMessage: failed.failureMessage,
          nrOfTests: count,
        };
    }
    return { status: 'survived', nrOfTests: count };
  }

  /** Of one file. Ends with its first red test when a mutant is on. */
  async run(file, { only, mutant, isCovered = false }) {
    circus.resetState();
    mocker.restoreAllMocks();
    expect.setState({ assertionCalls: 0, testPath: file });
    const results = [];
    const stryker = switches();
    let isOver = false;
    const onEvent = ({ name, test: current }) => {
      if (name === 'test_start') {
        const id = idOf(file, current);
        if (isOver || (only && !only.has(id))) current.mode = 'skip';
        if (isCovered) stryker.currentTestId = id;
      }
      if (name === 'test_done' || name === 'test_skip') stryker.currentTestId = undefined;
      if (name !== 'test_done') return;
      const isRed = current.errors.length > 0;
      if (isRed && mutant !== undefined) isOver = true;
      const id = idOf(file, current);
      const result = { id, name: id, fileName: file, timeSpentMs: current.duration ?? 0 };
      results.push(
        isRed
          ? { ...result, status: FAILED, failureMessage: String(current.errors[0]?.[0] ?? '') }
          : { ...result, status: SUCCESS },
      );
    };
    circus.addEventHandler(onEvent);
    try {
      this.evaluate(join(this.root, file), new Map());
      const state = circus.getState();
      state.testTimeout = TEST_TIMEOUT_MS;
      if (only) skipOthers(state.rootDescribeBlock, file, only);
      stryker.activeMutant = mutant;
      const { unhandledErrors } = await circus.run();
      if (unhandledErrors.length > 0 && mutant !== undefined && !isOver)
        results.push({ id: file, status: FAILED, failureMessage: String(unhandledErrors[0]) });
      return results;
    } finally {
      stryker.activeMutant = undefined;
      circus.removeEventHandler(onEvent);
    }
  }

  evaluate(file, modules) {
    const known = modules.get(file);
    if (known) return known.exports;
    const module = { exports: {} };
    modules.set(file, module);
    const own = createRequire(file);
    const load = (name) => {
      if (isBuiltin(name) || !name.startsWith('.')) return own(name);
      const path = resolve(dirname(file), name);
      const within = relative(this.root, path);
      if (SOURCE.test(within)) return require(join(this.root, 'dist', within));
      if (!path.endsWith('.js')) return own(name);
      return this.evaluate(path.replace(/\.js$/, '.ts'), modules);
    };
    this.code(file)(module.exports, load, module, file, dirname(file));
    return module.exports;
  }

  code(file) {
    const known = this.compiled.get(file);
    if (known) return known;
    const { code } = transformSync(readFileSync(file, 'utf8'), {
      filename: file,
      swcrc: false,
      module: { type: 'commonjs' },
      jsc: {
        target: 'es2023',
        keepClassNames: true,
        parser: { syntax: 'typescript', decorators: true },
        transform: { legacyDecorator: true, decoratorMetadata: true },
      },
    });
    const parameters = ['exports', 'require', 'module', '__filename', '__dirname'];
    const run = vm.compileFunction(code, parameters, {
      filename: file,
      importModuleDynamically: vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    });
    this.compiled.set(file, run);
    return run;
  }
}

function idOf(file, test) {
  const names = [];
  for (let at = test; at.parent; at = at.parent) names.unshift(at.name);
  const twins = test.parent.children.filter(
    ({ name, type }) => type === 'test' && name === test.name,
  );
  const nth = twins.indexOf(test);
  return `${file}: ${names.join(' › ')}${nth > 0 ? ` (${nth + 1})` : ''}`;
}

/** Hooks of a block without a test to run are left out, too. */
function skipOthers(block, file, only) {
  for (const child of block.children)
    if (child.type === 'describeBlock') skipOthers(child, file, only);
    else if (!only.has(idOf(file, child))) child.mode = 'skip';
}

export const strykerPlugins = [
  { kind: 'TestRunner', name: 'in-process', injectableClass: InProcessRunner },
];
