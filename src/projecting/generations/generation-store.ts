import type { Pool } from 'pg';
import type { Position } from '../../event-log/event-log.js';
import { witnessText } from '../../event-log/witness.js';
import { inTransaction } from '../../postgres/transaction.js';
import type { TableChanges } from '../batch-rows.js';
import { checkpointMoves, parkedStreams } from '../checkpoints.js';
import { quoted, schemaOf } from '../identifiers.js';
import type { Forgotten, Lookup, Projector, ReadModelTable, Row } from '../projector.js';

/** Forces the planner to use the index, until the transaction ends. */
const INDEX_ORDER_ONLY =
  'set local enable_sort = off; set local enable_bitmapscan = off; set local enable_seqscan = off';

/** The start of the next piece of an erasure. */
export interface NextPiece {
  /** The lookup that continues. */
  readonly lookup: number;
  /** After the row with these values of the ordering columns. Null: from the beginning. */
  readonly after: readonly unknown[] | null;
}

/** An erasure that is not cleaned out of all rows of a generation yet. */
export interface UnfinishedErasure {
  readonly forgotten: Forgotten;
  readonly next: NextPiece;
}

/** An event that cannot be applied: its stream is parked from here on. */
export interface ParkedEvent {
  readonly stream: string;
  readonly revision: bigint;
  readonly position: Position;
  readonly reason: string;
}

export interface BatchToWrite {
  readonly changes: readonly TableChanges[];
  readonly parked: readonly ParkedEvent[];
  readonly position: Position;
  /** Of the event at the position; undefined: unknown. */
  readonly eventId: string | undefined;
  /** The checkpoint's version when the rows were loaded. */
  readonly expectedVersion: string;
  /** An erasure of which a piece was cleaned, and its next piece; `next` undefined: finished. */
  readonly erasure:
    { readonly forgotten: Forgotten; readonly next: NextPiece | undefined } | undefined;
}

type Keys = ReadonlyMap<string, readonly (readonly string[])[]>;

/**
 * The rows of one generation in Postgres. A batch costs two round trips: one statement loads every
 * row that it touches, one writes rows, parked events and checkpoint. Raw SQL made from table
 * definitions; rows travel as JSON, one parameter per table, so the statement can be prepared for
 * any number of rows.
 */
export class GenerationStore {
  private readonly schema: string;
  private readonly tables: readonly ReadModelTable[];

  constructor(
    private readonly pool: Pool,
    private readonly projector: Projector,
    private readonly generation: number,
    private readonly moveCheckpoint = checkpointMoves(pool),
  ) {
    this.schema = schemaOf(projector.name, generation);
    this.tables = projector.tables;
  }

  /** The existing rows under these keys. */
  async load(keys: Keys): Promise<readonly { readonly table: string; readonly row: Row }[]> {
    const wanted = this.tables.flatMap((table, number) =>
      (keys.get(table.name)?.length ?? 0) > 0 ? [{ table, number }] : [],
    );
    if (wanted.length === 0) return [];
    const values: string[][] = [];
    const selects = wanted.map(({ table, number }) => {
      const columns = table.primaryKey.map((_, place) =>
        (keys.get(table.name) ?? []).map((key) => key[place] ?? ''),
      );
      return this.selectByKeys(table, number, columns, values);
    });
    const { rows } = await this.pool.query<{ number: number; row: Row }>({
      name: `${this.schema}.load.${wanted.map(({ number }) => number).join('.')}`,
      text: selects.join(' union all '),
      values,
    });
    return rows.flatMap(({ number, row }) => {
      const table = this.tables[number];
      return table ? [{ table: table.name, row }] : [];
    });
  }

  /** Rows after this one, in order. Planned each time: the number of matches differs. */
  async find(
    { table: name, where, orderedBy = [] }: Lookup,
    limit: number,
    after: NextPiece['after'],
  ): Promise<readonly Row[]> {
    const table = this.tables.find((candidate) => candidate.name === name);
    if (!table) throw new Error(`there is no table ${name}`);
    const values: unknown[] = [];
    const parameter = (value: unknown): string => `$${values.push(value)}`;
    // A single value is compared with `=`, so that the index returns the rows in order, without a
    // sort.
    const conditions = Object.entries(where).map(([column, wanted]) =>
      wanted.length === 1
        ? `t.${quoted(column)} = ${parameter(wanted[0])}::text`
        : `t.${quoted(column)} = any (${parameter(wanted)}::text[])`,
    );
    if (after) conditions.push(isAfterRow(table, orderedBy, after.map(parameter)));
    const order = orderedBy.map(
      ({ column, descending }) => `t.${quoted(column)}${descending ? ' desc' : ''}`,
    );
    return this.readInIndexOrder(
      `select to_json(t) as "row" from ${this.place(table)} t where ${conditions.join(' and ')}
       ${order.length === 0 ? '' : `order by ${order.join(', ')}`} limit ${limit}`,
      values,
    );
  }

