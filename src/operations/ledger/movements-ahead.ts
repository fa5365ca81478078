import { RollForwardSums, type RollForward } from '../../bookkeeping/roll-forward.js';
import type { Core } from '../../stores/core.js';
import type { Scope } from '../../domain/scope.js';
import { POSTED } from './ledger-entries.js';
import { entriesIfAhead } from './later-entries.js';
import { postAccount, readAccount } from './ledger-reconciliation.js';

/**
 * What entries ahead of the clock moved on the present day, by unit. The read models have days, not
 * times: a statement up to now takes these movements out of them.
 * @param span in epoch milliseconds; the end is that of the day that has `now`.
 */
export async function movementsAhead(
  core: Pick<Core, 'pool' | 'log' | 'codec' | 'names'>,
  scope: Scope,
  { now, end }: { readonly now: number; readonly end: number },
): Promise<readonly RollForward[]> {
  const prefix = core.names.accountStream(scope, '');
  const streams = new Set<string>();
  for await (const { type, stream, recordedAt } of entriesIfAhead(core, now))
    if (recordedAt > now && recordedAt <= end && POSTED.has(type) && stream.startsWith(prefix))
      streams.add(stream);
  const sums = new RollForwardSums();
  for (const stream of streams) {
    const { decoded } = await readAccount(core, stream);
    postAccount(decoded, { from: now + 1, to: end, clock: now }, (posting, unit, isAhead) => {
      if (isAhead) sums.addPosting(posting, unit, true);
    });
  }
  return sums.result().units;
}
