import { sql } from 'kysely';
import type { Pool } from 'pg';
import { modeOf, type Scope } from '../../domain/scope.js';
import { fetchRows } from '../../postgres/statements.js';
import { notDone } from '../outcome.js';
import type { OperationContext } from './context.js';

/** The shortest prefix that stands for an id. */
const PREFIX_MIN = 8;

/**
 * The id that an operator means: on the command line, the one with this prefix. A complete id takes
 * precedence, and over HTTP no id is shortened.
 * @param idsFrom at least two ids with a prefix, and the complete id if there is one.
 * @returns what was given when no id has the prefix.
 */
export async function fullId(
  { by }: Pick<OperationContext, 'by'>,
  given: string,
  idsFrom: (prefix: string) => Promise<readonly string[]>,
): Promise<string> {
  if (by.channel !== 'cli' || given.length < PREFIX_MIN) return given;
  const ids = await idsFrom(given);
  const [first = given, second] = ids;
  if (second === undefined) return first;
  if (ids.includes(given)) return given;
  throw notDone(`${JSON.stringify(given.slice(0, 80))} begins ${ids.length} ids: write more of it`);
}

/** The ids with a prefix among the rows of a tenant and mode. */
export const idsOf =
  (
    pool: Pool,
    table: 'ledger.webhook_deliveries' | 'ledger.mail_deliveries',
    { tenant, mode }: Scope,
  ) =>
  async (prefix: string): Promise<readonly string[]> => {
    // Deliveries belong to endpoints, which stay when test data are removed.
    const of = table === 'ledger.webhook_deliveries' ? modeOf(mode) : mode;
    const rows = await fetchRows(
      pool,
      sql<{ id: string }>`
        select id::text as id from ${sql.table(table)}
        where tenant = ${tenant} and mode = ${of} and starts_with(id::text, ${prefix})`,
    );
    return rows.map(({ id }) => id);
  };
