import type { Policy } from '../reacting/policy.js';

/** What waits for a date of the test mode is due as soon as the test clock has reached the date. */
export const moveWorkWithTheTestClock: Policy = {
  name: 'move-work-with-the-test-clock',
  handles: new Set(['TestClockMoved']),
  react: ({ event }) => (event.type === 'TestClockMoved' ? [{ kind: 'test-clock' }] : []),
};
