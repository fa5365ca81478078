import type { Core } from '../../stores/core.js';
import { SESSION_OPERATIONS } from '../activity/activity-kinds.js';
import { recordOperation } from '../audit.js';

/**
 * Records that an operator signed in to the console, or out of it. A session belongs to no tenant;
 * the log keeps its record with the operations of the oldest tenant. Without a tenant there is
 * nothing to see, and nothing is recorded.
 */
export async function recordSession(
  core: Pick<Core, 'commands' | 'names' | 'tenantCommands'>,
  operator: string,
  step: 'signedIn' | 'signedOut',
): Promise<void> {
  const [first] = await core.tenantCommands.list();
  if (first === undefined) return;
  await recordOperation(
    core,
    { tenant: first.alias, mode: 'live' },
    {
      operation: SESSION_OPERATIONS[step],
      by: { name: operator, channel: 'console' },
      parameters: {},
      result: step,
    },
  );
}
