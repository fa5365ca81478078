import type {
  DiffDocument,
  ShownHistoryEntry,
  ShownParkedStream,
  ShownProjection,
} from '../../operations/projections/projection-commands.js';
import type { ShownParkedReaction } from '../../operations/policies/policy-commands.js';
import { DIFFERING_COLUMNS, differingColumns } from './differences.js';
import { sectionOf, type AskedSection, type PathOf } from './paging.js';
import type { Column } from './sorting.js';
import { template } from './templates.js';
import { TEXTS } from '../texts.js';

export const PROJECTIONS_PATH = '/console/projections';

export const COLUMNS: readonly Column<ShownProjection>[] = [
  { label: TEXTS.common.projection, key: 'name', value: 'name' },
  { label: TEXTS.projections.generation, key: 'generation', isNumber: true, value: 'generation' },
  { label: TEXTS.fields.position, key: 'position', value: 'position' },
  { label: TEXTS.projections.behindEvents, key: 'events', isNumber: true, value: 'lagEvents' },
  { label: TEXTS.projections.behindSeconds, key: 'seconds', isNumber: true, value: 'lagSeconds' },
  { label: TEXTS.projections.parked, key: 'parked', isNumber: true, value: 'parked' },
  { label: TEXTS.projections.newGeneration, isNumber: true },
  { label: TEXTS.projections.previous, isNumber: true },
  { label: TEXTS.projections.behindPlot },
];

export const PARKED_COLUMNS: readonly Column<ShownParkedReaction>[] = [
  { label: TEXTS.fields.since, key: 'parked.since', value: 'since' },
  { label: TEXTS.projections.policy, key: 'parked.policy', value: 'policy' },
  { label: TEXTS.common.event, key: 'parked.event', value: 'eventId' },
  { label: TEXTS.fields.position, key: 'parked.position', value: 'position' },
  { label: TEXTS.fields.reason, key: 'parked.reason', value: 'reason' },
  { label: TEXTS.common.retry },
];

export const HELD_BACK_COLUMNS: readonly Column<ShownParkedStream>[] = [
  { label: TEXTS.fields.since, key: 'held.since', value: 'since' },
  { label: TEXTS.common.projection, key: 'held.projection', value: 'projection' },
  { label: TEXTS.fields.account, key: 'held.account', value: 'account' },
  { label: TEXTS.projections.stream, key: 'held.stream', value: 'stream' },
  { label: TEXTS.fields.position, key: 'held.position', value: 'position' },
  { label: TEXTS.common.events, key: 'held.events', isNumber: true, value: 'events' },
  { label: TEXTS.fields.reason, key: 'held.reason', value: 'reason' },
  { label: TEXTS.common.retry },
];

export const HISTORY_COLUMNS: readonly Column<ShownHistoryEntry>[] = [
  { label: TEXTS.common.begun, key: 'history.begun', value: 'startedAt' },
  { label: TEXTS.projections.action, key: 'history.action', value: 'action' },
  { label: TEXTS.common.projection, key: 'history.projection', value: 'projection' },
  { label: TEXTS.projections.part, key: 'history.part', value: partOf },
  { label: TEXTS.common.who, key: 'history.who', value: 'actor' },
  { label: TEXTS.projections.outcome, key: 'history.outcome', value: 'outcome' },
];

/** What an operation in place was of: `demo live`, and the account as logs name it. */
function partOf({ tenant, mode, accountRef }: ShownHistoryEntry): string {
  return tenant === null
    ? TEXTS.common.all
    : [tenant, mode, accountRef].filter((name) => name !== null).join(' ');
}

export const historyRow = (entry: ShownHistoryEntry) => {
  const { error } = entry.details;
  return { ...entry, part: partOf(entry), error: typeof error === 'string' ? error : null };
};

