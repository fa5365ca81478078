import { quoted, schemaOf } from '../../projecting/identifiers.js';
import type { ExportFilters } from '../export-order.js';
import type { ExportedRows, ExportedTenant, GenerationSql } from './exported-rows.js';

export interface RowsQuery {
  /** SQL of the rows without order, as `r`. */
  readonly rows: string;
  /** SQL after `order by`. */
  readonly order: string;
  /** The values of the parameters of `rows`. */
  readonly values: string[];
}

export function rowsQuery(
  rows: ExportedRows,
  filters: ExportFilters,
  { scope }: Pick<ExportedTenant, 'scope'>,
  generation: number,
): RowsQuery {
  const values: string[] = [];
  const given = (value: string): string => `$${values.push(value)}::text`;
  const conditions = [
    rows.select({ ...generationSql(rows.readModel.name, generation), given }),
    `r.tenant = ${given(scope.tenant)}`,
    `r.mode = ${given(scope.mode)}`,
    ...conditionsOf(rows, filters, given),
  ];
  return { rows: conditions.join(' and '), order: rows.order, values };
}

function generationSql(projection: string, generation: number): Omit<GenerationSql, 'given'> {
  const schema = schemaOf(projection, generation);
  const erasures = `from ledger.projection_erasures where projection = '${projection}' and generation = ${generation}`;
  return {
    table: (name) => `${quoted(schema)}.${quoted(name)}`,
    isGone: (person) =>
      `coalesce(${person} = any (array(select unnest(persons) ${erasures})), false)`,
  };
}

type TimeFilter = Exclude<keyof ExportFilters, 'programId'>;

/** SQL of the filters that apply. */
function conditionsOf(
  { created, changed, programId }: ExportedRows,
  filters: ExportFilters,
  given: GenerationSql['given'],
): readonly string[] {
  const bound = (column: string, sign: '>=' | '<', time: number | undefined): string[] =>
    time === undefined ? [] : [`${column} ${sign} ${given(String(time))}::numeric`];
  const range = (column: string | undefined, since: TimeFilter, before: TimeFilter): string[] =>
    column === undefined
      ? []
      : [...bound(column, '>=', filters[since]), ...bound(column, '<', filters[before])];
  const either = [created, changed]
    .map((column) => range(column, 'createdOrUpdatedSince', 'createdOrUpdatedBefore'))
    .filter((bounds) => bounds.length > 0)
    .map((bounds) => bounds.join(' and '));
  return [
    ...range(created, 'createdSince', 'createdBefore'),
    ...range(changed, 'updatedSince', 'updatedBefore'),
    ...(either.length > 0 ? [`(${either.join(' or ')})`] : []),
    ...(programId !== undefined && filters.programId !== undefined
      ? [`${programId} = ${given(filters.programId)}`]
      : []),
  ];
}
