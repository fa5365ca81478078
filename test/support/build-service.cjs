const { join } = require('node:path');
const { pathToFileURL } = require('node:url');

/** Tests run the compiled service: it is built when it is not that of these sources. */
module.exports = async () => {
  const script = join(__dirname, '../../scripts/build-if-stale.mjs');
  const { buildIfStale } = await import(pathToFileURL(script).href);
  buildIfStale();
};
