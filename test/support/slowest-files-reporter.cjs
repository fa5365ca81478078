const { relative } = require('node:path');

const SHOWN = 20;

/** At the end of a run, the files that took longest. */
module.exports = class SlowestFilesReporter {
  onRunComplete(_contexts, { testResults }) {
    if (testResults.length <= SHOWN) return;
    const seconds = ({ perfStats }) => (perfStats.runtime / 1000).toFixed(1).padStart(7);
    const slowest = [...testResults]
      .sort((one, other) => other.perfStats.runtime - one.perfStats.runtime)
      .slice(0, SHOWN)
      .map((result) => `${seconds(result)} s  ${relative('', result.testFilePath)}`);
    process.stderr.write(`the ${SHOWN} slowest files:\n${slowest.join('\n')}\n`);
  }
};