  /**
   * Reads the first rows of an index in its order. The planner expects few rows where there are
   * very many, and would fetch and sort all for each piece (measured: seconds for 120,000), so
   * other plans are disabled.
   */
  private async readInIndexOrder(
    text: string,
    values: readonly unknown[],
  ): Promise<readonly Row[]> {
    const { rows } = await inTransaction(this.pool, async (client) => {
      await client.query(INDEX_ORDER_ONLY);
      return client.query<{ row: Row }>(text, [...values]);
    });
    return rows.map(({ row }) => row);
  }

  // `offset 0` keeps the planner at one index lookup per key. A plain join that was prepared while
  // the table was small would keep reading all of it.
  private selectByKeys(
    table: ReadModelTable,
    number: number,
    columns: string[][],
    values: string[][],
  ): string {
    const parameters = columns.map((column) => `$${values.push(column)}::text[]`);
    const names = table.primaryKey.map((_, place) => `k${place}`);
    const where = table.primaryKey
      .map((column, place) => `t.${quoted(column)} = k.k${place}`)
      .join(' and ');
    const row = `select to_json(t) as "row" from ${this.place(table)} t where ${where} offset 0`;
    return `select ${number} as "number", r."row" from unnest(${parameters.join(', ')}) as k (${names.join(', ')}) cross join lateral (${row}) r`;
  }

  /**
   * Writes a batch and its checkpoint in one statement. False, with nothing written, when another
   * process changed the checkpoint's version. The update of the checkpoint decides and orders
   * everything: other parts read `moved`, which is empty for the loser.
   */
  async write({
    changes,
    parked,
    position,
    eventId,
    expectedVersion,
    erasure,
  }: BatchToWrite): Promise<boolean> {
    const witness = eventId === undefined ? null : witnessText({ position, eventId });
    if (changes.length === 0 && parked.length === 0 && !erasure) {
      const { generation } = this;
      const projection = this.projector.name;
      return this.moveCheckpoint({ projection, generation, position, witness, expectedVersion });
    }
    const values: unknown[] = [
      position,
      this.projector.name,
      this.generation,
      expectedVersion,
      witness,
    ];
    const parameter = (value: unknown): string => `$${values.push(value)}`;
    const parts = [
      `moved as (
        update ledger.projection_checkpoints
        set position = $1, witness = coalesce($5::text, witness), version = version + 1, updated_at = now(), last_error = null
        where projection = $2 and generation = $3 and version = $4::bigint returning projection, generation)`,
      ...changes.flatMap((change, number) => [
        ...this.upsert(change, number, parameter),
        ...this.deletion(change, number, parameter),
      ]),
      ...this.parking(parked, parameter),
      ...(erasure ? [this.erasure(erasure, parameter)] : []),
    ];
    const result = await this.pool.query<{ moved: boolean }>({
      ...(erasure ? {} : this.preparedName(changes, parked)),
      // Does not wait for the disk: a crash of the server loses checkpoint and rows together, and
      // the log restores them. The setting is for this transaction only.
      text: `with ${parts.join(', ')}
        select exists (select from moved) as moved, set_config('synchronous_commit', 'off', true)`,
      values,
    });
    return result.rows[0]?.moved === true;
  }

  parkedStreams(): Promise<readonly string[]> {
    return parkedStreams(this.pool, this.projector.name, this.generation);
  }

  /** Its oldest erasure that is not complete in all rows. */
  async unfinishedErasure(): Promise<UnfinishedErasure | undefined> {
    const { rows } = await this.pool.query<
      Omit<Forgotten, 'persons'> & { persons: string[]; next: NextPiece }
    >({
      name: 'projection_erasures.oldest',
      text: `
        select erasure_id as "erasureId", tenant, mode, account_ref as "accountRef", persons, next_piece as "next"
        from ledger.projection_erasures where projection = $1 and generation = $2 order by begun_at, erasure_id limit 1`,
      values: [this.projector.name, this.generation],
    });
    const [row] = rows;
    if (!row) return undefined;
    const { next, persons, ...about } = row;
    return { forgotten: { ...about, persons: new Set(persons) }, next };
  }

