const { rm } = require('node:fs/promises');

module.exports = async () => {
  const running = globalThis.ledgerTestPostgres;
  if (!running) return;
  await running.server.stop();
  await rm(running.dataDir, { recursive: true, force: true });
};
