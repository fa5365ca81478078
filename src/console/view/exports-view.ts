import { EXPORT_FORMATS, EXPORT_TYPES } from '../../domain/export/export.decider.js';
import type { ShownExport } from '../../exports/shown-export.js';
import type { AskedOrder, Column } from './sorting.js';
import { inOrder } from './sorting.js';
import { template } from './templates.js';
import { TEXTS } from '../texts.js';

export const EXPORTS_SHOWN_MAX = 100;

const COLUMNS: readonly Column<ShownExport>[] = [
  { label: TEXTS.exports.askedFor, key: 'asked', value: 'dateCreated' },
  { label: TEXTS.common.name, key: 'name', value: 'name' },
  { label: TEXTS.common.type, key: 'type', value: 'type' },
  { label: TEXTS.exports.format, key: 'format', value: 'format' },
  { label: TEXTS.common.state, key: 'state', value: 'status' },
  { label: TEXTS.exports.figures },
  { label: TEXTS.common.expires, key: 'expires', value: 'dateExpires' },
  { label: TEXTS.common.export },
  { label: TEXTS.exports.file },
];

/** The filters of an export, with the labels of their fields. */
export const FILTERS = {
  createdSince: TEXTS.exports.createdSince,
  createdBefore: TEXTS.exports.createdBefore,
  updatedSince: TEXTS.exports.updatedSince,
  updatedBefore: TEXTS.exports.updatedBefore,
  programId: TEXTS.common.program,
} as const;
export type ExportFilter = keyof typeof FILTERS;
export const EXPORT_FILTERS = Object.keys(FILTERS) as readonly ExportFilter[];

/** The form as it was typed. */
export type TypedExport = Readonly<Record<'type' | 'format' | 'name' | ExportFilter, string>>;

export const exportsContent = template('exports');

const formOf = (typed: TypedExport) => ({
  type: typed.type,
  types: EXPORT_TYPES,
  format: typed.format,
  formats: EXPORT_FORMATS,
  name: typed.name,
  filters: EXPORT_FILTERS.map((name) => ({
    name,
    label: FILTERS[name],
    value: typed[name],
    placeholder: name === 'programId' ? 'all' : '2026-10-01',
  })),
});

/**
 * @param here the address of the page.
 * @param pathOf the address of the page in another order.
 */
export function exportsView(
  found: readonly ShownExport[],
  { typed, notices }: { readonly typed: TypedExport; readonly notices: readonly string[] },
  here: string,
  order: { readonly asked: AskedOrder; readonly pathOf: (order: AskedOrder) => string },
) {
  const { rows, heads } = inOrder(found, COLUMNS, order.asked, order.pathOf);
  const exports = rows.map((one) => rowOf(one, here));
  return { notices, exports, heads, form: formOf(typed), here: here + order.pathOf(order.asked) };
}

const rowOf = (one: ShownExport, here: string) => ({
  ...one,
  name: one.name ?? '',
  isPending: one.status === 'PENDING',
  filePath: one.status === 'COMPLETED' ? `${here}/${one.id}/file` : null,
  createdAt: new Date(one.dateCreated).toISOString(),
  expiresAt: new Date(one.dateExpires).toISOString(),
  figures: Object.entries(one.stats ?? {}).map(([name, value]) => ({ name, value })),
});
