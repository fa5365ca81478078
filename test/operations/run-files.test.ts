import { randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import type { LedgerMode } from '../../src/domain/scope.js';
import { forgetInRuns, RecordedRuns } from '../../src/runs/recorded-runs.js';
import { RunFiles, type RunFile } from '../../src/runs/run-files.js';
import { eventually } from '../support/embedded.js';
import { useSharedService } from '../support/running-service.js';

const running = useSharedService();
const SCOPE = { tenant: 'acme', mode: 'live' } as const;

const files = (): RunFiles => {
  const { pool, answerSealer } = running.service.service.core;
  return new RunFiles(pool, answerSealer);
};
const runsOf = (owner: number): RecordedRuns => {
  const { pool, answerSealer } = running.service.service.core;
  return new RecordedRuns(pool, answerSealer, owner);
};

async function* pieces(...texts: readonly string[]) {
  for (const text of texts) yield await Promise.resolve(Buffer.from(text));
}

async function begun(owner = 1) {
  const id = randomUUID();
  const upload = { run: id, kind: 'upload' } as const;
  await files().store(upload, SCOPE, pieces('id\n'));
  const run = { id, operation: 'import users', by: id, scope: SCOPE, parameters: {} };
  expect(await runsOf(owner).begin(run)).toBe(true);
  return { id, upload };
}

test('an upload is deleted when its run is recorded as done', async () => {
  const { id, upload } = await begun();
  await files().removeUnused(upload);
  await runsOf(1).end(id, { error: 'the database was away' }, null);
  expect(await files().has(upload)).toBe(true);
  expect(await runsOf(2).resume(id)).toBe(true);
  await runsOf(1).end(id, { result: {} }, null);
  expect(await files().has(upload)).toBe(true);
  await runsOf(2).end(id, { result: {} }, null);
  expect(await files().has(upload)).toBe(false);
});

test('an upload of a run that did not begin is removed', async () => {
  const upload = { run: randomUUID(), kind: 'upload' } as const;
  await files().store(upload, SCOPE, pieces('id\n'));
  await files().removeUnused(upload);
  expect(await files().has(upload)).toBe(false);
});

test.each<[string, number | undefined, readonly LedgerMode[]]>([
  ['an erasure deletes the files of every ledger of its mode', undefined, ['live']],
  ['a removal of test data deletes those of earlier ledgers', 2, ['live', 'test-2']],
])('%s', async (_, before, kept) => {
  const tenant = `t${randomUUID()}`;
  const stored = new Map<LedgerMode, RunFile>();
  for (const mode of ['live', 'test', 'test-1', 'test-2'] as const) {
    const upload = { run: randomUUID(), kind: 'upload' } as const;
    await files().store(upload, { tenant, mode }, pieces('id\n'));
    stored.set(mode, upload);
  }
  const { pool } = running.service.service.core;
  await forgetInRuns(pool, { tenant, mode: 'test-2' }, before);
  const left: LedgerMode[] = [];
  for (const [mode, file] of stored) if (await files().has(file)) left.push(mode);
  expect(left).toEqual(kept);
});

test('a process that was taken for dead stops its run, and spoils no file of its continuation', async () => {
  const { id, upload } = await begun();
  const rejected = { run: id, kind: 'rejected' } as const;
  const early = new PassThrough();
  const gone = expect(files().store(rejected, SCOPE, early)).rejects.toThrow('no longer kept');
  early.write(Buffer.alloc(256 * 1024, 'old '));
  const { pool } = running.service.service.core;
  await eventually(async () => {
    const chunks = `select 1 from ledger.run_file_chunks where run = $1 and kind = 'rejected'`;
    return (await pool.query(chunks, [id])).rows.length === 1;
  });
  const reports = [{ id, progress: null }];
  expect(await runsOf(1).report(reports)).toEqual([]);
  await pool.query(`update ledger.operation_runs set state = 'abandoned' where id = $1`, [id]);
  expect(await runsOf(2).resume(id)).toBe(true);
  await files().store(rejected, SCOPE, pieces('new'));
  early.end('old');
  await gone;
  const read: Buffer[] = [];
  for await (const chunk of files().read(rejected)) read.push(chunk);
  expect(Buffer.concat(read).toString()).toBe('new');
  expect(await runsOf(1).report(reports)).toEqual([id]);
  expect(await runsOf(2).report(reports)).toEqual([]);
  expect(await files().has(upload)).toBe(true);
});
