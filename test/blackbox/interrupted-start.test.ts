import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import {
  makeDataDir,
  postmasterPid,
  printedKey,
  removeDataDir,
  startServiceProcess,
} from '../harness/service-process.js';
import { eventually } from '../support/embedded.js';

let dataDir: string;
beforeEach(async () => {
  dataDir = await makeDataDir();
});
afterEach(() => removeDataDir(dataDir));

it('SIGTERM during a start stops the service once it has started, and its Postgres too', async () => {
  const service = await startServiceProcess({ env: { DATA_DIR: dataDir, LOG_LEVEL: 'info' } });
  await eventually(() =>
    Promise.resolve(service.output().includes('started the embedded Postgres')),
  );
  expect(service.output()).not.toContain('listening');
  expect(await service.terminate()).toBe(0);
  expect(await postmasterPid(dataDir)).toBeUndefined();
  // A first start made the tenant; no later one shows its keys.
  expect(printedKey(service.output())).toMatch(/^live_/);
});

it('a first start on a port in use shows its new keys, says why it ends, and stops its Postgres', async () => {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  try {
    const service = await startServiceProcess({ env: { DATA_DIR: dataDir }, port });
    expect(await service.exited).toEqual({ code: 1, signal: null });
    expect(printedKey(service.output())).toMatch(/^live_/);
    expect(service.output()).toContain('EADDRINUSE');
    expect(await postmasterPid(dataDir)).toBeUndefined();
  } finally {
    holder.close();
  }
});
