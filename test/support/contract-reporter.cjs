/**
 * At the end of a run, what the contract of the event log came to on each log, and every skipped
 * test by its name: one that is left out silently looks like one that holds.
 */
class ContractReporter {
  constructor({ testNamePattern }) {
    this.isWhole = !testNamePattern;
  }

  onRunComplete(_contexts, { testResults }) {
    // What was left out by the command line was left out on purpose.
    if (!this.isWhole) return;
    const tests = testResults.flatMap(({ testResults: ofFile }) => ofFile);
    const logs = new Map();
    for (const { ancestorTitles, status } of tests) {
      const [, log] = /^event log: (.+)$/.exec(ancestorTitles[0] ?? '') ?? [];
      if (log === undefined) continue;
      const count = logs.get(log) ?? { passed: 0, failed: 0, pending: 0 };
      logs.set(log, { ...count, [status]: (count[status] ?? 0) + 1 });
    }
    for (const [log, { passed, failed, pending }] of [...logs].sort()) {
      process.stderr.write(
        `contract of the event log on ${log}: ${passed} passed, ${failed} failed, ${pending} skipped\n`,
      );
    }
    if (logs.size > 0)
      for (const { status, fullName } of tests)
        if (status === 'pending') process.stderr.write(`  skipped: ${fullName}\n`);
  }
}

module.exports = ContractReporter;
