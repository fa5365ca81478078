const MUTATED = {
  bookkeeping: ['src/bookkeeping/**/*.ts'],
  domain: ['src/domain/**/*.ts'],
  policies: ['src/policies/**/*.ts'],
  projections: ['projections/*/projector.ts', 'projections/*/table.ts'],
  'command-handling': ['src/command-handling/**/*.ts'],
};
const area = process.env.MUTATED ?? 'bookkeeping';
if (!Object.hasOwn(MUTATED, area))
  throw new Error(`MUTATED is one of ${Object.keys(MUTATED).join(', ')}`);

/** All mutants are compiled once, into the dist/ of a copy; a run switches one of them on. */
export default {
  testRunner: 'jest',
  jest: { configFile: 'jest.mutation.config.cjs', enableFindRelatedTests: false },
  coverageAnalysis: 'perTest',
  mutate: MUTATED[area],
  // A module is loaded once: what runs while it is loaded cannot be switched.
  ignoreStatic: true,
  buildCommand: 'node scripts/build-if-stale.mjs',
  ignorePatterns: ['dist', '.cache', '.data', 'docs', 'docker'],
  tempDirName: '.cache/stryker',
  incremental: true,
  incrementalFile: `.cache/mutation-${area}.json`,
  reporters: ['clear-text', 'progress-append-only'],
  clearTextReporter: { allowColor: false, reportTests: false, reportScoreTable: true },
  concurrency: 1,
  timeoutMS: 20_000,
};
