import {
  makeDataDir,
  postmasterPid,
  printedKey,
  removeDataDir,
  startServiceProcess,
} from '../harness/service-process.js';
import { eventually } from '../support/embedded.js';

// A first start makes a database, while other files keep the processors busy.
jest.setTimeout(120_000);

let dataDir: string;
beforeEach(async () => {
  dataDir = await makeDataDir();
});
afterEach(() => removeDataDir(dataDir));

it('SIGTERM during a start stops the service once it has started, and its Postgres too', async () => {
  const service = await startServiceProcess({ env: { DATA_DIR: dataDir, LOG_LEVEL: 'info' } });
  const isStarted = () => service.output().includes('started the embedded Postgres');
  await eventually(() => isStarted());
  expect(service.output()).not.toContain('listening');
  expect(await service.terminate()).toBe(0);
  expect(await postmasterPid(dataDir)).toBeUndefined();
  // A first start made the tenant; no later one shows its keys.
  expect(printedKey(service.output())).toMatch(/^live_/);
});
