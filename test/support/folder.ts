import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** @returns the path of an empty folder, which is removed after the tests of the file. */
export function useFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-test-'));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
