import { sql } from 'kysely';
import { jsonArrayFrom, jsonBuildObject } from 'kysely/helpers/postgres';
import {
  present,
  type ListPage,
  type LiveReads,
  type PageRequest,
} from '../../src/projecting/following/live-reads.js';
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

/** Undefined members select nothing. Epoch milliseconds, inclusive. */
export interface ActivityFilter {
  readonly tenant: string | undefined;
  /** A name in lower case. */
  readonly by: string | undefined;
  readonly from: number | undefined;
  readonly to: number | undefined;
  /** Names, or first words, of the operations to show. */
  readonly operations: readonly string[];
  /** Hidden names, whatever their first word. */
  readonly except: readonly string[];
}

/** A larger total is not counted. */
export const ACTIVITY_COUNTED_MAX = 100_001;

interface ActivityPage {
  readonly total: number;
  readonly items: readonly { readonly item: ActivityRow; readonly isGone: boolean }[];
}

export class ActivityQueries {
  constructor(private readonly reads: LiveReads<{ readonly activity: ActivityRow }>) {}

  /** Names of these operators by keyed id; missing: erased or unknown. */
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

  /** Operations with a reason about people, the oldest first. */
  about(persons: readonly string[], operations: readonly string[]): Promise<ActivityRow[]> {
    return this.reads.all({
      name: 'activity_about',
      prepared: true,
      values: { persons: [...persons], operations: [...operations] },
      build: (rm, given, gone) =>
        rm
          .selectFrom('activity')
          .where('about', '=', sql<string>`any(${given.persons})`)
          .where('operation', '=', sql<string>`any(${given.operations})`)
          .where((row) => row.not(gone.is(row.ref('about'))))
          .orderBy('at')
          .orderBy('event_id')
          .select(({ fn }) => fn.toJson('activity').as('json')),
    });
  }

  /** Newest first, ties by id. The total is counted up to `ACTIVITY_COUNTED_MAX`. */
  // eslint-disable-next-line max-lines-per-function -- one statement
  async page(
    filter: ActivityFilter,
    { limit, offset }: PageRequest,
  ): Promise<ListPage<ActivityRow>> {
    const found = await this.reads.first({
      name: 'activity_page',
      prepared: false,
      slowOf: filter.tenant ?? '',
      values: {
        ...filter,
        operations: [...filter.operations],
        except: [...filter.except],
        limit,
        offset,
      },
      build: (rm, given, gone) =>
        rm.selectNoFrom((eb) => {
          const matching = eb
            .selectFrom('activity')
            .where((row) =>
              row.and(
                present([
                  given.tenant && row('tenant', '=', given.tenant),
                  given.by && row(sql`lower(trim(name))`, '=', given.by),
                  given.from && row('at', '>=', given.from),
                  given.to && row('at', '<=', given.to),
                  row.or([
                    row('operation', '=', sql<string>`any(${given.operations})`),
                    row(sql`split_part(operation, ' ', 1)`, '=', sql`any(${given.operations})`),
                  ]),
                  row('operation', '<>', sql<string>`all(${given.except})`),
                ]),
              ),
            );
          const counted = matching.select('event_id').limit(ACTIVITY_COUNTED_MAX).as('counted');
          const page = matching
            .selectAll()
            .orderBy('at', 'desc')
            .orderBy('event_id')
            .limit(given.limit)
            .offset(given.offset);
          return jsonBuildObject({
            total: eb
              .selectFrom(counted)
              .select(({ fn }) => fn.countAll<number>().as('total'))
              .$asScalar(),
            items: jsonArrayFrom(
              eb
                .selectFrom(page.as('p'))
                .select((row) => [
                  row.fn.toJson('p').as('item'),
                  gone.is(row.ref('p.about')).as('isGone'),
                ])
                .orderBy('p.at', 'desc')
                .orderBy('p.event_id'),
            ),
          })
            .$castTo<ActivityPage>()
            .as('json');
        }),
    });
    return {
      totalCount: found?.total ?? 0,
      items: (found?.items ?? []).map(({ item, isGone }) =>
        isGone ? { ...item, reason: null } : item,
      ),
    };
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
