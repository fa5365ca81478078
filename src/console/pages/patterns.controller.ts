import { Controller, Get, Query as QueryParameters } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { ShownRun } from '../../http/operations/operation-runs.js';
import { ConsoleCall, ForRoles, pageSent } from '../console-call.js';
import { changedLines, type ChangedLine } from '../view/changed-lines.js';
import { plotView, type PlotView } from '../view/plot.js';
import { runView, type RunView } from '../view/run-view.js';
import { inOrder, type Column, type HeadView } from '../view/sorting.js';
import { template, type WithForms } from '../view/templates.js';
import { queried, queryOf } from './tenant-pages.js';

const PATH = '/console/patterns';

interface SampleRow {
  readonly name: string;
  readonly at: string;
  readonly amount: number;
}

const ROWS: readonly SampleRow[] = [
  { name: 'Ann Lee', at: '2026-10-01T08:00:00.000Z', amount: 1_250_000 },
  { name: '<b>Bob</b>', at: '2026-10-02T09:30:00.000Z', amount: -300 },
];

const COLUMNS: readonly Column<SampleRow>[] = [
  { label: 'Name', key: 'name', value: ({ name }) => name },
  { label: 'Time', key: 'time', value: ({ at }) => at },
  { label: 'Amount', key: 'amount', isNumber: true, value: ({ amount }) => amount },
  { label: 'Not sorted' },
];

const SAMPLE_RUN: ShownRun = {
  id: '',
  operation: 'ledger replay',
  by: 'fay',
  tenant: 'demo',
  mode: 'live',
  parameters: {},
  state: 'running',
  startedAt: '2026-10-01T08:00:00.000Z',
  finishedAt: null,
  progress: { phase: 'replaying', done: 1_200, total: 4_800 },
  result: null,
  error: null,
};
const HALF_A_MINUTE_LATER = Date.parse(SAMPLE_RUN.startedAt) + 30_000;

const RUNS: readonly RunView[] = [
  runView(SAMPLE_RUN, HALF_A_MINUTE_LATER),
  runView({ ...SAMPLE_RUN, state: 'done', result: {} }, HALF_A_MINUTE_LATER),
  runView({ ...SAMPLE_RUN, state: 'failed', error: 'stopped' }, HALF_A_MINUTE_LATER),
];

const content = template<
  WithForms & {
    here: string;
    rows: readonly SampleRow[];
    heads: readonly HeadView[];
    problems: readonly string[];
    runs: readonly RunView[];
    plot: PlotView | null;
    changes: readonly ChangedLine[];
    now: string;
  }
>(`
<p>Every component of the console once. Look here after a change of the style sheet, in light and dark, from 390 pixels on, and in print.</p>
<h2>Texts</h2>
<p>A text with <a href="${PATH}">a link</a>, <code>code</code>, a moment {{time now}} and <span class="note">a note</span>.</p>
<p class="id">0197c1f0-6a5e-7c1b-9b7e-3f1f6a0d2c44</p>
<p><span class="mode live">live</span> <span class="mode test">test</span></p>
<h2>Messages</h2>
<p class="problem" role="alert">The month is not over yet.</p>
{{> problems}}
<p class="done">The read models say what the ledger says.</p>
<p class="empty">No month is closed yet.</p>
<div class="done" role="status"><p>The new API key. It is shown this once: copy it now.</p><p><code class="secret" tabindex="0">LIVE_0000000000000000</code></p></div>
<h2>Figures</h2>
<dl class="figures">
<div><dt>Outstanding credit</dt><dd>{{figure 'sample.amount' 1250000 'CENTS'}}</dd></div>
<div><dt>A count</dt><dd>{{figure 'sample.count' 42 ''}}</dd></div>
<div><dt>Unknown</dt><dd>{{time ''}}</dd></div>
<div><dt>Digest</dt><dd class="id">{{figure 'sample.digest' 'b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c' ''}}</dd></div>
</dl>
<h2>Plot</h2>
{{> plot}}
<h2>Table</h2>
<div class="scroll" tabindex="0"><table><caption>Heads sort</caption>
<thead>{{> heads}}</thead>
<tbody>{{#each rows}}<tr><td>{{name}}</td><td>{{time at}}</td><td class="number">{{figure 'line.amount' amount 'CENTS'}}</td><td><form class="actions" method="get" action="${PATH}"><button class="quiet">Show</button></form></td></tr>
{{/each}}<tr class="sum"><td>Sum</td><td></td><td class="number">{{amount 1249700}}</td><td></td></tr></tbody></table></div>
<h2>Form</h2>
<form class="fields" method="get" action="${PATH}">
{{formField 'text' label="Text" placeholder="all" hint="A hint"}}
{{formField 'month' label="Wrong" value="2026-13" hint="A month"}}
<div class="field"><label for="choice">Choice</label><select id="choice"><option>live</option><option>test</option></select></div>
{{formField 'file' label="File" type="file"}}
{{formField 'long' label="Long text" rows="3" value="" wide=true}}
<fieldset class="wide"><legend>Switches</legend><div class="fields broad"><div class="tick"><input type="checkbox" id="on" checked><label for="on">Open endpoints</label><span class="hint">Widgets call them without a key.</span></div><div class="tick"><input type="radio" id="one" name="choice" checked><label for="one">One of several</label></div></div></fieldset>
<p class="actions field wide"><button>Do it</button><button class="quiet">Something else</button><button class="danger">Roll back</button><button disabled>Not now</button></p>
</form>
<h2>Runs</h2>
{{#each runs}}{{> run run=this here=@root.here}}{{/each}}
<h2>History</h2>
<ol class="history"><li>{{time now}} 10 % discount granted to Bob, because code ANNLEE was applied <span class="note">policy</span>
<details><summary>RewardGranted at 42</summary><pre tabindex="0">{{json changes}}</pre></details></li></ol>
<h2>Changes</h2>
<pre class="id" tabindex="0">{{#each changes}}{{sign}} {{line}}
{{/each}}</pre>`);

/** For whoever changes pages: their components. Only with CONSOLE_PATTERNS=on. */
@ApiExcludeController()
@Controller('console/patterns')
export class ConsolePatternsController {
  @Get()
  @ForRoles('finance', 'support', 'viewer')
  page(@ConsoleCall() call: ConsoleCall, @QueryParameters() query: unknown): string {
    const asked = queried(query, 'sort', 'dir');
    const { rows, heads } = inOrder(ROWS, COLUMNS, asked, (order) => queryOf({ ...order }) || PATH);
    return pageSent(call, { title: 'Patterns', section: PATH }, content, {
      here: PATH,
      rows,
      heads,
      problems: ['rules.0.reward.type: must be one of CREDIT, PCT_DISCOUNT', 'name: is missing'],
      runs: RUNS,
      plot: plotView('A sample over time', PLOTTED),
      changes: changedLines('{\n  "percent": 10\n}', '{\n  "percent": 15\n}'),
      now: SAMPLE_RUN.startedAt,
    });
  }
}

const PLOTTED = [0, 500, 900, 700, 1_400, 1_250].map((balance, day) => ({
  at: day * 86_400_000,
  balance,
}));
