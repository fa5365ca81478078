import {
  MOVEMENTS,
  type TenantStatement,
  type TenantStatementLine,
} from '../../operations/ledger/tenant-statement.js';
import { sectionOf, type AskedSection, type PathOf } from './paging.js';
import type { Column } from './sorting.js';
import { partial } from './templates.js';
import { TEXTS } from '../texts.js';

const COLUMNS: readonly Column<TenantStatementLine>[] = [
  { label: TEXTS.statement.day, key: 'day', value: 'day' },
  ...MOVEMENTS.map((movement) => ({
    label: `${movement.slice(0, 1).toUpperCase()}${movement.slice(1)}`,
    key: movement,
    isNumber: true,
    value: movement,
  })),
  { label: TEXTS.common.balance, isNumber: true },
];

const EMPTY = MOVEMENTS.map(() => '<td></td>').join('');

partial(
  'tenantStatement',
  `<dl class="figures">
<div><dt>${TEXTS.statement.allOf}</dt><dd>{{tenant}}</dd></div>
<div><dt>${TEXTS.fields.from}</dt><dd>{{#if from}}{{from}}{{else}}${TEXTS.statement.sinceBeginning}{{/if}}</dd></div>
<div><dt>${TEXTS.fields.to}</dt><dd>${TEXTS.common.utc('{{to}}')}</dd></div>
<div><dt>${TEXTS.common.digest}</dt><dd class="id">{{figure 'digest' digest ''}}</dd></div>
</dl>
{{#if tooLarge.length}}<p class="note">${TEXTS.statement.tooLarge} {{#each tooLarge}}{{this}} {{/each}}</p>{{/if}}
{{#each units}}
<h2>{{unit}}</h2>
<div class="scroll" tabindex="0"><table>
<thead>{{> heads}}</thead>
<tbody>
<tr class="sum"><td>${TEXTS.statement.opening}</td>${EMPTY}<td class="number">{{figure openingName opening unit}}</td></tr>
{{#each rows}}<tr><td>{{day}}</td>${MOVEMENTS.map((movement) => `<td class="number">{{figure 'line.${movement}' ${movement} '' of=../unit}}</td>`).join('')}<td class="number">{{figure 'line.balance' balance '' of=../unit}}</td></tr>
{{/each}}{{#if due}}<tr><td>${TEXTS.statement.due}</td>${EMPTY}<td class="number">{{figure 'line.balance' closing '' of=unit}}</td></tr>
{{/if}}<tr class="sum"><td>${TEXTS.statement.closing}</td>${EMPTY}<td class="number">{{figure closingName closing unit}}</td></tr>
</tbody></table></div>
{{> pager}}
{{else}}<p class="empty">${TEXTS.statement.nobodyHadCredit}</p>
{{/each}}`,
);

/** Of each unit the lines of one page: its opening and closing are on each. */
export const statementView = <L>(
  statement: { readonly units: readonly { readonly unit: string; readonly lines: readonly L[] }[] },
  columns: readonly Column<L>[],
  section: AskedSection,
  pathOf: PathOf,
) => ({
  ...statement,
  units: statement.units.map((one) => ({
    ...one,
    ...sectionOf(one.lines, columns, section, pathOf),
    openingName: `opening:${one.unit}`,
    closingName: `closing:${one.unit}`,
  })),
});

export const tenantStatementView = (
  statement: TenantStatement,
  section: AskedSection,
  pathOf: PathOf,
) => statementView(statement, COLUMNS, section, pathOf);
