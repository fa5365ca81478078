import type { Core } from '../../stores/core.js';
import { retryParkedReactions } from '../../operations/policies/policy-commands.js';
import type { OperationRuns, Run } from './operation-runs.js';

/**
 * Retries parked reactions: one, or all. Undefined: too many runs are not over yet.
 * @throws DatabaseUnavailable
 */
export const startPolicyRetry = (
  runs: OperationRuns,
  core: Core,
  by: string,
  id: string | undefined,
): Promise<Run | undefined> =>
  runs.start({ operation: 'policy retry', by, parameters: { id } }, ({ signal, onProgress }) =>
    retryParkedReactions(core, id, {
      signal,
      onProgress: (retried) => onProgress('retrying', retried),
    }),
  );
