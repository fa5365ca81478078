import { sql, type RawBuilder } from 'kysely';
import type { Scope } from '../domain/scope.js';
import { fetchRow, fetchRows, type Connection } from '../postgres/statements.js';

export interface DeliveryFilter {
  readonly type?: string | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

export type DeliverySort = 'created' | 'type' | 'state' | 'attempts';

export interface DeliveryPage {
  readonly limit: number;
  readonly offset?: number;
  readonly sort?: DeliverySort;
  /** False: ascending. */
  readonly descending?: boolean;
}

export interface ListedDelivery {
  readonly id: string;
  readonly type: string;
  readonly attempts: number;
  readonly created: Date;
  /** Shown of a pending delivery. */
  readonly nextAttemptAt: Date | null;
}

interface DeliveryTable<F> {
  readonly table: 'ledger.mail_deliveries' | 'ledger.webhook_deliveries';
  /** Of its work items. */
  readonly kind: string;
  /** SQL of the columns that only this table has. */
  readonly columns: RawBuilder<unknown>;
  /** SQL of the time of a work item's next attempt. */
  readonly dueAt: RawBuilder<unknown>;
  /** Undefined: of a value that is not given. */
  conditions(scope: Scope, filter: F): readonly (RawBuilder<unknown> | undefined)[];
}

/** Webhooks or mails as operators list them. */
export class ListedDeliveries<F extends DeliveryFilter, R extends ListedDelivery> {
  constructor(private readonly of: DeliveryTable<F>) {}

  /** Newest first by default. */
  list(db: Connection, scope: Scope, asked: F & DeliveryPage): Promise<readonly R[]> {
    const { limit, offset = 0, sort = 'created', descending = true } = asked;
    const direction = descending ? sql`desc` : sql`asc`;
    return fetchRows(
      db,
      sql<R>`
        select id, type, attempts, created, ${this.of.columns}, (
          select ${this.of.dueAt} from ledger.work_items
          where kind = ${this.of.kind} and work_items.id = d.id::text
        ) as "nextAttemptAt"
        ${this.matching(scope, asked)}
        order by ${sql.ref(`d.${sort}`)} ${direction}, d.created desc, d.id
        limit ${limit} offset ${offset}`,
    );
  }

  /** Counted up to `countedMax` + 1. */
  async count(db: Connection, scope: Scope, filter: F, countedMax: number): Promise<number> {
    const some = sql`select ${this.matching(scope, filter)} limit ${countedMax + 1}`;
    const counted = sql<{ n: number }>`select count(*)::integer as n from (${some}) as listed`;
    return (await fetchRow(db, counted))?.n ?? 0;
  }

  private matching(scope: Scope, filter: F): RawBuilder<unknown> {
    const { type, since, until } = filter;
    const conditions = [
      type === undefined ? undefined : sql`type = ${type}`,
      since && sql`created >= ${since}`,
      until && sql`created <= ${until}`,
      ...this.of.conditions(scope, filter),
    ].filter((condition) => condition !== undefined);
    return sql`from ${sql.table(this.of.table)} d where ${sql.join(conditions, sql` and `)}`;
  }
}
