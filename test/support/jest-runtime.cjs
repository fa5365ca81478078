const { createRequire, isBuiltin } = require('node:module');
const { dirname, join, relative, resolve } = require('node:path');
const { default: JestRuntime } = require('jest-runtime');

const root = resolve(__dirname, '../..');
/** What `npm run build` compiles. */
const SOURCE = /^(src|projections|migrations|simulator|tools|bench|test[/\\]harness)[/\\]/;

/** Another file of `test/`, or the one module that jest makes for each of them. */
const isOfTests = (name) => /^[./]/.test(name) || isBuiltin(name) || name === '@jest/globals';

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
}

module.exports = { __esModule: true, default: Runtime };
