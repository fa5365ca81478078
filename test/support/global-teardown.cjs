const { rm } = require('node:fs/promises');

module.exports = async () => {
  // Of tests that ran in this process.
  await globalThis.sharedService?.end();
  delete globalThis.sharedService;
  const running = globalThis.ledgerTestPostgres;
  if (!running) return;
  await running.server.stop();
  // What a process that a test left behind still writes into goes before the next run.
  const isGone = rm(running.folder, { recursive: true, force: true, maxRetries: 5 });
  await isGone.catch(() => undefined);
};
