import { csvLines, oneLine } from '../../exports/files/csv-lines.js';
import type { DiffDocument } from '../../operations/projections/projection-commands.js';
import type { Column } from './sorting.js';
import { TEXTS } from '../texts.js';

/** A column in which a row of two generations differs. */
export interface DifferingColumn {
  readonly table: string;
  readonly kind: string;
  readonly key: string;
  readonly column: string;
  /** As JSON. */
  readonly live: string;
  readonly built: string;
}

export const DIFFERING_COLUMNS: readonly Column<DifferingColumn>[] = [
  { label: TEXTS.projections.table, key: 'diff.table', value: 'table' },
  { label: TEXTS.common.kind, key: 'diff.kind', value: 'kind' },
  { label: TEXTS.projections.row, key: 'diff.row', value: 'key' },
  { label: TEXTS.projections.column, key: 'diff.column', value: 'column' },
  { label: TEXTS.common.live, key: 'diff.live', value: 'live' },
  { label: TEXTS.projections.new, key: 'diff.new', value: 'built' },
];

export const differingColumns = ({
  differences,
}: Pick<DiffDocument, 'differences'>): readonly DifferingColumn[] =>
  differences.flatMap(({ table, kind, key, columns }) =>
    columns.map(({ column, live, new: built }) => ({
      table,
      kind,
      key: JSON.stringify(key),
      column,
      live: JSON.stringify(live),
      built: JSON.stringify(built),
    })),
  );

/** RFC 4180 with a header; cells are written as in exports. */
export const differencesCsv = (diff: Pick<DiffDocument, 'differences'>): string =>
  csvLines(
    [
      ['table', 'kind', 'row', 'column', 'live', 'new'],
      ...differingColumns(diff).map(({ table, kind, key, column, live, built }) =>
        [table, kind, key, column, live, built].map(oneLine),
      ),
    ],
    '\r\n',
  );

/** What a replay or a reconciliation compares, as a cell: numbers stay numbers. */
export const shownValue = (value: unknown): string | number =>
  typeof value === 'number' || typeof value === 'string' ? value : JSON.stringify(value ?? null);