export const content = template(`
{{> problems problems=notices}}
<div class="scroll" tabindex="0"><table>
<thead>{{> heads}}</thead>
<tbody id="projections" data-live="{{livePath}}" data-every="2000">{{#each projections}}<tr><td><input type="hidden" form="operate" name="seen:{{name}}" value="{{generation}}/{{ready}}/{{previous}}">{{name}}{{#if lastError}}<br><span class="wrong">{{lastError}}</span>{{/if}}</td><td class="number">{{figure generationName generation ''}}</td><td class="id">{{position}}</td><td class="number">{{figure lagName lagEvents ''}}</td><td class="number">{{amount lagSeconds}}</td><td class="number">{{figure parkedName parked ''}}</td><td class="number">{{amount ready}}</td><td class="number">{{amount previous}}</td><td><svg class="spark" viewBox="0 0 150 24" preserveAspectRatio="none" data-plots="{{lagName}}" role="img" aria-label="${TEXTS.projections.plotOf('{{name}}')}"></svg></td></tr>
{{/each}}</tbody></table></div>
{{#if isGone}}<p class="problem" role="alert">${TEXTS.common.runIsGone}</p>{{/if}}
{{#if run}}<h2>{{operation}}</h2>{{> run}}{{/if}}
{{#if diff}}
<dl class="figures">
<div><dt>${TEXTS.common.projection}</dt><dd>{{diff.projection}}</dd></div>
<div><dt>${TEXTS.projections.rows}</dt><dd>{{amount diff.rowCount}}</dd></div>
<div><dt>${TEXTS.common.differences}</dt><dd>{{figure 'differences' diff.count ''}}</dd></div>
<div><dt>${TEXTS.fields.position}</dt><dd>{{figure 'position' diff.position ''}}</dd></div>
</dl>
{{#if diff.rows.length}}<p class="actions"><a href="{{csvPath}}" download>${TEXTS.common.asCsv}</a></p>
<div class="scroll" tabindex="0"><table><thead>{{> heads heads=diff.heads}}</thead>
<tbody>{{#each diff.rows}}<tr><td>{{table}}</td><td>{{kind}}</td><td class="id">{{key}}</td><td>{{column}}</td><td class="id">{{live}}</td><td class="id">{{built}}</td></tr>{{/each}}</tbody></table></div>
{{> pager pager=diff.pager}}{{#if diff.hasMore}}<p class="note">${TEXTS.projections.firstRows('{{amount diff.differences.length}}')}</p>{{/if}}{{/if}}
{{else}}{{#if result}}<details><summary>${TEXTS.common.result}</summary><pre>{{json result}}</pre></details>{{/if}}{{/if}}
<h2>${TEXTS.projections.operate}</h2>
<p>${TEXTS.projections.explained}</p>
<form class="fields" id="operate" method="post" action="${PROJECTIONS_PATH}">{{> csrf}}
{{formField 'projection' label="${TEXTS.common.projection}" value=chosen none="${TEXTS.common.all}" options=names}}
{{formField 'tenant' label="${TEXTS.common.tenant}" value=part.tenant placeholder="${TEXTS.common.all}" hint="${TEXTS.projections.tenantHint}"}}
{{formField 'mode' label="${TEXTS.common.mode}" value=part.mode options=modes}}
{{formField 'account' label="${TEXTS.fields.account}" value=part.account placeholder="${TEXTS.common.all}"}}
{{formField 'confirmed' label="${TEXTS.projections.confirm}" autocomplete="off" hint="${TEXTS.projections.confirmHint}"}}
<p class="actions field wide"><button name="action" value="rebuild">${TEXTS.projections.rebuild}</button><button name="action" value="diff" class="quiet">${TEXTS.projections.diff}</button><button name="action" value="swap" class="quiet">${TEXTS.projections.swap}</button><button name="action" value="rollback" class="danger">${TEXTS.common.rollBack}</button><button name="action" value="retry" class="quiet">${TEXTS.projections.retryParked}</button></p>
</form>
<h2>${TEXTS.projections.heldBack}</h2>
{{#if heldBack.rows.length}}<p>${TEXTS.projections.heldBackHint}</p><div class="scroll" tabindex="0"><table><thead>{{> heads heads=heldBack.heads}}</thead>
<tbody>{{#each heldBack.rows}}<tr><td>{{time since}}</td><td>{{projection}}</td><td class="id">{{account}}</td><td class="id">{{stream}}</td><td class="id">{{position}}</td><td class="number">{{amount events}}</td><td>{{reason}}</td><td><form method="post" action="${PROJECTIONS_PATH}">{{> csrf}}<input type="hidden" name="projection" value="{{projection}}"><button name="action" value="retry" class="quiet">${TEXTS.projections.retryAllOf('{{projection}}')}</button></form></td></tr>
{{/each}}</tbody></table></div>{{else}}<p class="empty">${TEXTS.projections.noneHeldBack}</p>{{/if}}
<h2>${TEXTS.projections.parkedReactions}</h2>
{{#if parked.rows.length}}<div class="scroll" tabindex="0"><table><thead>{{> heads heads=parked.heads}}</thead>
<tbody>{{#each parked.rows}}<tr><td>{{time since}}</td><td>{{policy}}</td><td class="id">{{eventId}}</td><td class="id">{{position}}</td><td>{{reason}}</td><td><form method="post" action="${PROJECTIONS_PATH}">{{> csrf}}<input type="hidden" name="reaction" value="{{id}}"><button name="action" value="retry-reaction" class="quiet">${TEXTS.common.retry}</button></form></td></tr>
{{/each}}</tbody></table></div>{{else}}<p class="empty">${TEXTS.projections.noneParked}</p>{{/if}}
<h2>${TEXTS.common.history}</h2>
{{#if history.rows.length}}<div class="scroll" tabindex="0"><table><thead>{{> heads heads=history.heads}}</thead>
<tbody>{{#each history.rows}}<tr><td>{{time startedAt}}</td><td>{{action}}</td><td>{{projection}}</td><td class="id">{{part}}</td><td>{{actor}}</td><td>{{outcome}}{{#if error}}<br><span class="note">{{error}}</span>{{/if}}</td></tr>{{/each}}</tbody></table></div>
{{else}}<p class="empty">${TEXTS.projections.noHistory}</p>{{/if}}`);

export const withFigureNames = (projection: ShownProjection) => ({
  ...projection,
  generationName: `generation:${projection.name}`,
  parkedName: `parked:${projection.name}`,
  lagName: `lag:${projection.name}`,
});

export const shownDiff = (
  { rows: rowCount, ...diff }: DiffDocument,
  section: AskedSection,
  pathOf: PathOf,
) => ({
  ...diff,
  rowCount,
  hasMore: diff.count > diff.differences.length,
  ...sectionOf(differingColumns(diff), DIFFERING_COLUMNS, section, pathOf),
});
