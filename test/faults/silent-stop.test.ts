import {
  makeDataDir,
  postgresPids,
  printedKey,
  removeDataDir,
  startServiceProcess,
} from '../harness/service-process.js';
import { LedgerClient } from '../harness/ledger-client.js';

it('on SIGTERM the service ends with 0 while its database does not answer', async () => {
  const dataDir = await makeDataDir();
  const service = await startServiceProcess({ env: { DATA_DIR: dataDir } });
  let frozen: readonly number[] = [];
  try {
    await service.ready();
    const client = new LedgerClient({ url: service.url, apiKey: printedKey(service.output()) });
    const sync = (id: string) =>
      client.post('accountsync', { id, subscription: { status: 'TRIAL' } });
    expect((await sync('before')).status).toBe(200);
    frozen = await postgresPids(dataDir);
    for (const pid of frozen) process.kill(pid, 'SIGSTOP');
    const unanswered = sync('meanwhile').then(
      ({ status }) => status,
      () => undefined,
    );
    // A limit of the process itself ends it with 1.
    expect(await service.terminate()).toBe(0);
    expect([503, undefined]).toContain(await unanswered);
    client.close();
  } finally {
    for (const pid of frozen) process.kill(pid, 'SIGCONT');
    await service.kill();
    await removeDataDir(dataDir);
  }
}, 180_000);
