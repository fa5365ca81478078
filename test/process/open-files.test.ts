import { execFileSync } from 'node:child_process';
import { connectionsMax } from '../../src/process/open-files.js';

test('connections leave room for the files of the stores', async () => {
  const warned: object[] = [];
  const logger = { warn: (fields: object) => void warned.push(fields) };
  expect(await connectionsMax({ connectionsMax: 16 }, logger)).toBe(16);
  expect(warned).toEqual([]);
  const wanted = 1e12;
  const limit = execFileSync('/bin/sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim();
  const possible = limit === 'unlimited' ? wanted : Math.max(16, Number(limit) - 256);
  expect(await connectionsMax({ connectionsMax: wanted }, logger)).toBe(possible);
  expect(warned).toEqual(possible === wanted ? [] : [{ wanted, possible }]);
});
