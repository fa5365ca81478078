import { sql } from 'kysely';
import { present, type LiveReads } from '../../src/projecting/following/live-reads.js';
import type { ActivityRow } from './table.js';

/** Undefined members select nothing. */
export interface ActivitySelection {
  readonly tenant: string | undefined;
  /** A name in lower case. */
  readonly by: string | undefined;
  /** Epoch milliseconds, inclusive. */
  readonly since: number | undefined;
  readonly limit: number;
}

export class ActivityQueries {
  constructor(private readonly reads: LiveReads<{ readonly activity: ActivityRow }>) {}

  /** The names of these operators, by the keyed id; a missing one is erased or unknown. */
  async namesOf(staff: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const found = await this.reads.all({
      name: 'names_of_staff',
      prepared: false,
      values: { staff: [...staff] },
      build: (rm, given) =>
        rm
          .selectFrom('activity')
          .distinctOn('staff')
          .where('staff', '=', sql<string>`any(${given.staff})`)
          .where('name', 'is not', null)
          .orderBy('staff')
          .select(({ fn }) => fn.toJson('activity').as('json')),
    });
    return new Map(found.flatMap(({ staff: id, name }) => (name === null ? [] : [[id, name]])));
  }

  /** Newest first, ties by id. */
  list(selection: ActivitySelection): Promise<ActivityRow[]> {
    return this.reads.all({
      name: 'activity',
      prepared: false,
      values: { ...selection },
      build: (rm, given) =>
        rm
          .selectFrom('activity')
          .where((eb) =>
            eb.and(
              present([
                given.tenant && eb('tenant', '=', given.tenant),
                given.by && eb(sql`lower(trim(name))`, '=', given.by),
                given.since && eb('at', '>=', given.since),
              ]),
            ),
          )
          .orderBy('at', 'desc')
          .orderBy('event_id')
          .limit(given.limit)
          .select(({ fn }) => fn.toJson('activity').as('json')),
    });
  }
}
