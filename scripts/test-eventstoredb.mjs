#!/usr/bin/env node
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildOrExit } from './build-if-stale.mjs';
import { resultsOf } from './suite-results.mjs';

/**
 * Runs the suites that can use the EventStoreDB at ESDB_URL: every test has its own namespace, so a
 * server can be used again. Prints at the end which ran, and which did not and why.
 */
const root = fileURLToPath(new URL('..', import.meta.url));

/** Title, file, and how the names of those tests in it begin that are about the server. */
const SUITES = [
  ['contract of the event log', 'test/event-log/eventstoredb-event-log.test.ts'],
  ['HTTP story', 'test/http/story.test.ts', 'on eventstoredb'],
  ['restart of the service', 'test/http/restart.test.ts'],
  ['copy of the log, there and back', 'test/operations/log-copy.test.ts'],
];

/** Suites that need faults which no server causes on request. */
const NOT_HERE = [
  [
    'test/event-log/eventstoredb-faults-of-*.test.ts, eventstoredb-refusals.test.ts',
    'single faults of the store and of the client, brought about by the double',
  ],
  [
    'test/faults/event-store-outage.test.ts',
    'the store is stopped and started again, which is not for a test to do with a server of yours',
  ],
];

function main() {
  if (!process.env.ESDB_URL) {
    process.stderr.write(
      'ESDB_URL is not set: give the address of an EventStoreDB, for instance esdb://127.0.0.1:2113?tls=false\n',
    );
    return 2;
  }
  buildOrExit();
  const suites = SUITES.map(([title, file, begin]) => ({ title, file: join(root, file), begin }));
  const folder = mkdtempSync(join(tmpdir(), 'ledger-eventstoredb-'));
  try {
    const report = join(folder, 'report.json');
    const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
    const args = [
      '--runInBand',
      '--forceExit',
      '--json',
      '--outputFile',
      report,
      ...process.argv.slice(2),
    ];
    const { status, stdout } = spawnSync(
      process.execPath,
      [jest, ...args, '--runTestsByPath', ...suites.map(({ file }) => file)],
      {
        cwd: root,
        env: { ...process.env, TEST_SUITE: 'all' },
        stdio: ['ignore', 'pipe', 'inherit'],
        encoding: 'utf8',
      },
    );
    if (!existsSync(report)) {
      process.stderr.write(`the tests did not run: jest ended with ${status}\n`);
      return 1;
    }
    const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
    // The parts that tests report as left out.
    const leftOut = stdout
      .split('\n')
      .flatMap((line) => /^not run: (.+)$/.exec(line.trim())?.[1] ?? []);
    const results = resultsOf(suites, testResults);
    print(results, leftOut);
    return status === 0 && results.every(({ failed }) => failed === 0) ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function print(results, leftOut) {
  const line = (text) => process.stdout.write(`${text}\n`);
  line('\nagainst the server at ESDB_URL:');
  for (const { title, passed, failed, skipped } of results)
    line(`  ${title}: ${passed} passed, ${failed} failed, ${skipped.length} skipped`);
  line('skipped:');
  for (const name of [...leftOut, ...results.flatMap(({ skipped }) => skipped)]) line(`  ${name}`);
  for (const [file, why] of NOT_HERE) line(`  ${file} (${why})`);
}

process.exit(main());
