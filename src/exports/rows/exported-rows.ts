import type { ReadModel } from '../../projecting/generations/generations.js';

/** A value that a query is given, by name. SQL of an export never contains a value. */
export type GivenValues = Readonly<Record<string, string>>;

/** A column of a file. */
export interface ExportColumn {
  readonly header: string;
  /**
   * `text`: what a client may have written. `plain`: a text of ours, without line breaks, that no
   * spreadsheet would run. `integer`: a whole number.
   */
  readonly kind: 'text' | 'plain' | 'integer';
  /** SQL of the value; null: an empty cell. */
  readonly value: string;
}

/** Rows of a read model, all in one projection, so that one position describes them. */
export interface ExportedRows {
  readonly readModel: ReadModel;
  readonly columns: readonly ExportColumn[];
  /** SQL behind `from`. @param place the SQL name of a table of the generation. */
  from(place: (table: string) => string): string;
  /** SQL that is true for a row of a person whose erasure is not complete. */
  isGone(gone: (person: string) => string): string;
  /** SQL of columns that the filters apply to; undefined: the filter does not apply. */
  readonly scope: { readonly tenant: string; readonly mode: string };
  readonly created?: string;
  readonly changed?: string;
  readonly programId?: string;
  /** SQL behind `order by`: oldest first, no ties. */
  readonly order: string;
}
