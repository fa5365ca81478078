const asyncHooks = require('node:async_hooks');
const { createRequire, isBuiltin } = require('node:module');
const { dirname, join, relative, resolve } = require('node:path');
const { default: JestRuntime } = require('jest-runtime');

const root = resolve(__dirname, '../..');
/** What `npm run build` compiles. */
const SOURCE = /^(src|projections|migrations|simulator|tools|bench|test[/\\]harness)[/\\]/;

/** Another file of `test/`, or the one module that jest makes for each of them. */
const isOfTests = (name) => /^[./]/.test(name) || isBuiltin(name) || name === '@jest/globals';

/** The storages of the test runner, which is new for each file. */
const storages = new Set();
const recordedHooks = {
  ...asyncHooks,
  AsyncLocalStorage: class extends asyncHooks.AsyncLocalStorage {
    constructor() {
      super();
      storages.add(this);
    }
  },
};

/** By which the test runner finds its state and its listeners among the globals. */
const OF_RUNNER = ['JEST_STATE_SYMBOL', 'EVENT_HANDLERS'];

/**
 * Ends what the runner of a file leaves in the context that all files share: each storage that is
 * left costs every promise of the files after it, and each listener every test of theirs.
 */
function endRunner() {
  for (const storage of storages) storage.disable();
  storages.clear();
  for (const symbol of Object.getOwnPropertySymbols(globalThis))
    if (OF_RUNNER.includes(symbol.description)) delete globalThis[symbol];
}

/**
 * Node loads the compiled service and all packages, once for all test files of a worker: tests run
 * what ships, and its code stays warm. jest would read, compile and run some 2 000 modules again for
 * each file.
 */
class Runtime extends JestRuntime {
  requireModuleOrMock(from, name) {
    if (/^[./]/.test(name)) {
      const path = relative(root, resolve(dirname(from), name));
      if (SOURCE.test(path)) return require(join(root, 'dist', path));
      if (path.startsWith('dist') || path.endsWith('.mjs')) return require(join(root, path));
    }
    return isOfTests(name) ? super.requireModuleOrMock(from, name) : createRequire(from)(name);
  }

  /** The runner is new for each test file, its libraries are not. */
  requireInternalModule(from, name) {
    if (name === 'node:async_hooks') return recordedHooks;
    const isLibrary = name !== undefined && !/^[./]/.test(name) && !isBuiltin(name);
    return isLibrary ? createRequire(from)(name) : super.requireInternalModule(from, name);
  }

  teardown() {
    super.teardown();
    endRunner();
  }
}

module.exports = { __esModule: true, default: Runtime };
