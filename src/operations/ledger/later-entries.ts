import { RollForwardSums, type RollForward } from '../../bookkeeping/roll-forward.js';
import type { Core } from '../../stores/core.js';
import type { Scope } from '../../domain/scope.js';
import type { RecordedEvent } from '../../event-log/event-log.js';
import { logPages } from '../../event-log/event-pages.js';
import { fetchRow, tables } from '../../postgres/statements.js';
import type { ScopedContext } from '../registry/context.js';
import { POSTED } from './ledger-entries.js';
import { postAccount, readAccount } from './ledger-reconciliation.js';
import { DAY, DAY_MS, parsePeriod } from './ledger-selection.js';

const PAGE = 5_000;

/**
 * Counts the entries that one expects within figures and that count after their end: they are ahead
 * of the clock, or an entry within the figures follows them in the log. Entries that were simply
 * recorded later are not among them.
 */
export class LaterEntries {
  private certain = 0;
  private pending = 0;

  /** @param end of the figures. Both in epoch milliseconds. */
  constructor(
    private readonly end: number,
    private readonly now: number,
  ) {}

  get count(): number {
    return this.certain;
  }

  /** The next entry of the log. @param counts whether it belongs to the figures. */
  add({ recordedAt }: Pick<RecordedEvent, 'recordedAt'>, counts: boolean): void {
    if (recordedAt <= this.end) {
      this.certain += this.pending;
      this.pending = 0;
    } else if (counts && recordedAt > this.now) this.certain += 1;
    else if (counts) this.pending += 1;
  }
}

type AheadReads = Pick<Core, 'pool' | 'log' | 'names'>;

/**
 * Every entry of the log; none without an accepted clock and with a newest entry that is not ahead.
 * Nothing is decoded.
 * @returns as well whether the entry moves credit in this tenant and mode.
 */
async function* entriesIfAhead(
  { pool, log, names }: AheadReads,
  scope: Scope,
  now: number,
): AsyncGenerator<readonly [RecordedEvent, counts: boolean]> {
  const accepted = tables.selectFrom('ledger.clock_acceptances').select('log_id').limit(1);
  const { head, recordedAt = 0 } = await log.check();
  if (recordedAt <= now && (await fetchRow(pool, accepted)) === undefined) return;
  const prefix = names.accountStream(scope, '');
  for await (const page of logPages(log, { upTo: head, limit: PAGE }))
    for (const event of page)
      yield [event, POSTED.has(event.type) && event.stream.startsWith(prefix)];
}

/**
 * `LaterEntries` of a tenant and mode.
 * @param span a month, `YYYY-MM`, or all days up to one, `YYYY-MM-DD`, in UTC; today: up to now.
 */
export async function entriesAfter(
  core: AheadReads & Pick<Core, 'tenants'>,
  scope: Scope,
  span: string,
): Promise<number> {
  const now = await core.tenants.now(scope);
  const end = DAY.test(span)
    ? { to: Math.min(Date.parse(span) + DAY_MS - 1, now) }
    : parsePeriod(span);
  const later = new LaterEntries(end.to, now);
  for await (const [event, counts] of entriesIfAhead(core, scope, now)) later.add(event, counts);
  return later.count;
}

/**
 * What entries ahead of the clock moved on the present day, by unit. The read models have days, not
 * times: a statement up to now takes these movements out of them.
 * @param span in epoch milliseconds; the end is that of the day that has `now`.
 */
export async function movementsAhead(
  core: AheadReads & Pick<Core, 'codec'>,
  scope: Scope,
  { now, end }: { readonly now: number; readonly end: number },
): Promise<readonly RollForward[]> {
  const streams = new Set<string>();
  for await (const [{ stream, recordedAt }, counts] of entriesIfAhead(core, scope, now))
    if (counts && recordedAt > now && recordedAt <= end) streams.add(stream);
  const sums = new RollForwardSums();
  for (const stream of streams) {
    const { decoded } = await readAccount(core, stream);
    postAccount(decoded, { from: now + 1, to: end, clock: now }, (posting, unit, isAhead) => {
      if (isAhead) sums.addPosting(posting, unit, true);
    });
  }
  return sums.result().units;
}

/**
 * A note next to the figures of the command line; requests over HTTP have none.
 * @param later the number of entries, or what they count after.
 */
export async function noteLater(
  { by, note, core, scope }: ScopedContext,
  figures: 'statement' | 'month',
  later: number | string,
): Promise<void> {
  if (by.channel !== 'cli') return;
  const entries = typeof later === 'number' ? later : await entriesAfter(core, scope, later);
  const line = laterText(entries, figures);
  if (line !== undefined) note(line);
}

/** A note for people; undefined: nothing to note. It is in no document and in no digest. */
export function laterText(
  entries: number,
  figures: 'statement' | 'month' | 'moment',
): string | undefined {
  if (entries === 0) return undefined;
  const counts =
    entries === 1 ? '1 entry of the log counts' : `${entries} entries of the log count`;
  const is = entries === 1 ? 'is' : 'are';
  return figures === 'moment'
    ? `${counts} after this moment and ${is} in no statement up to it`
    : `${counts} after the end of the ${figures} and ${is} not in it`;
}
