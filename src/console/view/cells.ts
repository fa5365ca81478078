import type { Cell as FileCell } from '../../exports/files/sheet-rows.js';
import { oneLine } from '../../exports/files/csv-lines.js';
import { stateView, type StateView } from './states.js';

/** What a cell of a table shows; `cell.hbs` renders each kind. */
export type Cell =
  | {
      readonly kind: 'text';
      readonly text: string | null;
      /** A second line, smaller. */
      readonly note: string | null;
      readonly path: string | null;
    }
  | { readonly kind: 'time'; readonly at: number | string | null; readonly isUtc: boolean }
  | {
      readonly kind: 'amount';
      readonly value: number | bigint | null;
      /** As the tenant shows its unit. */
      readonly text: string;
      /** In `data-figure`; null: it is no figure. */
      readonly figure: string | null;
      readonly isNegative: boolean;
    }
  | { readonly kind: 'state'; readonly state: StateView; readonly note: string | null }
  | { readonly kind: 'id'; readonly id: string | null; readonly path: string | null }
  | { readonly kind: 'button'; readonly button: Required<RowButton> | null };

/** A form of one row. */
export interface RowButton {
  /** The value of `action`. */
  readonly action: string;
  readonly label: string;
  /** Read out after the label. */
  readonly about: string;
  /** The hidden field that names the row. */
  readonly name: string;
  readonly value: string;
  /** With it the form acts once, however often it is sent. */
  readonly key?: string;
}

export const textCell = (
  text: string | null | undefined,
  { note = null, path = null }: { note?: string | null; path?: string | null } = {},
): Cell => ({ kind: 'text', text: text ?? null, note, path });

/** @param at epoch milliseconds or ISO 8601. */
export const timeCell = (at: number | string | null | undefined, isUtc = false): Cell => ({
  kind: 'time',
  at: at ?? null,
  isUtc,
});

/** @param text the amount for people. */
export const amountCell = (
  value: number | bigint | null,
  text: string,
  figure: string | null = null,
): Cell => ({
  kind: 'amount',
  value,
  text: value === null ? '–' : text,
  figure,
  isNegative: value !== null && value < 0,
});

/** A movement of credit: the value of `--json`, and as shown, with the sign of its effect. */
export const movementCell = (
  { value, shown = value }: { readonly value: number; readonly shown?: number | undefined },
  text: (shown: number) => string,
  figure: string | null,
): Cell => ({ kind: 'amount', value, text: text(shown), figure, isNegative: shown < 0 });

/** A count. */
export const countCell = (value: number, figure: string | null = null): Cell =>
  amountCell(value, value.toLocaleString('en-US'), figure);

/** @param note next to the state: what it leaves open. */
export const stateCell = (words: string, note: string | null = null): Cell => ({
  kind: 'state',
  state: stateView(words),
  note,
});

/** An id, shortened, with a button that copies it. */
export const idCell = (id: string | null | undefined, path: string | null = null): Cell => ({
  kind: 'id',
  id: id ?? null,
  path,
});

/** @param button undefined: the row has none. */
export const buttonCell = (button: RowButton | undefined): Cell => ({
  kind: 'button',
  button: button === undefined ? null : { key: '', ...button },
});

/** The same in a file: full ids, integers, ISO 8601. */
export function fileCell(cell: Cell): FileCell {
  switch (cell.kind) {
    case 'text':
      return cell.text === null ? null : oneLine(cell.text);
    case 'time':
      return cell.at === null ? null : new Date(cell.at).toISOString();
    case 'amount':
      return cell.value === null ? null : { numeral: String(cell.value) };
    case 'state':
      return cell.state.words;
    case 'id':
      return cell.id;
    case 'button':
      return null;
  }
}

/** What rows are ordered by; null: last. */
export function sortedBy(cell: Cell): number | bigint | string | null {
  if (cell.kind === 'amount') return cell.value;
  if (cell.kind === 'time') return cell.at === null ? null : new Date(cell.at).getTime();
  const of = fileCell(cell);
  return typeof of === 'string' ? of : null;
}
