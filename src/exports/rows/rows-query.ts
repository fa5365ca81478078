import { quoted, schemaOf } from '../../projecting/identifiers.js';
import type { ExportFilters, ExportOrder } from '../export-order.js';
import type { ExportedRows, GivenValues } from './exported-rows.js';

/** The rows of an order, as parts of statements of one generation. */
export interface RowsQuery {
  /** SQL from `from` to the last condition. */
  readonly fromWhere: string;
  readonly orderBy: string;
  /** To be set before: see `given`. */
  readonly values: GivenValues;
}

const PREFIX = 'ledger_export.';

/**
 * SQL of a value. COPY takes no parameters: values are settings of the transaction, read once for
 * each statement.
 */
export const given = (name: string): string =>
  `(select current_setting('${PREFIX}${quoted(name).slice(1, -1)}'))`;

/** Statement that sets one value, with name and value as its parameters. */
export const SET_VALUE = 'select set_config($1, $2, true)';
export const settingOf = (name: string): string => `${PREFIX}${name}`;

/** @param generation of the read model's projection. */
export function rowsQuery(
  rows: ExportedRows,
  { scope, filters }: ExportOrder,
  generation: number,
): RowsQuery {
  const { name } = rows.readModel;
  const schema = schemaOf(name, generation);
  const place = (table: string): string => `${quoted(schema)}.${quoted(table)}`;
  const gone = (person: string): string =>
    `coalesce(${person} = any (array(select unnest(persons) from ledger.projection_erasures where projection = '${name}' and generation = ${generation})), false)`;
  const values: Record<string, string> = { tenant: scope.tenant, mode: scope.mode };
  const conditions = [
    `${rows.scope.tenant} = ${given('tenant')}`,
    `${rows.scope.mode} = ${given('mode')}`,
    `not (${rows.isGone(gone)})`,
  ];
  const { created, changed, programId } = rows;
  const time = (key: keyof ExportFilters, name: string): string | undefined => {
    const value = filters[key];
    if (value === undefined) return undefined;
    values[name] = String(value);
    return `${given(name)}::bigint`;
  };
  const range = (column: string, since: string | undefined, before: string | undefined): string =>
    [
      ...(since === undefined ? [] : [`${column} >= ${since}`]),
      ...(before === undefined ? [] : [`${column} < ${before}`]),
    ].join(' and ');
  if (created !== undefined)
    conditions.push(range(created, time('createdSince', 'cs'), time('createdBefore', 'cb')));
  if (changed !== undefined)
    conditions.push(range(changed, time('updatedSince', 'us'), time('updatedBefore', 'ub')));
  if (created !== undefined && changed !== undefined) {
    const since = time('createdOrUpdatedSince', 'es');
    const before = time('createdOrUpdatedBefore', 'eb');
    if (since !== undefined || before !== undefined)
      conditions.push(`(${range(created, since, before)} or ${range(changed, since, before)})`);
  }
  if (programId !== undefined && filters.programId !== undefined) {
    values['program'] = filters.programId;
    conditions.push(`${programId} = ${given('program')}`);
  }
  return {
    fromWhere: `from ${rows.from(place)} where ${conditions.filter((condition) => condition !== '').join(' and ')}`,
    orderBy: rows.order,
    values,
  };
}
