import type {
  DiffDocument,
  ShownHistoryEntry,
  ShownProjection,
} from '../../../operations/projections/projection-commands.js';
import type { ShownParkedReaction } from '../../../operations/policies/policy-commands.js';
import { DIFFERING_COLUMNS, differingColumns, type DifferingColumn } from './differences.js';
import { onPage, type PagerView } from './paging.js';
import type { RunView } from './run-view.js';
import { inOrder, type AskedOrder, type Column, type HeadView } from './sorting.js';
import { template, type WithForms } from './templates.js';

export const PROJECTIONS_PATH = '/console/projections';

export const COLUMNS: readonly Column<ShownProjection>[] = [
  { label: 'Projection', key: 'name', value: ({ name }) => name },
  { label: 'Generation', key: 'generation', isNumber: true, value: ({ generation }) => generation },
  { label: 'Position', key: 'position', value: ({ position }) => position },
  { label: 'Behind, events', key: 'events', isNumber: true, value: ({ lagEvents }) => lagEvents },
  { label: 'Behind, s', key: 'seconds', isNumber: true, value: ({ lagSeconds }) => lagSeconds },
  { label: 'Parked', key: 'parked', isNumber: true, value: ({ parked }) => parked },
  { label: 'New generation', isNumber: true },
  { label: 'Previous', isNumber: true },
  { label: 'Behind, while this page is open' },
];

export const PARKED_COLUMNS: readonly Column<ShownParkedReaction>[] = [
  { label: 'Since', key: 'parked.since', value: ({ since }) => since },
  { label: 'Policy', key: 'parked.policy', value: ({ policy }) => policy },
  { label: 'Event', key: 'parked.event', value: ({ eventId }) => eventId },
  { label: 'Position', key: 'parked.position', value: ({ position }) => position },
  { label: 'Reason', key: 'parked.reason', value: ({ reason }) => reason },
  { label: 'Retry' },
];

export const HISTORY_COLUMNS: readonly Column<ShownHistoryEntry>[] = [
  { label: 'Begun', key: 'history.begun', value: ({ startedAt }) => startedAt },
  { label: 'Action', key: 'history.action', value: ({ action }) => action },
  { label: 'Projection', key: 'history.projection', value: ({ projection }) => projection },
  { label: 'Who', key: 'history.who', value: ({ actor }) => actor },
  { label: 'Outcome', key: 'history.outcome', value: ({ outcome }) => outcome },
];

/** A table in its order. */
interface Sorted<R> {
  readonly rows: readonly R[];
  readonly heads: readonly HeadView[];
}

export const content = template<
  WithForms & {
    notices: readonly string[];
    chosen: string;
    names: readonly string[];
    projections: readonly ShownProjection[];
    heads: readonly HeadView[];
    livePath: string;
    part: { tenant: string; account: string; mode: string };
    modes: readonly string[];
    run: RunView | null;
    operation: string;
    isGone: boolean;
    here: string;
    diff: ShownDiff | null;
    csvPath: string;
    result: unknown;
    parked: Sorted<ShownParkedReaction>;
    history: Sorted<ShownHistoryEntry>;
  }
