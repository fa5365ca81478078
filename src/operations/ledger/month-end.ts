import { ActivityQueries } from '../../../projections/activity/queries.js';
import type { Core } from '../../stores/core.js';
import { modeOf, type Scope } from '../../domain/scope.js';
import { readFrom } from '../rebuilt-read-models.js';
import { decodedIn } from './ledger-entries.js';
import { parsePeriod } from './ledger-selection.js';
import { listProposals } from './ledger-proposals.js';

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
  const ofMonth = ofMode.filter(({ parameters: { period: of, from } }) =>
    (of ?? from ?? '').startsWith(period),
  );
  /** The name of its operator may be erased; null: it was not done. */
  const lastIn = (rows: typeof found, name: string) => {
    const row = rows.find(({ operation }) => operation === name);
    return row === undefined ? null : { by: row.name, at: row.at };
  };
  const selection = { state: 'waiting', limit: PROPOSALS_MAX, now: Date.now() } as const;
  return {
    statement: lastIn(ofMonth, 'ledger tenant-statement'),
    reconcile: lastIn(ofMonth, 'ledger reconcile'),
    // Of the whole ledger.
    replay: lastIn(ofMode, 'ledger replay'),
    digest: lastIn(ofMode, 'ledger digest'),
    waiting: (await listProposals(core, scope, selection)).length,
  };
}

const CHANGES: ReadonlySet<string> = new Set(['PeriodClosed', 'PeriodReopened']);

export type PeriodChange = Awaited<ReturnType<typeof periodChanges>>[number];

/** All changes of months, the newest first. Texts are null when they are forgotten. */
export async function periodChanges(core: Pick<Core, 'log' | 'codec' | 'names'>, scope: Scope) {
  const changes = [];
  for await (const { event } of decodedIn(core, core.names.periodsStream(scope), CHANGES))
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
