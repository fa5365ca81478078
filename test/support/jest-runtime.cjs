const { createRequire, isBuiltin } = require('node:module');
const { default: JestRuntime } = require('jest-runtime');

/** TypeScript of ours, and the one module that jest makes for each file of tests. */
const isMadeAnew = (name) =>
  (/^[./]/.test(name) && !name.endsWith('.mjs')) || isBuiltin(name) || name === '@jest/globals';

/**
 * Packages are loaded by Node, once for all files of a worker, and as the service loads them: jest
 * would read, compile and run some 1 500 modules of them again for each file, and ES modules only
 * after turning them into CommonJS.
 */
class Runtime extends JestRuntime {
  requireModuleOrMock(from, name) {
    return isMadeAnew(name) ? super.requireModuleOrMock(from, name) : createRequire(from)(name);
  }
}

module.exports = { __esModule: true, default: Runtime };
