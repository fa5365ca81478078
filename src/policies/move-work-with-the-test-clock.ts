import type { Policy } from '../reacting/policy.js';

/** Dated work follows the test clock; removed test data takes unsent work along. */
export const moveWorkWithTheTestClock: Policy = {
  name: 'move-work-with-the-test-clock',
  handles: new Set(['TestClockMoved', 'TestDataRemoved']),
  react: ({ event }) => {
    if (event.type === 'TestClockMoved') return [{ kind: 'test-clock' }];
    if (event.type !== 'TestDataRemoved') return [];
    return [{ kind: 'test-data', since: event.at, ledger: event.ledger }];
  },
};
