import type { ShownRun } from '../../operations/operation-runs.js';
import { partial } from './templates.js';

/** A run on a page: while it is under way its progress, and the reason why it failed. */
export interface RunView {
  readonly id: string;
  readonly isRunning: boolean;
  readonly progress: string;
  readonly done: number;
  /** 0: unknown. */
  readonly total: number;
  readonly startedAt: string;
  readonly error: string | null;
}

/** Undefined: an id was named, and no such run is known to this process. */
export function runView(run: ShownRun): RunView {
  const { id, state, progress, startedAt, error } = run;
  return {
    id,
    isRunning: state === 'running',
    progress: progressText(run),
    done: progress?.done ?? 0,
    total: progress?.total ?? 0,
    startedAt,
    error,
  };
}

/** `done` at the end, which readers of the page wait for. */
export function progressText({ state, progress }: Pick<ShownRun, 'state' | 'progress'>): string {
  if (state === 'done') return 'done';
  if (state === 'failed') return 'failed';
  if (progress === null) return 'begun';
  const { phase, done, total } = progress;
  return total === null ? `${phase}: ${done}` : `${phase}: ${done} of ${total}`;
}

partial(
  'run',
  `{{#if run.isRunning}}
<section class="run" data-run="/console/runs/{{run.id}}" aria-live="polite">
<p>Begun {{time run.startedAt}}: <span data-figure="progress" data-value="{{run.progress}}">{{run.progress}}</span></p>
<progress{{#if run.total}} max="{{run.total}}" value="{{run.done}}"{{/if}} aria-label="Progress"></progress>
<form method="post" action="/console/runs/{{run.id}}/cancel">{{> csrf}}<input type="hidden" name="back" value="{{here}}"><button class="quiet">Cancel</button></form>
</section>
{{else}}{{#if run.error}}<p class="problem" role="alert">{{run.error}}</p>{{else}}
<p class="done"><span data-figure="progress" data-value="done">Done</span>, begun {{time run.startedAt}}</p>{{/if}}{{/if}}`,
);
