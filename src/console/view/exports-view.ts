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

export const exportsContent = template(`
{{> problems problems=notices}}
<form class="fields" method="post">{{> csrf}}
{{formField 'type' label="${TEXTS.common.type}" value=form.type options=form.types}}
{{formField 'format' label="${TEXTS.exports.format}" value=form.format options=form.formats}}
{{formField 'name' label="${TEXTS.common.name}" value=form.name maxlength="255" placeholder="${TEXTS.exports.nameHint}"}}
{{#each form.filters}}{{formField name label=label value=value placeholder=placeholder}}
{{/each}}<button name="action" value="ask">${TEXTS.common.export}</button>
</form>
<div id="exports" data-live="{{here}}" data-every="2000">
{{#if exports.length}}<div class="scroll" tabindex="0"><table>
<thead>{{> heads}}</thead>
<tbody>{{#each exports}}<tr><td>{{time createdAt}}</td><td>{{name}}</td><td>{{type}}</td><td>{{format}}</td><td>{{status}}</td><td>{{#each figures}}<div>{{name}}: <span class="id">{{amount value}}</span></div>{{/each}}</td><td>{{time expiresAt}}</td><td class="id">{{id}}</td><td>{{#if isPending}}<form method="post">{{> csrf}}<input type="hidden" name="export" value="{{id}}"><button class="quiet">${TEXTS.common.cancel}</button></form>{{/if}}{{#if filePath}}<a href="{{filePath}}" download>${TEXTS.exports.download}</a>{{/if}}</td></tr>
{{/each}}</tbody></table></div><p class="note">${TEXTS.common.newest(EXPORTS_SHOWN_MAX)}</p>
{{else}}<p class="empty">${TEXTS.exports.empty}</p>{{/if}}
</div>`);

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
