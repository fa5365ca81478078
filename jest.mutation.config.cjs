const { projects } = require('./jest.config.cjs');

/** The tests that judge the mutants of a folder: those that need no database. */
const TESTS = {
  bookkeeping: ['ledger'],
  domain: ['domain', 'properties'],
  policies: ['policy-rules', 'simulator'],
  projections: ['projectors'],
  'command-handling': ['command-handling', 'simulator'],
};
const NEED_A_DATABASE = ['/command-handling/policies.test', '/properties/(purged-keys|releases)'];

const [{ displayName: _, ...unit }] = projects;
const area = process.env.MUTATED ?? 'bookkeeping';

module.exports = {
  ...unit,
  testMatch: TESTS[area].map((folder) => `<rootDir>/test/${folder}/**/*.test.ts`),
  testPathIgnorePatterns: NEED_A_DATABASE,
  testEnvironment: require.resolve('./test/support/mutation-environment.cjs'),
  testTimeout: 60_000,
};
