import { createHash } from 'node:crypto';
import { writeExportFile, type ExportRun } from '../../src/exports/write-export-file.js';
import {
  accountOpened,
  anAccount,
  credit,
  partyOf,
  rewardGranted,
} from '../support/account-events.js';
import { ProjectedLedger } from '../support/projected-ledger.js';

const scope = { tenant: 'demo', mode: 'live' } as const;

test('an export of rewards is the state at its position', async () => {
  const projected = await ProjectedLedger.open();
  try {
    const runner = projected.startRunner();
    const acme = anAccount('acme');
    await projected.given(
      acme,
      accountOpened(acme),
      rewardGranted('r-1', partyOf(acme, 'ann'), credit(500)),
    );
    const written: Buffer[] = [];
    const progress: (readonly [number, number])[] = [];
    const run: ExportRun = {
      notBefore: await projected.log.head(),
      sink: { write: async (chunk) => void written.push(chunk) },
      progress: (...counted) => progress.push(counted),
      signal: new AbortController().signal,
    };
    const parts = {
      pool: projected.pool,
      log: projected.log,
      generations: projected.generations,
      waitFor: runner.waitFor.bind(runner),
    };
    const order = { scope, type: 'REWARD', format: 'CSV', filters: {} } as const;
    const result = await writeExportFile(parts, order, run);
    const file = Buffer.concat(written);
    expect(file.toString()).toMatch(
      /^id,type,userId,accountId,unit,amount,rewardSource,dateGiven,dateExpires,dateCancelled\n[^\n,]+,CREDIT,ann,acme,CENTS,500,[A-Z_]+,\d+,,\n$/,
    );
    expect(result).toEqual({
      position: await projected.log.head(),
      rows: 1,
      bytes: file.length,
      sha256: createHash('sha256').update(file).digest('hex'),
    });
    expect(progress.at(-1)).toEqual([1, 1]);
  } finally {
    await projected.close();
  }
});
