import type { QueryArrayConfig } from 'pg';
import type { NewestSeen, Seen } from '../newest-seen.js';

const COUNT_HELD = `
  select count(*)::int from unnest($1::bigint[], $2::uuid[]) as seen (position, event_id) join ledger.events using (position, event_id)`;
/** One comparison covers all reasons within this time. */
const COMPARE_AGAIN_MS = 50;

type RunQuery = (query: QueryArrayConfig<unknown[]>) => Promise<readonly unknown[][]>;

/** How many of these events are at their positions. */
async function countPresent(
  ask: RunQuery,
  events: readonly Pick<Seen, 'ordinal' | 'eventId'>[],
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

/** Events seen since the last comparison; a missing one means that the log went back. */
export async function compareSeen(seen: NewestSeen, ask: RunQuery): Promise<void> {
  const { epoch, newest } = seen;
  if (newest === undefined) return;
  // Copied: more events are seen during the query.
  const recent = [...seen.recent];
  const held = await countPresent(ask, recent);
  if (held === recent.length) seen.confirm(newest, epoch);
  else seen.wentBack(newest, epoch);
}

/** Repeats the comparison when a position shows that the log may have gone back. */
export class SeenComparison {
  private scheduled: NodeJS.Timeout | undefined;

  constructor(
    private readonly seen: NewestSeen,
    private readonly ask: RunQuery,
    private readonly closing: AbortSignal,
  ) {}

  run(): Promise<void> {
    return compareSeen(this.seen, this.ask);
  }

  async holds(event: Pick<Seen, 'ordinal' | 'eventId'>): Promise<boolean> {
    return (await countPresent(this.ask, [event])) === 1;
  }

  appended(event: Seen, { isRepeated, epoch }: { isRepeated: boolean; epoch: number }): void {
    const { newest } = this.seen;
    // Mostly an overtaken answer; but a log that went back assigns positions again.
    if (!isRepeated && newest !== undefined && event.ordinal <= newest.ordinal) this.runSoon();
    this.seen.note(event.ordinal, event, epoch);
  }

  /** Another process appended. */
  onAppend(position: bigint): void {
    const { newest } = this.seen;
    if (newest !== undefined && position < newest.ordinal) this.runSoon();
  }

  private runSoon(): void {
    if (this.scheduled !== undefined || this.closing.aborted) return;
    this.scheduled = setTimeout(() => {
      this.scheduled = undefined;
      // An unavailable log is compared when it is back.
      this.run().catch(() => undefined);
    }, COMPARE_AGAIN_MS);
    this.scheduled.unref();
  }
}
