import { jsonArrayFrom, jsonBuildObject } from 'kysely/helpers/postgres';
import type { Scope } from '../../src/domain/scope.js';
import {
  isDeepPage,
  type ListPage,
  type LiveReads,
  type PageRequest,
} from '../../src/projecting/following/live-reads.js';
import type { ExportRow } from './table.js';

interface Tables {
  readonly exports: ExportRow;
}

export class ExportQueries {
  constructor(private readonly reads: LiveReads<Tables>) {}

  /** Newest first, ties by id. */
  async list({ tenant, mode }: Scope, page: PageRequest): Promise<ListPage<ExportRow>> {
    const found = await this.reads.first({
      name: 'exports',
      prepared: true,
      slowOf: isDeepPage(page) ? tenant : undefined,
      values: { tenant, mode, limit: page.limit, offset: page.offset },
      build: (rm, given) =>
        rm.selectNoFrom((eb) =>
          jsonBuildObject({
            totalCount: eb
              .selectFrom('exports')
              .where('tenant', '=', given.tenant)
              .where('mode', '=', given.mode)
              .select((counted) => counted.fn.countAll<number>().as('count'))
              .$asScalar(),
            items: jsonArrayFrom(
              eb
                .selectFrom('exports')
                .selectAll()
                .where('tenant', '=', given.tenant)
                .where('mode', '=', given.mode)
                .orderBy('date_created', 'desc')
                .orderBy('export_id')
                .limit(given.limit)
                .offset(given.offset),
            ),
          }).as('json'),
        ),
    });
    return { totalCount: found?.totalCount ?? 0, items: found?.items ?? [] };
  }

  /** Those with this status, of all tenants, in the order of their ids. @param after an id. */
  notOver(status: 'PENDING' | 'COMPLETED', after: string, limit: number): Promise<ExportRow[]> {
    return this.reads.all({
      name: `exports_${status}`,
      prepared: true,
      values: { status, after, limit },
      build: (rm, given) =>
        rm
          .selectFrom('exports')
          .where('status', '=', given.status)
          .where('export_id', '>', given.after)
          .orderBy('export_id')
          .limit(given.limit)
          .select(({ fn }) => fn.toJson('exports').as('json')),
    });
  }
}
