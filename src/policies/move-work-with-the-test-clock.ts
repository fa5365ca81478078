import type { Policy } from '../reacting/policy.js';

/**
 * What waits for a date of the test mode is due as soon as the test clock has reached the date;
 * what waits to be sent of removed test data goes with them.
 */
export const moveWorkWithTheTestClock: Policy = {
  name: 'move-work-with-the-test-clock',
  handles: new Set(['TestClockMoved', 'TestDataRemoved']),
  react: ({ event }) => {
    if (event.type === 'TestClockMoved') return [{ kind: 'test-clock' }];
    if (event.type !== 'TestDataRemoved') return [];
    return [{ kind: 'test-data', since: event.at, ledger: event.ledger }];
  },
};
