import { PeriodPostings } from '../../bookkeeping/period-postings.js';
import { RollForwardSums, type RollForward } from '../../bookkeeping/roll-forward.js';
import type { Core } from '../../stores/core.js';
import type { Scope } from '../../domain/scope.js';
import { pages } from '../../event-log/event-pages.js';
import { decodeTypes, entryOf, POSTED } from './ledger-entries.js';
import { entriesIfAhead } from './later-entries.js';

export interface AheadSpan {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Of the day that has `now`. */
  readonly end: number;
}

/**
 * What entries ahead of the clock moved on the present day, by unit. The read models have days, not
 * times: a statement up to now takes these movements out of them.
 */
export async function movementsAhead(
  core: Pick<Core, 'pool' | 'log' | 'codec' | 'names'>,
  scope: Scope,
  { now, end }: AheadSpan,
): Promise<readonly RollForward[]> {
  const prefix = core.names.accountStream(scope, '');
  const streams = new Set<string>();
  for await (const { type, stream, recordedAt } of entriesIfAhead(core, now))
    if (recordedAt > now && recordedAt <= end && POSTED.has(type) && stream.startsWith(prefix))
      streams.add(stream);
  const sums = new RollForwardSums();
  for (const stream of streams) await addMovements(core, stream, { now, end }, sums);
  return sums.result().units;
}

async function addMovements(
  { log, codec }: Pick<Core, 'log' | 'codec'>,
  stream: string,
  { now, end }: AheadSpan,
  sums: RollForwardSums,
): Promise<void> {
  const period = new PeriodPostings({ from: now + 1, to: end, clock: now }, (made, isAhead) => {
    for (const posting of isAhead ? made : []) {
      const unit = period.postings.units.get(posting.unitKey) ?? posting.unitKey;
      sums.addPosting(posting, unit, true);
    }
  });
  for await (const page of pages(log.readStream(stream)))
    for (const decoded of await decodeTypes(codec, page, POSTED)) period.post(entryOf(decoded));
  period.end();
}
