import { LOCKS, LOCK_CLASSES } from '../../src/postgres/locks.js';

test('No two advisory locks share a key.', () => {
  for (const keys of [Object.values(LOCKS), Object.values(LOCK_CLASSES)])
    expect(new Set<unknown>(keys).size).toBe(keys.length);
});
