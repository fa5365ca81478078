import type { PoolClient } from 'pg';
import { quoted, schemaOf } from '../../projecting/identifiers.js';
import type { ExportFilters } from '../export-order.js';
import type {
  ExportedRows,
  ExportedTenant,
  SqlParameters,
  GenerationSql,
} from './exported-rows.js';

export interface RowsQuery {
  /** SQL of the rows without order, as `r`. */
  readonly rows: string;
  /** SQL after `order by`. */
  readonly order: string;
  /** Parameters, see `setValues`. */
  readonly values: SqlParameters;
}

/** Prefix of the settings that hold parameters. */
const PREFIX = 'ledger_export.';

/** SQL of a parameter. COPY takes none, so it is a setting, read once per statement. */
export const given = (name: string): string => {
  quoted(name);
  return `(select current_setting('${PREFIX}${name}'))`;
};

/** Sets parameters for this transaction. */
export async function setValues(client: PoolClient, values: SqlParameters): Promise<void> {
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
  const filtered = conditionsOf(rows, filters);
  const conditions = [
    rows.select(generationSql(rows.readModel.name, generation)),
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

function generationSql(projection: string, generation: number): GenerationSql {
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

/** SQL of the filters that apply, with their values. */
function conditionsOf({ created, changed, programId }: ExportedRows, filters: ExportFilters) {
  const values: Record<string, string> = {};
  const bound = (column: string, sign: '>=' | '<', filter: TimeFilter): string[] => {
    const time = filters[filter];
    if (time === undefined) return [];
    const name = filter.toLowerCase();
    values[name] = String(time);
    return [`${column} ${sign} ${given(name)}::numeric`];
  };
  const range = (column: string | undefined, since: TimeFilter, before: TimeFilter): string[] =>
    column === undefined ? [] : [...bound(column, '>=', since), ...bound(column, '<', before)];
  const conditions = [
    ...range(created, 'createdSince', 'createdBefore'),
    ...range(changed, 'updatedSince', 'updatedBefore'),
  ];
  const either = [created, changed]
    .map((column) => range(column, 'createdOrUpdatedSince', 'createdOrUpdatedBefore'))
    .filter((bounds) => bounds.length > 0)
    .map((bounds) => bounds.join(' and '));
  if (either.length > 0) conditions.push(`(${either.join(' or ')})`);
  if (programId !== undefined && filters.programId !== undefined) {
    values['program_filter'] = filters.programId;
    conditions.push(`${programId} = ${given('program_filter')}`);
  }
  return { conditions, values };
}
