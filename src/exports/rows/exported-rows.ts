import type { ExportDates } from '../export-order.js';
import type { Scope } from '../../domain/scope.js';
import type { ReadModel } from '../../projecting/generations/generations.js';

export interface ExportColumn {
  readonly header: string;
  /**
   * `text`: written by a client. `plain`: written by the service, without line breaks and formulas.
   * `integer`: a whole number.
   */
  readonly kind: 'text' | 'plain' | 'integer';
  /** SQL of the value in row `r`; null: an empty cell. */
  readonly value: string;
}

/** A date column. @param value SQL of epoch milliseconds in row `r`; null: empty. */
export function dateColumn(header: string, value: string, dates: ExportDates): ExportColumn {
  if (dates === 'EPOCH_MS') return { header, kind: 'integer', value };
  const time = `(timestamp 'epoch' + ${value} * interval '1 millisecond')`;
  // As in JavaScript, a year after 9999 has a sign and six digits.
  const year = `case when ${value} < ${YEAR_10000} then to_char(${time}, 'YYYY') else '+' || lpad(to_char(${time}, 'FMYYYY'), 6, '0') end`;
  return {
    header,
    kind: 'plain',
    value: `(${year}) || to_char(${time}, '-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  };
}

const YEAR_10000 = Date.UTC(10_000, 0);

export interface GenerationSql {
  readonly table: (name: string) => string;
  /** SQL: whether the erasure of the person has been requested and is not complete. */
  readonly isGone: (person: string) => string;
  /** SQL of a parameter with this text. */
  readonly given: (value: string) => string;
}

/** The rows of an export type. They come from one projection, so one position describes them. */
export interface ExportedRows {
  readonly readModel: ReadModel;
  readonly columns: readonly ExportColumn[];
  /** SQL of the service's ids of the people in a row; null: none. */
  readonly persons: readonly string[];
  /** SQL of the rows, from `select` to the first conditions. */
  select(generationSql: GenerationSql): string;
  /** SQL of the columns for filters; undefined: the filter does not apply. */
  readonly created?: string;
  readonly changed?: string;
  readonly programId?: string;
  /** SQL after `order by`: oldest first, unique. */
  readonly order: string;
  /** Text columns for the names that the rows contain. */
  readonly fields?: {
    /** SQL of a set of names in row `r`. */
    readonly names: string;
    /** SQL of a JSON object of their values in row `r`. */
    readonly values: string;
    header(name: string): string;
  };
}

/** The facts of a tenant that files show. */
export interface ExportedTenant {
  readonly scope: Scope;
  readonly defaultProgramId: string;
  /** The service's external address. */
  readonly publicUrl: string;
  /** Epoch milliseconds. */
  readonly now: number;
}
