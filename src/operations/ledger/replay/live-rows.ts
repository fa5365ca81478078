import type { PoolClient } from 'pg';
import { accountProjectors } from '../../../../projections/account-projectors.js';
import { accounts } from '../../../../projections/accounts/table.js';
import type { AccountRef, Scope } from '../../../domain/scope.js';
import { inChunks } from '../../../foundation/in-chunks.js';
import { accountOfId } from '../../../privacy/keyed-names.js';
import { liveCheckpoints, type Checkpoint } from '../../../projecting/checkpoints.js';
import { countUnfinishedErasures } from '../../../projecting/following/erasure-pieces.js';
import { placeOf } from '../../../projecting/generations/generations.js';
import { followedGenerations } from '../../../projecting/generations/live-generations.js';
import { quoted, schemaOf } from '../../../projecting/identifiers.js';
import type { ReadModelTable, Row } from '../../../projecting/projector.js';
import { notDone, readModelsBeingRebuilt } from '../../outcome.js';

/** The column by which a row says whose it is. */
export interface RowOwner {
  readonly column: string;
  /** An id that begins with its account's hash. */
  readonly isWithin?: boolean;
  readonly isPerson?: boolean;
}

const OWNERS: readonly RowOwner[] = [
  { column: 'account_ref' },
  { column: 'referred_account_ref' },
  { column: 'reward_id', isWithin: true },
  { column: 'person', isPerson: true },
];

/** Undefined: its rows are of several accounts, or of none. */
export const ownerOf = ({ columns }: ReadModelTable): RowOwner | undefined =>
  OWNERS.find(({ column }) => Object.hasOwn(columns, column));

/** The account that a row is of; undefined: unknown. */
export function accountOf(
  row: Row,
  { column, isWithin, isPerson }: RowOwner,
  accountsOfPersons: ReadonlyMap<string, AccountRef>,
): AccountRef | undefined {
  const name = row[column];
  if (typeof name !== 'string') return undefined;
  if (isWithin) return accountOfId(name);
  return isPerson ? accountsOfPersons.get(name) : name;
}

/** A table of a read model. */
export interface Place {
  readonly readModel: string;
  readonly table: ReadModelTable;
}

/** Rows that are read in one statement. */
const ROWS = 1_000;
/** Closed with the last of its rows. */
const CURSOR = 'replayed_rows';

/** The live read models in one snapshot, rows and checkpoints together; writers are not blocked. */
export class ReadModelSnapshot {
  private constructor(
    private readonly client: PoolClient,
    readonly checkpoints: ReadonlyMap<string, Checkpoint>,
  ) {}

  /** @param client in a transaction that sees one moment. */
  static async of(client: PoolClient): Promise<ReadModelSnapshot> {
    const live = await liveCheckpoints(client, accountProjectors);
    const checkpoints = new Map(live.map((checkpoint) => [checkpoint.projection, checkpoint]));
    if (accountProjectors.some(({ name }) => !checkpoints.has(name)))
      throw notDone('there are no read models yet: start the service once');
    const { complete, shown } = await followedGenerations(client, accountProjectors);
    if (!complete || !shown) throw readModelsBeingRebuilt();
    if ((await countUnfinishedErasures(client, live)) > 0)
      throw notDone(
        'forgotten people are still being removed from the read models: try again in a moment',
      );
    return new ReadModelSnapshot(client, checkpoints);
  }

  /** All rows of a tenant and mode, few at a time. */
  async *rowsOfScope(place: Place, { tenant, mode }: Scope): AsyncGenerator<readonly Row[]> {
    // A cursor takes no parameters.
    await this.client.query(
      `select set_config('replay.tenant', $1, true), set_config('replay.mode', $2, true)`,
      [tenant, mode],
    );
    await this.client.query(
      `declare ${CURSOR} no scroll cursor for select to_json(t) as "row" from ${this.nameOf(place)} t
       where tenant = current_setting('replay.tenant') and mode = current_setting('replay.mode')`,
    );
    for (let count = ROWS; count === ROWS;) {
      const rows = await this.found(`fetch forward ${ROWS} from ${CURSOR}`);
      count = rows.length;
      yield rows;
    }
    await this.client.query(`close ${CURSOR}`);
  }

  /** The rows whose owner has one of these names. */
  async *rowsOfOwners(
    place: Place,
    { column, isWithin }: RowOwner,
    names: readonly string[],
  ): AsyncGenerator<readonly Row[]> {
    const named = `t.${quoted(column)}`;
    const condition = isWithin
      ? `${named} >= o.name and ${named} < o.name || 'g'`
      : `${named} = o.name`;
    for (const some of inChunks(names, ROWS))
      yield this.found(
        `select to_json(t) as "row" from unnest($1::text[]) as o (name) join ${this.nameOf(place)} t on ${condition}`,
        [some],
      );
  }

  /** The rows that have the keys of these, in any tenant and mode. */
  async *rowsLike(place: Place, like: readonly Row[]): AsyncGenerator<readonly Row[]> {
    const { primaryKey } = place.table;
    const parameters = primaryKey.map((_, index) => `$${index + 1}::text[]`).join(', ');
    const names = primaryKey.map(quoted).join(', ');
    for (const some of inChunks(like, ROWS))
      yield this.found(
        `select to_json(t) as "row" from ${this.nameOf(place)} t join unnest(${parameters}) as k (${names}) using (${names})`,
        primaryKey.map((column) => some.map((row) => String(row[column]))),
      );
  }

  /** Number of accounts in the read model, for estimating the remaining work. */
  async accountsOf(scope: Scope): Promise<number> {
    const { rows } = await this.client.query<{ count: string }>(
      `select count(*) as count from ${this.nameOf({ readModel: 'accounts', table: accounts })} where tenant = $1 and mode = $2`,
      [scope.tenant, scope.mode],
    );
    return Number(rows[0]?.count ?? 0);
  }

  private async found(query: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    const { rows } = await this.client.query<{ readonly row: Row }>(query, [...values]);
    return rows.map(({ row }) => row);
  }

  private nameOf({ readModel, table }: Place): string {
    return placeOf(schemaOf(readModel, this.checkpoints.get(readModel)?.generation ?? 0), table);
  }
}
