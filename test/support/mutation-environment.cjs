const Environment = require('./jest-environment.cjs');

/**
 * Node loads the compiled modules once for all mutants of a Stryker worker, so the mutant is chosen
 * anew for each run, not when a module is loaded.
 */
module.exports = class MutationEnvironment extends Environment {
  async setup() {
    await super.setup();
    const stryker = globalThis.__stryker__;
    if (stryker) stryker.activeMutant = process.env.__STRYKER_ACTIVE_MUTANT__;
  }
};
