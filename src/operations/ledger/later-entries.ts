import type { Core } from '../../core/core.js';
import type { Scope } from '../../domain/scope.js';
import { msAhead } from '../../event-log/clock.js';
import { timeNow } from '../../foundation/world.js';
import { fetchRow, tables } from '../../postgres/statements.js';
import { LaterEntries } from './entries-after-end.js';
import { POSTED } from './ledger-entries.js';
import { NotDone } from '../outcome.js';
import { DAY_MS, parsePeriod } from './ledger-selection.js';

const PAGE = 5_000;

/**
 * `LaterEntries` of a tenant and mode. Without an accepted clock, and with a newest entry that is
 * not ahead, there are none; otherwise the log is read, and nothing is decoded.
 * @param end epoch milliseconds.
 */
export async function entriesAfter(
  { pool, log, names }: Pick<Core, 'pool' | 'log' | 'names'>,
  scope: Scope,
  end: number,
): Promise<number> {
  const accepted = tables.selectFrom('ledger.clock_acceptances').select('log_id').limit(1);
  const newest = await log.check();
  if (msAhead(newest) === 0 && (await fetchRow(pool, accepted)) === undefined) return 0;
  const prefix = names.accountStream(scope, '');
  const later = new LaterEntries(end, timeNow());
  for (let page = await log.readAll(undefined, PAGE); page.length > 0;) {
    for (const event of page)
      later.add(event, POSTED.has(event.type) && event.stream.startsWith(prefix));
    const at = page.at(-1)?.position;
    if (log.compare(at, newest.head) >= 0) break;
    page = await log.readAll(at, PAGE);
  }
  return later.count;
}

/** @param day `YYYY-MM-DD`, in UTC. */
export const entriesAfterDay = (
  core: Pick<Core, 'pool' | 'log' | 'names'>,
  scope: Scope,
  day: string,
): Promise<number> => entriesAfter(core, scope, Date.parse(day) + DAY_MS - 1);

/** @param period `YYYY-MM`, in UTC. */
export async function entriesAfterPeriod(
  core: Pick<Core, 'pool' | 'log' | 'names'>,
  scope: Scope,
  period: string,
): Promise<number> {
  const parsed = parsePeriod(period);
  return parsed instanceof NotDone ? 0 : entriesAfter(core, scope, parsed.to);
}

/** A note for people; undefined: nothing to note. It is in no document and in no digest. */
export function laterText(entries: number, figures: 'statement' | 'month'): string | undefined {
  if (entries === 0) return undefined;
  return entries === 1
    ? `1 entry of the log counts after the end of the ${figures} and is not in it`
    : `${entries} entries of the log count after the end of the ${figures} and are not in it`;
}
