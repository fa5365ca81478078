/**
 * What a run of jest says about some suites. A suite without a passed test has failed: its file may
 * be missing, not compile, or belong to no project that ran.
 * @param {readonly { title: string, file: string, begin?: string }[]} suites `begin`: how the names
 *   of the tests begin that count; default: all of the file.
 * @param {readonly { name: string, assertionResults: readonly { fullName: string, status: string }[] }[]} testResults
 *   of jest's `--json`.
 * @returns {{ title: string, passed: number, failed: number, skipped: string[] }[]}
 */
export function resultsOf(suites, testResults) {
  return suites.map(({ title, file, begin = '' }) => {
    const tests = testResults
      .filter(({ name }) => name === file)
      .flatMap(({ assertionResults }) => assertionResults)
      .filter(({ fullName }) => fullName.startsWith(begin));
    const named = (status) =>
      tests.filter((test) => test.status === status).map(({ fullName }) => fullName);
    const passed = named('passed').length;
    const failed = named('failed').length;
    return {
      title,
      passed,
      failed: passed === 0 ? Math.max(1, failed) : failed,
      skipped: named('pending'),
    };
  });
}