  private upsert(
    { table, upserts }: TableChanges,
    number: number,
    parameter: (value: unknown) => string,
  ): string[] {
    if (upserts.length === 0) return [];
    const columns = Object.entries(table.columns);
    const names = columns.map(([name]) => quoted(name));
    const record = columns.map(([name, type]) => `${quoted(name)} ${bareType(type)}`).join(', ');
    const others = names.filter((name) => !table.primaryKey.map(quoted).includes(name));
    const update =
      others.length === 0
        ? 'nothing'
        : `update set ${others.map((name) => `${name} = excluded.${name}`).join(', ')}`;
    return [
      `upsert${number} as (
        insert into ${this.place(table)} (${names.join(', ')})
        select ${names.map((name) => `r.${name}`).join(', ')} from moved, json_to_recordset(${parameter(JSON.stringify(upserts))}::json) as r (${record})
        on conflict (${table.primaryKey.map(quoted).join(', ')}) do ${update})`,
    ];
  }

  private deletion(
    { table, deletes }: TableChanges,
    number: number,
    parameter: (value: unknown) => string,
  ): string[] {
    if (deletes.length === 0) return [];
    const columns = table.primaryKey.map(
      (_, place) => `${parameter(deletes.map((key) => key[place] ?? ''))}::text[]`,
    );
    const names = table.primaryKey.map((_, place) => `k${place}`);
    const where = table.primaryKey
      .map((column, place) => `t.${quoted(column)} = k.k${place}`)
      .join(' and ');
    return [
      `deletion${number} as (
        delete from ${this.place(table)} t using moved, unnest(${columns.join(', ')}) as k (${names.join(', ')}) where ${where})`,
    ];
  }

  private parking(parked: readonly ParkedEvent[], parameter: (value: unknown) => string): string[] {
    if (parked.length === 0) return [];
    const events = parked.map((event) => ({ ...event, revision: String(event.revision) }));
    return [
      `parked_streams as (
        insert into ledger.parked_streams (projection, generation, stream, revision, "position", reason)
        select moved.projection, moved.generation, r.* from moved,
          json_to_recordset(${parameter(JSON.stringify(events))}::json) as r (stream text, revision bigint, "position" text, reason text)
        on conflict do nothing)`,
    ];
  }

  private erasure(
    { forgotten, next }: NonNullable<BatchToWrite['erasure']>,
    parameter: (value: unknown) => string,
  ): string {
    const { erasureId, tenant, mode, accountRef, persons } = forgotten;
    const key = `${parameter(accountRef)}::text, ${parameter(erasureId)}::text`;
    if (next === undefined)
      return `finished as (
        delete from ledger.projection_erasures e using moved
        where e.projection = moved.projection and e.generation = moved.generation and (e.account_ref, e.erasure_id) = (${key}))`;
    const others = [tenant, mode].map((value) => `${parameter(value)}::text`).join(', ');
    return `unfinished as (
      insert into ledger.projection_erasures (projection, generation, account_ref, erasure_id, tenant, mode, persons, next_piece)
      select moved.projection, moved.generation, ${key}, ${others}, ${parameter([...persons])}::text[], ${parameter(JSON.stringify(next))}::jsonb
      from moved
      on conflict (projection, generation, account_ref, erasure_id) do update set next_piece = excluded.next_piece)`;
  }

  // Statements that delete are not prepared, for the reason given at `selectByKeys`.
  private preparedName(
    changes: readonly TableChanges[],
    parked: readonly ParkedEvent[],
  ): { readonly name?: string } {
    if (parked.length > 0 || changes.some(({ deletes }) => deletes.length > 0)) return {};
    return {
      name: `${this.schema}.write.${changes.map(({ table }) => this.tables.indexOf(table)).join('.')}`,
    };
  }

  private place(table: ReadModelTable): string {
    return `${quoted(this.schema)}.${quoted(table.name)}`;
  }
}

/** The condition that a row is after the one with these values, in the order of these columns. */
function isAfterRow(
  table: ReadModelTable,
  orderedBy: NonNullable<Lookup['orderedBy']>,
  parameters: readonly string[],
): string {
  const columns = orderedBy.map(({ column, descending }, place) => ({
    name: `t.${quoted(column)}`,
    value: `${parameters[place]}::${bareType(table.columns[column] ?? 'text')}`,
    operator: descending ? '<' : '>',
  }));
  const [first] = columns;
  if (!first) return 'true';
  const alternatives = columns.map(({ name, value, operator }, place) =>
    [
      ...columns.slice(0, place).map((before) => `${before.name} = ${before.value}`),
      `${name} ${operator} ${value}`,
    ].join(' and '),
  );
  // On its own, the condition on the first column gives the index its start.
  return `${first.name} ${first.operator}= ${first.value} and (${alternatives.join(' or ')})`;
}

/** `text not null default ''` → `text`. */
export function bareType(column: string): string {
  return column.replace(/\s+(not null|null|default|check|collate|generated)\b.*$/i, '');
}
