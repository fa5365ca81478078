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

/** Tests that need no database: seconds, and part of `npm run check`. */
const folders = [
  'domain',
  'projectors',
  'policy-rules',
  'process',
  'templates',
  'themes',
  'mails/content',
];
const unit = [...folders, 'architecture'].map((folder) => `<rootDir>/test/${folder}/`);

const filesOf = (names) => names.map((name) => `<rootDir>/test/http/${name}.test.ts`);
/** Run against `node dist/bin/main.js` only: black boxes. */
const blackBoxes = filesOf(['open-users', 'story']);
/** In the tests' own process this one also compares its list of routes with the router's. */
const compiled = [...blackBoxes, ...filesOf(['route-credentials'])];

module.exports = {
  // Much of a test is waiting for a store. By default a machine of two cores would run one file at
  // a time; four keep it busy.
  maxWorkers: 4,
  // A worker that grew beyond it is replaced between two files.
  workerIdleMemoryLimit: '1GB',
  // Read from here only; inside a project it counts for nothing.
  testTimeout: 60_000,
  testSequencer: '<rootDir>/test/support/long-files-first.cjs',
  reporters: ['default', '<rootDir>/test/support/contract-reporter.cjs'],
  projects: [
    {
      ...common,
      displayName: 'unit',
      testMatch: unit.map((folder) => `${folder}**/*.test.ts`),
      globalSetup: '<rootDir>/test/support/build-service.cjs',
    },
    {
      ...common,
      displayName: 'service',
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: [...unit, ...blackBoxes],
      globalSetup: '<rootDir>/test/support/global-setup.cjs',
      globalTeardown: '<rootDir>/test/support/global-teardown.cjs',
    },
    {
      ...common,
      displayName: 'compiled',
      // `npm run test:dist` runs all that can.
      testMatch: process.env.TEST_DIST === 'all' ? filesOf(['*']) : compiled,
      globals: { TEST_TARGET: 'dist' },
      globalSetup: '<rootDir>/test/support/global-setup.cjs',
      globalTeardown: '<rootDir>/test/support/global-teardown.cjs',
    },
  ],
};