>(`
{{> problems problems=notices}}
<div class="scroll" tabindex="0"><table>
<thead>{{> heads}}</thead>
<tbody id="projections" data-live="{{livePath}}" data-every="2000">{{#each projections}}<tr><td>{{name}}{{#if lastError}}<br><span class="wrong">{{lastError}}</span>{{/if}}</td><td class="number">{{figure generationName generation ''}}</td><td class="id">{{position}}</td><td class="number">{{figure lagName lagEvents ''}}</td><td class="number">{{amount lagSeconds}}</td><td class="number">{{figure parkedName parked ''}}</td><td class="number">{{amount ready}}</td><td class="number">{{amount previous}}</td><td><svg class="spark" viewBox="0 0 150 24" preserveAspectRatio="none" data-plots="{{lagName}}" role="img" aria-label="Events that {{name}} was behind"></svg></td></tr>
{{/each}}</tbody></table></div>
{{#if isGone}}<p class="problem" role="alert">This run is not known any more. Start it again.</p>{{/if}}
{{#if run}}<h2>{{operation}}</h2>{{> run}}{{/if}}
{{#if diff}}
<dl class="figures">
<div><dt>Projection</dt><dd>{{diff.projection}}</dd></div>
<div><dt>Rows</dt><dd>{{amount diff.rowCount}}</dd></div>
<div><dt>Differences</dt><dd>{{figure 'differences' diff.count ''}}</dd></div>
<div><dt>Position</dt><dd>{{figure 'position' diff.position ''}}</dd></div>
</dl>
{{#if diff.rows.length}}<p class="actions"><a href="{{csvPath}}" download>Download as CSV</a></p>
<div class="scroll" tabindex="0"><table><thead>{{> heads heads=diff.heads}}</thead>
<tbody>{{#each diff.rows}}<tr><td>{{table}}</td><td>{{kind}}</td><td class="id">{{key}}</td><td>{{column}}</td><td class="id">{{live}}</td><td class="id">{{built}}</td></tr>{{/each}}</tbody></table></div>
{{> pager pager=diff.pager}}{{#if diff.hasMore}}<p class="note">The first {{amount diff.differences.length}} rows are listed; the command line lists all.</p>{{/if}}{{/if}}
{{else}}{{#if result}}<details><summary>Result</summary><pre>{{json result}}</pre></details>{{/if}}{{/if}}
<h2>Operate</h2>
<p>A rebuild makes a new generation beside the live one; look at its differences, then swap it in. With a tenant, a rebuild folds that part of the log into the live generation in place.</p>
<form class="fields" method="post" action="${PROJECTIONS_PATH}">{{> csrf}}
{{field 'projection' label="Projection" value=chosen none="all" options=names}}
{{field 'tenant' label="Tenant" value=part.tenant placeholder="all"}}
{{field 'mode' label="Mode" value=part.mode options=modes}}
{{field 'account' label="Account" value=part.account placeholder="all"}}
{{field 'confirmed' label="Type the projection's name to confirm" autocomplete="off" hint="to swap or roll back"}}
<p class="actions field wide"><button name="action" value="rebuild">Rebuild</button><button name="action" value="diff" class="quiet">Diff</button><button name="action" value="swap" class="quiet">Swap</button><button name="action" value="rollback" class="danger">Roll back</button><button name="action" value="retry" class="quiet">Retry parked</button></p>
</form>
<h2>Parked reactions</h2>
{{#if parked.rows.length}}<div class="scroll" tabindex="0"><table><thead>{{> heads heads=parked.heads}}</thead>
<tbody>{{#each parked.rows}}<tr><td>{{time since}}</td><td>{{policy}}</td><td class="id">{{eventId}}</td><td class="id">{{position}}</td><td>{{reason}}</td><td><form method="post" action="${PROJECTIONS_PATH}">{{> csrf}}<input type="hidden" name="reaction" value="{{id}}"><button name="action" value="retry-reaction" class="quiet">Retry</button></form></td></tr>
{{/each}}</tbody></table></div>{{else}}<p class="empty">No reaction is parked.</p>{{/if}}
<h2>History</h2>
{{#if history.rows.length}}<div class="scroll" tabindex="0"><table><thead>{{> heads heads=history.heads}}</thead>
<tbody>{{#each history.rows}}<tr><td>{{time startedAt}}</td><td>{{action}}</td><td>{{projection}}</td><td>{{actor}}</td><td>{{outcome}}</td></tr>{{/each}}</tbody></table></div>
{{else}}<p class="empty">Nothing was rebuilt yet.</p>{{/if}}`);

interface ShownDiff extends Omit<DiffDocument, 'rows'>, Sorted<DifferingColumn> {
  readonly rowCount: number;
  readonly pager: PagerView | null;
  readonly hasMore: boolean;
}

export const withFigureNames = (projection: ShownProjection) => ({
  ...projection,
  generationName: `generation:${projection.name}`,
  parkedName: `parked:${projection.name}`,
  lagName: `lag:${projection.name}`,
});

/** @param pathOf the address of the page with this order and section. */
export function shownDiff(
  { rows: rowCount, ...diff }: DiffDocument,
  { page, sort, dir }: AskedOrder & { readonly page: string },
  pathOf: (asked: Readonly<Record<string, string>>) => string,
): ShownDiff {
  const order = { sort, dir };
  const sorted = inOrder(differingColumns(diff), DIFFERING_COLUMNS, order, pathOf);
  return {
    ...diff,
    rowCount,
    heads: sorted.heads,
    hasMore: diff.count > diff.differences.length,
    ...onPage(sorted.rows, page, (at) => pathOf({ ...order, page: at })),
  };
}
