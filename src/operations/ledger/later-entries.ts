import type { Core } from '../../stores/core.js';
import type { Scope } from '../../domain/scope.js';
import type { RecordedEvent } from '../../event-log/event-log.js';
import { timeNow } from '../../foundation/world.js';
import { fetchRow, tables } from '../../postgres/statements.js';
import { POSTED } from './ledger-entries.js';
import { NotDone } from '../outcome.js';
import { DAY_MS, parsePeriod } from './ledger-selection.js';

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

type AheadReads = Pick<Core, 'pool' | 'log'>;

/**
 * Every entry of the log; none without an accepted clock and with a newest entry that is not ahead.
 * Nothing is decoded.
 */
export async function* entriesIfAhead(
  { pool, log }: AheadReads,
  now: number,
): AsyncIterable<RecordedEvent> {
  const accepted = tables.selectFrom('ledger.clock_acceptances').select('log_id').limit(1);
  const { head, recordedAt = 0 } = await log.check();
  if (recordedAt <= now && (await fetchRow(pool, accepted)) === undefined) return;
  for (let page = await log.readAll(undefined, PAGE); page.length > 0;) {
    yield* page;
    const at = page.at(-1)?.position;
    if (log.compare(at, head) >= 0) return;
    page = await log.readAll(at, PAGE);
  }
}

/** `LaterEntries` of a tenant and mode. @param end epoch milliseconds. */
export async function entriesAfter(
  core: AheadReads & Pick<Core, 'names'>,
  scope: Scope,
  end: number,
): Promise<number> {
  const now = timeNow();
  const prefix = core.names.accountStream(scope, '');
  const later = new LaterEntries(end, now);
  for await (const event of entriesIfAhead(core, now))
    later.add(event, POSTED.has(event.type) && event.stream.startsWith(prefix));
  return later.count;
}

/** @param day `YYYY-MM-DD`, in UTC; today: up to now. */
export const entriesAfterDay = (
  core: AheadReads & Pick<Core, 'names'>,
  scope: Scope,
  day: string,
): Promise<number> => entriesAfter(core, scope, Math.min(Date.parse(day) + DAY_MS - 1, timeNow()));

/** @param period `YYYY-MM`, in UTC. */
export async function entriesAfterPeriod(
  core: AheadReads & Pick<Core, 'names'>,
  scope: Scope,
  period: string,
): Promise<number> {
  const parsed = parsePeriod(period);
  return parsed instanceof NotDone ? 0 : entriesAfter(core, scope, parsed.to);
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
