import { execFileSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';

const SUITES = [
  { title: 'story', file: '/p/story.test.ts', begin: 'on eventstoredb' },
  { title: 'copy', file: '/p/copy.test.ts' },
];

/** The script is a module of Node, which jest does not load. */
function resultsOf(testResults: readonly object[]): unknown {
  const script = pathToFileURL(join(__dirname, '..', '..', 'scripts', 'suite-results.mjs')).href;
  const given = JSON.stringify([SUITES, testResults]);
  const code = `import { resultsOf } from '${script}';
    console.log(JSON.stringify(resultsOf(...${given})));`;
  return JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' }),
  );
}

test('a suite that ran no test against the server has failed, whatever else of its file passed', () => {
  const of = (name: string, ...tests: readonly (readonly [string, string])[]) => ({
    name,
    assertionResults: tests.map(([fullName, status]) => ({ fullName, status })),
  });
  const copied = of('/p/copy.test.ts', ['copies', 'passed'], ['goes back', 'pending']);
  const copy = { title: 'copy', passed: 1, failed: 0, skipped: ['goes back'] };
  const story = (passed: number, failed: number) => ({
    title: 'story',
    passed,
    failed,
    skipped: [],
  });
  expect(resultsOf([copied])).toEqual([story(0, 1), copy]);
  const elsewhere = of('/p/story.test.ts', ['on postgres', 'passed']);
  expect(resultsOf([elsewhere, copied])).toEqual([story(0, 1), copy]);
  const failing = of('/p/story.test.ts', ['on eventstoredb a', 'failed']);
  expect(resultsOf([failing, copied])).toEqual([story(0, 1), copy]);
  const passing = of('/p/story.test.ts', ['on eventstoredb a', 'passed']);
  expect(resultsOf([passing, copied])).toEqual([story(1, 0), copy]);
});
