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

/** In which project the service was started that the files of a worker share. */
let sharedIn;

async function endSharedService() {
  const shared = globalThis.sharedService;
  delete globalThis.sharedService;
  await shared?.end();
}

/** The message by which jest ends a worker (CHILD_MESSAGE_END of jest-worker). */
const END_OF_WORKER = 2;
process.on('message', function endWithWorker([type]) {
  if (type !== END_OF_WORKER) return;
  process.off('message', endWithWorker);
  void endSharedService();
});

/**
 * Tests run in the context of the worker, not in one of their own for each file: what they share
 * with `jest-runtime.cjs`, the libraries, has then the same `Error` and `Array` as they, and a
 * global is found without passing a proxy. Modules of the project are new for each file. What a file
 * leaves in `process.env` or among jest's globals is taken back after it. A service that files share (`shareService`) ends
 * before the first file of another project.
 */
module.exports = class Environment {
  global = globalThis;
  moduleMocker = new ModuleMocker(globalThis);
  fakeTimers = null;

  constructor({ projectConfig }) {
    this.project = projectConfig.displayName.name;
    this.globals = projectConfig.globals;
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
    this.before = { env: { ...process.env }, exit: process.exit };
    Object.assign(globalThis, this.globals);
    Error.stackTraceLimit = 100;
  }

  async setup() {
    if (sharedIn !== this.project) await endSharedService();
    sharedIn = this.project;
  }

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
