import { timeNow } from '../foundation/world.js';
import type { Policy } from '../reacting/policy.js';

/** Requests carry out their moderation; later than this, a crash left it unfinished. */
const LOOK_AFTER_MS = 10_000;

export const finishAbandonedModerations: Policy = {
  name: 'finish-abandoned-moderations',
  handles: new Set(['ModerationRequested']),
  react: ({ event, tenant, mode, recordedAt }) => {
    if (event.type !== 'ModerationRequested') return [];
    const { moderationId } = event;
    const payload = { tenant, mode, moderationId };
    return [
      {
        kind: 'job',
        task: 'finish-moderation',
        payload,
        runAt: Math.min(recordedAt, timeNow()) + LOOK_AFTER_MS,
        key: `finish-moderation/${tenant}/${mode}/${moderationId}`,
      },
    ];
  },
};
