import { randomUUID } from 'node:crypto';
import { RecordedRuns } from '../../src/runs/recorded-runs.js';
import { RunFiles } from '../../src/runs/run-files.js';
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

test('an upload stays until its run is recorded as done, and then goes', async () => {
  const { id, upload } = await begun();
  await files().removeUnbegun(upload);
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
  await files().removeUnbegun(upload);
  expect(await files().has(upload)).toBe(false);
});
