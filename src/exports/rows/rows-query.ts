import type { PoolClient } from 'pg';
import { quoted, schemaOf } from '../../projecting/identifiers.js';
import type { ExportFilters } from '../export-order.js';
import type { ExportedRows, ExportedTenant, GivenValues, InGeneration } from './exported-rows.js';

/** The rows of an order in one generation. */
export interface RowsQuery {
  /** SQL of the rows, without order; `r` in the columns of the type. */
  readonly rows: string;
  /** SQL behind `order by`. */
  readonly order: string;
  /** Set before a statement that contains `rows` or a column: see `setValues`. */
  readonly values: GivenValues;
}

/** Settings of a transaction with these names are what its statements are given. */
const PREFIX = 'ledger_export.';

/** SQL of a value. COPY takes no parameters, so a setting has it; it is read once a statement. */
export const given = (name: string): string => {
  quoted(name);
  return `(select current_setting('${PREFIX}${name}'))`;
};

/** Until the transaction ends. */
export async function setValues(client: PoolClient, values: GivenValues): Promise<void> {
  await client.query(
    'select set_config(name, value, true) from unnest($1::text[], $2::text[]) as v (name, value)',
    [Object.keys(values).map((name) => PREFIX + name), Object.values(values)],
  );
}

export function rowsQuery(
  rows: ExportedRows,
  filters: ExportFilters,
  { scope }: Pick<ExportedTenant, 'scope'>,
  generation: number,
): RowsQuery {
  const filtered = new Conditions(filters);
  filtered.range(rows.created, 'createdSince', 'createdBefore');
  filtered.range(rows.changed, 'updatedSince', 'updatedBefore');
  filtered.either([rows.created, rows.changed], 'createdOrUpdatedSince', 'createdOrUpdatedBefore');
  filtered.equal(rows.programId, 'programId');
  const conditions = [
    rows.select(inGeneration(rows.readModel.name, generation)),
    `r.tenant = ${given('tenant')}`,
    `r.mode = ${given('mode')}`,
    ...filtered.conditions,
  ];
  return {
    rows: conditions.join(' and '),
    order: rows.order,
    values: { ...scope, ...rows.values, ...filtered.values },
  };
}

function inGeneration(projection: string, generation: number): InGeneration {
  const schema = schemaOf(projection, generation);
  const erasures = `from ledger.projection_erasures where projection = '${projection}' and generation = ${generation}`;
  return {
    table: (name) => `${quoted(schema)}.${quoted(name)}`,
    isGone: (person) =>
      `coalesce(${person} = any (array(select unnest(persons) ${erasures})), false)`,
    given,
  };
}

type TimeFilter = Exclude<keyof ExportFilters, 'programId'>;

/** The filters that apply, as SQL, and their values. */
class Conditions {
  readonly conditions: string[] = [];
  readonly values: Record<string, string> = {};

  constructor(private readonly filters: ExportFilters) {}

  range(column: string | undefined, since: TimeFilter, before: TimeFilter): void {
    if (column !== undefined) this.conditions.push(...this.bounds(column, since, before));
  }

  /** That one of the columns is in the range. */
  either(columns: readonly (string | undefined)[], since: TimeFilter, before: TimeFilter): void {
    const ranges = columns
      .filter((column) => column !== undefined)
      .map((column) => this.bounds(column, since, before).join(' and '))
      .filter((range) => range !== '');
    if (ranges.length > 0) this.conditions.push(`(${ranges.join(' or ')})`);
  }

  equal(column: string | undefined, filter: 'programId'): void {
    const value = this.filters[filter];
    if (column === undefined || value === undefined) return;
    this.values['program_filter'] = value;
    this.conditions.push(`${column} = ${given('program_filter')}`);
  }

  private bounds(column: string, since: TimeFilter, before: TimeFilter): string[] {
    return [
      ...this.bound(since, (time) => `${column} >= ${time}`),
      ...this.bound(before, (time) => `${column} < ${time}`),
    ];
  }

  private bound(filter: TimeFilter, condition: (time: string) => string): string[] {
    const time = this.filters[filter];
    if (time === undefined) return [];
    const name = filter.toLowerCase();
    this.values[name] = String(time);
    return [condition(`${given(name)}::numeric`)];
  }
}
