const vm = require('node:vm');
const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');

/** Stands for the context that this module runs in, of which there is no object to name it by. */
const THIS_CONTEXT = {};

const { compileFunction } = vm;
vm.compileFunction = (code, parameters, { parsingContext, ...options } = {}) =>
  compileFunction(code, parameters, {
    ...options,
    ...(parsingContext === THIS_CONTEXT ? undefined : { parsingContext }),
  });

/**
 * Tests run in the context of the worker, not in one of their own for each file: what they share
 * with `jest-runtime.cjs`, the libraries, has then the same `Error` and `Array` as they, and a
 * global is found without passing a proxy. Modules of ours are new for each file. What a file
 * leaves in `process.env` or among jest's globals is taken back after it.
 */
module.exports = class Environment {
  global = globalThis;
  moduleMocker = new ModuleMocker(globalThis);
  fakeTimers = null;

  constructor({ projectConfig }) {
    this.globals = projectConfig.globals;
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
    this.before = { env: { ...process.env }, exit: process.exit };
    Object.assign(globalThis, this.globals);
    Error.stackTraceLimit = 100;
  }

  async setup() {}

  async teardown() {
    this.fakeTimersModern.dispose();
    for (const name of Object.keys(this.globals)) delete globalThis[name];
    for (const name of Object.keys(process.env))
      if (!(name in this.before.env)) delete process.env[name];
    Object.assign(process.env, this.before.env);
    process.exit = this.before.exit;
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return THIS_CONTEXT;
  }
};
