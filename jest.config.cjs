const { availableParallelism } = require('node:os');
const { jsc } = require('./scripts/swc-settings.cjs');

/**
 * Files of `test/` are CommonJS to jest; the compiled service and packages are what they are to Node.
 */
const common = {
  rootDir: __dirname,
  testEnvironment: '<rootDir>/test/support/jest-environment.cjs',
  runtime: '<rootDir>/test/support/jest-runtime.cjs',
  moduleFileExtensions: ['ts', 'js', 'mjs', 'cjs', 'json', 'node'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: { '\\.ts$': ['@swc/jest', { jsc, module: { type: 'commonjs' } }] },
  cacheDirectory: '<rootDir>/.cache/jest',
  // Stryker's copies of the project.
  modulePathIgnorePatterns: ['<rootDir>/.cache/'],
};

/** Tests that need no database: part of `npm run check`. */
const unit = [
  'architecture/',
  'domain/',
  'event-log/first-recorded',
  'event-log/group-commit',
  'event-log/lag',
  'imports/import-files',
  'imports/run-import',
  'ledger/',
  'mails/content/',
  'operations/account-words',
  'operations/owed-rewards',
  'operations/payment-comparison',
  'payments/payment-connections',
  'payments/stripe-events',
  'policies/policy-trail',
  'policies/reaction-flow',
  'policy-rules/',
  'postgres/locks',
  'privacy/sealed-values',
  'process/',
  'projectors/',
  'templates/',
  'themes/',
  'webhooks/announced',
  'webhooks/presented',
  'webhooks/receiver-answers',
  'webhooks/retry-',
  'webhooks/signature-headers',
].map((path) => `<rootDir>/test/${path}`);

const testsIn = (path) => (path.endsWith('/') ? `${path}**/*.test.ts` : `${path}*.test.ts`);

/**
 * Tests that start or kill processes and stores, run releases side by side or run the simulator:
 * `npm run test:faults`.
 */
const faults = [
  'blackbox/',
  'core/own-postgres',
  'event-log/eventstoredb-faults-of-',
  'event-log/eventstoredb-lost-tail',
  'event-log/eventstoredb-refusals',
  'faults/',
  'http-edge/overload',
  'http/restart',
  'mails/mail-crash',
  'operations/interrupted-operations',
  'operations/key-commands',
  'operations/log-move',
  'operations/operation-runs',
  'operations/webhook-listen',
  'postgres/embedded-postgres',
  'properties/releases-in-turn',
  'releases/',
  'simulator/',
].map((path) => `<rootDir>/test/${path}`);

/** Tests of routes: most share the service of their worker (`shareService`). */
const api = '<rootDir>/test/http/';

const withPostgres = {
  globalSetup: '<rootDir>/test/support/global-setup.cjs',
  globalTeardown: '<rootDir>/test/support/global-teardown.cjs',
};

const projects = {
  unit: {
    ...common,
    displayName: 'unit',
    testMatch: unit.map(testsIn),
    globalSetup: '<rootDir>/test/support/build-service.cjs',
  },
  api: {
    ...common,
    ...withPostgres,
    displayName: 'api',
    testMatch: [`${api}**/*.test.ts`],
    testPathIgnorePatterns: faults,
  },
  service: {
    ...common,
    ...withPostgres,
    displayName: 'service',
    testMatch: ['<rootDir>/test/**/*.test.ts'],
    testPathIgnorePatterns: [...unit, api, ...faults],
  },
  faults: {
    ...common,
    ...withPostgres,
    displayName: 'faults',
    testMatch: faults.map(testsIn),
  },
  /** Files of `test/http` against `node dist/bin/main.js`, as it ships. */
  compiled: {
    ...common,
    ...withPostgres,
    displayName: 'compiled',
    // `npm run test:dist` runs all that can.
    testMatch: (process.env.TEST_DIST === 'all'
      ? ['*']
      : ['open-users', 'route-credentials', 'story']
    ).map((name) => `<rootDir>/test/http/${name}.test.ts`),
    globals: { TEST_TARGET: 'dist' },
  },
};

/** What the runs of all projects share. */
const run = {
  // Each worker starts a service of its own. By default a machine of two cores would run one file
  // at a time; four would take a quarter more of processor time than two, and no less by the clock.
  maxWorkers: Math.max(2, Math.floor(availableParallelism() / 2)),
  // A worker that grew beyond it is replaced between two files.
  workerIdleMemoryLimit: '1GB',
  // Read from here only; inside a project it counts for nothing.
  testTimeout: 60_000,
  testSequencer: '<rootDir>/test/support/shared-service-first.cjs',
  reporters: [
    'default',
    '<rootDir>/test/support/contract-reporter.cjs',
    '<rootDir>/test/support/slowest-files-reporter.cjs',
  ],
};

const suites = {
  everyday: [projects.unit, projects.api, projects.service],
  faults: [projects.faults, projects.compiled],
  all: Object.values(projects),
};

module.exports = { ...run, projects: suites[process.env.TEST_SUITE ?? 'everyday'] };
