/** What is mutated, and the tests that judge it: where it can be, those that need no database. */
const AREAS = {
  bookkeeping: { mutate: ['src/bookkeeping/**/*.ts'], folders: ['test/ledger'] },
  // Not by its properties: a survivor would take minutes.
  domain: { mutate: ['src/domain/**/*.ts'], folders: ['test/domain'] },
  policies: {
    mutate: ['src/{policies,reacting,work-queue}/**/*.ts'],
    folders: ['test/policy-rules', 'test/policies', 'test/simulator'],
    needsPostgres: true,
  },
  projections: {
    mutate: ['projections/*/projector.ts', 'projections/*/table.ts'],
    folders: ['test/projectors'],
  },
  'command-handling': {
    mutate: ['src/command-handling/**/*.ts'],
    folders: ['test/command-handling'],
    needsPostgres: true,
  },
};
const area = process.env.MUTATED ?? 'bookkeeping';
if (!Object.hasOwn(AREAS, area))
  throw new Error(`MUTATED is one of ${Object.keys(AREAS).join(', ')}`);
const { mutate, folders, needsPostgres } = AREAS[area];

/** All mutants are compiled once, into the dist/ of a copy; a run switches one of them on. */
export default {
  plugins: ['./scripts/mutant-runner.mjs'],
  testRunner: 'in-process',
  inProcess: {
    folders,
    needsPostgres,
    // A survivor would take minutes.
    leftOut: ['/command-handling/(lost-tail|redemptions)', '/simulator/simulat'],
  },
  warnings: { unknownOptions: false },
  coverageAnalysis: 'perTest',
  mutate,
  // A module is loaded once: what runs while it is loaded cannot be switched.
  ignoreStatic: true,
  buildCommand: 'npx tsc -p tsconfig.json --noCheck',
  ignorePatterns: ['dist', '.cache', '.data', 'docs', 'docker'],
  tempDirName: '.cache/stryker',
  incremental: true,
  incrementalFile: `.cache/mutation-${area}.json`,
  reporters: ['clear-text', 'progress-append-only'],
  clearTextReporter: { allowColor: false, reportTests: false, reportScoreTable: true },
  concurrency: 1,
  timeoutMS: 20_000,
};
