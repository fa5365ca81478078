import { cutRounds } from '../harness/cut-rounds.js';
import {
  makeDataDir,
  printedKey,
  removeDataDir,
  startServiceProcess,
} from '../harness/service-process.js';

it('each connection is ended under load, and everything comes back by itself', async () => {
  const dataDir = await makeDataDir();
  const service = await startServiceProcess({ env: { DATA_DIR: dataDir } });
  try {
    await service.ready();
    const { cuts, violations } = await cutRounds({
      dataDir,
      service,
      apiKey: printedKey(service.output()),
      rounds: 1,
      killsLeaders: false,
      backWithinMs: 60_000,
    });
    expect(violations).toEqual([]);
    expect([...cuts.keys()]).toEqual(
      expect.arrayContaining([
        'ledger-jobs',
        'ledger-log-listener',
        'ledger-log-reader',
        'ledger-log-writer',
        'ledger-projector',
        'ledger-service',
        'ledger-supervisor',
      ]),
    );
    expect(await service.terminate()).toBe(0);
  } finally {
    await service.kill();
    await removeDataDir(dataDir);
  }
}, 300_000);
