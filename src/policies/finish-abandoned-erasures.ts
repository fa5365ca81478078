import { timeNow } from '../foundation/world.js';
import type { Policy } from '../reacting/policy.js';

/** Requests carry out their erasure; later than this, a crash left it unfinished. */
const LOOK_AFTER_MS = 10_000;

export const finishAbandonedErasures: Policy = {
  name: 'finish-abandoned-erasures',
  handles: new Set(['ErasureRequested']),
  react: ({ event, tenant, mode, accountRef: account, recordedAt }) => {
    if (event.type !== 'ErasureRequested') return [];
    const { erasureId } = event;
    return [
      {
        kind: 'job',
        task: 'finish-erasure',
        payload: { tenant, mode, account, erasureId },
        runAt: Math.min(recordedAt, timeNow()) + LOOK_AFTER_MS,
        key: `finish-erasure/${erasureId}`,
      },
    ];
  },
};
