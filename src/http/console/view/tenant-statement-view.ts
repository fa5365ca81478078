import {
  MOVEMENTS,
  type TenantStatement,
  type TenantStatementLine,
} from '../../../operations/ledger/tenant-statement.js';
import { onPage } from './paging.js';
import { inOrder, type AskedOrder, type Column } from './sorting.js';
import { partial } from './templates.js';

const COLUMNS: readonly Column<TenantStatementLine>[] = [
  { label: 'Day', key: 'day', value: ({ day }) => day },
  ...MOVEMENTS.map((movement) => ({
    label: `${movement.slice(0, 1).toUpperCase()}${movement.slice(1)}`,
    key: movement,
    isNumber: true,
    value: (line: TenantStatementLine) => line[movement],
  })),
  { label: 'Balance', isNumber: true },
];

const EMPTY = MOVEMENTS.map(() => '<td></td>').join('');

partial(
  'tenantStatement',
  `<dl class="figures">
<div><dt>All accounts of</dt><dd>{{tenant}}</dd></div>
<div><dt>From</dt><dd>{{#if from}}{{from}}{{else}}the first event{{/if}}</dd></div>
<div><dt>To</dt><dd>{{to}} UTC</dd></div>
<div><dt>Digest</dt><dd class="id">{{figure 'digest' digest ''}}</dd></div>
</dl>
{{#if tooLarge.length}}<p class="note">Not shown, since their sums are too large: {{#each tooLarge}}{{this}} {{/each}}</p>{{/if}}
{{#each units}}
<h2>{{unit}}</h2>
<div class="scroll" tabindex="0"><table>
<thead>{{> heads}}</thead>
<tbody>
<tr class="sum"><td>opening</td>${EMPTY}<td class="number">{{figure openingName opening unit}}</td></tr>
{{#each rows}}<tr><td>{{day}}</td>${MOVEMENTS.map((movement) => `<td class="number">{{figure 'line.${movement}' ${movement} ''}}</td>`).join('')}<td class="number">{{figure 'line.balance' balance ''}}</td></tr>
{{/each}}{{#if due}}<tr><td>dates that passed, not recorded yet</td>${EMPTY}<td class="number">{{figure 'line.balance' closing ''}}</td></tr>
{{/if}}<tr class="sum"><td>closing</td>${EMPTY}<td class="number">{{figure closingName closing unit}}</td></tr>
</tbody></table></div>
{{> pager}}
{{else}}<p class="empty">Nobody had credit up to this day.</p>
{{/each}}`,
);

/**
 * Of each unit the lines of one page.
 * @param pathOf the address of the page, with these parts of it.
 */
export function tenantStatementView(
  statement: TenantStatement,
  { page, ...order }: AskedOrder & { readonly page: string },
  pathOf: (asked: Readonly<Record<string, string>>) => string,
) {
  const units = statement.units.map(({ lines, ...one }) => {
    const { rows, heads } = inOrder(lines, COLUMNS, order, pathOf);
    return {
      ...one,
      heads,
      ...onPage(rows, page, (at) => pathOf({ ...order, page: at })),
      openingName: `opening:${one.unit}`,
      closingName: `closing:${one.unit}`,
    };
  });
  return { ...statement, units };
}
