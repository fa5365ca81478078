import type { ExportDates } from '../export-order.js';
import type { Scope } from '../../domain/scope.js';
import type { ReadModel } from '../../projecting/generations/generations.js';

/** Values that a statement is given, by name: its text never contains a value. */
export type GivenValues = Readonly<Record<string, string>>;

/** SQL of a value of these names. */
export type Given = (name: string) => string;

/** A column of a file. */
export interface ExportColumn {
  readonly header: string;
  /**
   * `text`: what a client may have written. `plain`: a text of ours, without line breaks, that no
   * spreadsheet would run. `integer`: a whole number.
   */
  readonly kind: 'text' | 'plain' | 'integer';
  /** SQL of the value, of the row `r`; null: an empty cell. */
  readonly value: string;
}

/** A column of dates. @param value SQL of epoch milliseconds, of the row `r`; null: empty. */
export function dateColumn(header: string, value: string, dates: ExportDates): ExportColumn {
  if (dates === 'EPOCH_MS') return { header, kind: 'integer', value };
  const time = `(timestamp 'epoch' + ${value} * interval '1 millisecond')`;
  // JavaScript's form: a year of more than four digits has a sign and six.
  const year = `case when ${value} < ${YEAR_10000} then to_char(${time}, 'YYYY') else '+' || lpad(to_char(${time}, 'FMYYYY'), 6, '0') end`;
  return {
    header,
    kind: 'plain',
    value: `(${year}) || to_char(${time}, '-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  };
}

const YEAR_10000 = Date.UTC(10_000, 0);

/** What SQL of a generation refers to. */
export interface InGeneration {
  /** The SQL name of a table. */
  readonly table: (name: string) => string;
  /** Whether the person is one of those whose erasure is not complete. */
  readonly isGone: (person: string) => string;
  readonly given: Given;
}

/** The rows of a type, in one projection, so that one position describes them. */
export interface ExportedRows {
  readonly readModel: ReadModel;
  readonly columns: readonly ExportColumn[];
  /** Of the tenant, for the columns. */
  readonly values: GivenValues;
  /** SQL of the people whose ids a row shows, ids of ours; null: none. */
  readonly persons: readonly string[];
  /** SQL of the rows, from `select` to the first conditions. */
  select(inGeneration: InGeneration): string;
  /** SQL of the columns that filters apply to; undefined: the filter does not apply. */
  readonly created?: string;
  readonly changed?: string;
  readonly programId?: string;
  /** SQL behind `order by`: oldest first, without ties. */
  readonly order: string;
  /** Columns of texts for the names that the rows themselves have. */
  readonly fields?: {
    /** SQL of a set of names, of the row `r`. */
    readonly names: string;
    /** SQL of an object (JSON) of their values, of the row `r`. */
    readonly values: string;
    header(name: string): string;
  };
}

/** The tenant of an export, as far as files show it. */
export interface ExportedTenant {
  readonly scope: Scope;
  readonly defaultProgramId: string;
  /** The service's external address. */
  readonly publicUrl: string;
  /** Epoch milliseconds. */
  readonly now: number;
}
