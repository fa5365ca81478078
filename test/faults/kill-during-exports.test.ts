import { pino } from 'pino';
import { exportRounds } from '../harness/export-rounds.js';
import { newSeed } from '../support/new-seed.js';
import { SeededRandom } from '../harness/seeded-random.js';
import {
  makeDataDir,
  printedKey,
  removeDataDir,
  startServiceProcess,
} from '../harness/service-process.js';
import { loadConfig } from '../../src/config/config.js';
import { openCore } from '../../src/core/core.js';

const ROUNDS = 3;

test('every export ends, and no chunk is left without a file, however often a process dies', async () => {
  const dataDir = await makeDataDir();
  let service = await startServiceProcess({ env: { DATA_DIR: dataDir } });
  try {
    await service.ready();
    const result = await exportRounds({
      dataDir,
      service,
      apiKey: printedKey(service.output()),
      rounds: ROUNDS,
      random: new SeededRandom(newSeed('kills during exports')),
      exportsEach: 4,
      people: 100,
    });
    ({ service } = result);
    expect(result.violations).toEqual([]);
    expect(result.completed + result.aborted).toBe(4 * ROUNDS);
    const core = await openCore({
      config: loadConfig({ DATA_DIR: dataDir }),
      logger: pino({ level: 'silent' }),
      actor: { kind: 'operator', id: 'test' },
      applicationName: 'test',
    });
    try {
      const { rows } = await core.pool.query<{ stored: number; attempts: number }>(
        `select (select count(*)::int from ledger.export_files where state = 'STORED') as stored,
                  (select count(distinct attempt)::int from ledger.export_chunks) as attempts`,
      );
      expect(rows).toEqual([{ stored: result.completed, attempts: result.completed }]);
    } finally {
      await core.close();
    }
  } finally {
    await service.kill();
    await removeDataDir(dataDir);
  }
}, 900_000);
