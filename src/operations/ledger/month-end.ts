import { ActivityQueries } from '../../../projections/activity/queries.js';
import type { Core } from '../../stores/core.js';
import { modeOf, type Scope } from '../../domain/scope.js';
import { pages } from '../../event-log/event-pages.js';
import { readFrom } from '../rebuilt-read-models.js';
import { decodeTypes } from './ledger-entries.js';
import { parsePeriod } from './ledger-selection.js';
import { listProposals } from './ledger-proposals.js';

/** A step of a month end, and the operation that does it. */
const STEPS = {
  statement: ['ledger tenant-statement'],
  reconcile: ['ledger reconcile'],
  replay: ['ledger replay'],
  digest: ['ledger digest'],
} as const;

type Step = keyof typeof STEPS;

/** By an operator; null: the name is erased. `at` in epoch milliseconds. */
interface StepDone {
  readonly by: string | null;
  readonly at: number;
}

/** Operations after the month's end that are searched for its steps. */
const SEARCHED_MAX = 2_000;
const PROPOSALS_MAX = 200;

/** The newest operation of each step on the month since it ended, and the corrections that wait. */
export async function monthEnd(core: Core, scope: Scope, period: string) {
  const { to } = parsePeriod(period);
  const asked = { tenant: scope.tenant, by: undefined, since: to, limit: SEARCHED_MAX };
  const found = await readFrom(core, 'activity', ActivityQueries, (activity) =>
    activity.list(asked),
  );
  const ofMode = found.filter(({ mode }) => modeOf(mode) === modeOf(scope.mode));
  // A replay and a digest are of the whole ledger.
  const isOf = ({ period: of, from }: Readonly<Record<string, string>>): boolean =>
    (of ?? from ?? '').startsWith(period);
  const stepOf = (step: Step): StepDone | null => {
    const names: readonly string[] = STEPS[step];
    const isWhole = step === 'replay' || step === 'digest';
    const row = ofMode.find(
      ({ operation, parameters }) => names.includes(operation) && (isWhole || isOf(parameters)),
    );
    return row === undefined ? null : { by: row.name, at: row.at };
  };
  const selection = { state: 'waiting', limit: PROPOSALS_MAX, now: Date.now() } as const;
  return {
    statement: stepOf('statement'),
    reconcile: stepOf('reconcile'),
    replay: stepOf('replay'),
    digest: stepOf('digest'),
    waiting: (await listProposals(core, scope, selection)).length,
  };
}

const CHANGES: ReadonlySet<string> = new Set(['PeriodClosed', 'PeriodReopened']);

export type PeriodChange = Awaited<ReturnType<typeof periodChanges>>[number];

/** All changes of months, the newest first. Texts are null when they are forgotten. */
export async function periodChanges(
  { log, codec, names }: Pick<Core, 'log' | 'codec' | 'names'>,
  scope: Scope,
) {
  const changes = [];
  for await (const page of pages(log.readStream(names.periodsStream(scope))))
    for (const { event } of await decodeTypes(codec, page, CHANGES))
      if (event.type === 'PeriodClosed' || event.type === 'PeriodReopened')
        changes.push({
          period: event.period,
          isClosed: event.type === 'PeriodClosed',
          /** Epoch milliseconds. */
          at: event.at,
          by: event.by.value,
          comment: event.comment.value,
        });
  return changes.reverse();
}
