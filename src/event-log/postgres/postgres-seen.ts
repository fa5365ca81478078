import type { QueryArrayConfig } from 'pg';
import type { NewestSeen } from '../newest-seen.js';

const COUNT_HELD = `
  select count(*)::int from unnest($1::bigint[], $2::uuid[]) as seen (position, event_id) join ledger.events using (position, event_id)`;

type Ask = (query: QueryArrayConfig<unknown[]>) => Promise<readonly unknown[][]>;

/** How many of these events are at their positions. */
export async function countHeld(
  ask: Ask,
  events: readonly { readonly ordinal: bigint; readonly eventId: string }[],
): Promise<number> {
  const values = [events.map(({ ordinal }) => ordinal), events.map(({ eventId }) => eventId)];
  const [row] = await ask({
    name: 'ledger-count-held',
    text: COUNT_HELD,
    values,
    rowMode: 'array',
  });
  return Number(row?.[0] ?? 0);
}

/**
 * Compares the events seen since the last comparison with the log; a missing one means that the log
 * went back.
 */
export async function compareSeen(seen: NewestSeen, ask: Ask): Promise<void> {
  const { epoch, newest } = seen;
  if (newest === undefined) return;
  // Copied: more events are seen during the query.
  const recent = [...seen.recent];
  const held = await countHeld(ask, recent);
  if (held === recent.length) seen.confirm(newest, epoch);
  else seen.wentBack(newest, epoch);
}
