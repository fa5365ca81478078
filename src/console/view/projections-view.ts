import { namedActorInWords } from '../../operations/accounts/actor-in-words.js';
import type {
  DiffDocument,
  ShownHistoryEntry,
  parkedStreams,
  ShownProjection,
} from '../../operations/projections/projection-commands.js';
import type { ShownParkedReaction } from '../../operations/policies/policy.operations.js';
import { accountPath } from '../pages/customer-columns.js';
import { nameInWords, valueInWords } from './differences.js';
import { countCell, idCell, stateCell, textCell, timeCell, amountCell } from './cells.js';
import { tenantPath } from './navigation.js';
import { column, type PathWith, type TableColumn } from './table.js';
import { capital, numberText } from './templates.js';

export const PROJECTIONS_PATH = '/console/projections';

/** A projection with how fast it is read, in events a second; null: not known yet. */
export interface FollowedProjection extends ShownProjection {
  readonly perSecond: number | null;
}

/** `lagEvents` is counted up to this. */
const LAG_MAX = 1_000;

const lagText = ({ lagEvents, lagSeconds }: ShownProjection): string => {
  if (lagEvents === 0) return 'None';
  const events = `${numberText(lagEvents)}${lagEvents >= LAG_MAX ? ' or more' : ''}`;
  return `${events} events, ${numberText(lagSeconds)} s`;
};

const projectionColumns = (pathWith: PathWith): readonly TableColumn<FollowedProjection>[] => [
  column(['name', 'Projection'], ({ name, lastError }) =>
    textCell(name, { note: lastError, path: `${pathWith({ projection: name })}#operate` }),
  ),
  column('state', ({ parked, lagEvents }) =>
    stateCell(parked > 0 ? 'Parked streams' : lagEvents === 0 ? 'Up to date' : 'Catching up'),
  ),
  column('generation', ({ name, generation }) => countCell(generation, `generation:${name}`)),
  column(['position', 'minor'], (row) => idCell(row.position)),
  column('lag', (row) => amountCell(row.lagEvents, lagText(row), `lag:${row.name}`)),
  column(['speed', 'Events a second', 'minor'], ({ perSecond }) =>
    amountCell(perSecond, numberText(perSecond)),
  ),
  column(['parked', 'minor'], ({ name, parked }) => countCell(parked, `parked:${name}`)),
  column(['skipped', 'minor'], ({ name, skipped }) => countCell(skipped, `skipped:${name}`)),
  column(['ready', 'Built, waits for a swap', 'minor'], ({ ready }) =>
    amountCell(ready, `Generation ${ready}`),
  ),
];
/** @param pathWith the page with these members in its address. */
export const projectionTable = (pathWith: PathWith) => ({
  label: 'Projections',
  name: 'projections',
  columns: projectionColumns(pathWith),
  empty: { text: 'Projections appear here when the service follows the log.' },
});

/** A parked stream of a projection, or a parked reaction. */
export interface ParkedRow {
  readonly where: string;
  readonly since: string;
  readonly account: string | null;
  readonly path: string | null;
  readonly type: string | null;
  readonly reason: string;
  readonly form: ParkedForm;
}

/** What retries and skips it; empty members are of the other kind. */
interface ParkedForm {
  readonly title: string;
  readonly projection: string;
  readonly stream: string;
  readonly reaction: string;
  readonly retry: 'retry' | 'retry-reaction';
}

export const parkedStreamRow = (
  of: Awaited<ReturnType<typeof parkedStreams>>[number],
): ParkedRow => ({
  where: of.projection,
  since: of.since,
  account: of.account ?? of.stream,
  path:
    of.tenant === null || of.mode === null
      ? null
      : accountPath(tenantPath({ tenant: of.tenant, mode: of.mode }), of.account),
  type: of.type,
  reason: of.reason,
  form: {
    title: `${of.projection}: ${of.account ?? of.stream}`,
    projection: of.projection,
    stream: of.stream,
    reaction: '',
    retry: 'retry',
  },
});

export function parkedReactionRow(of: ShownParkedReaction): ParkedRow {
  const where = `Reaction: ${of.policy === '*' ? 'all' : of.policy.replaceAll('-', ' ')}`;
  const form = { projection: '', stream: '', reaction: of.id, retry: 'retry-reaction' } as const;
  const { since, eventId: type, reason } = of;
  return { where, since, account: null, path: null, type, reason, form: { title: where, ...form } };
}

const PARKED_COLUMNS: readonly TableColumn<ParkedRow>[] = [
  column(['where', 'Projection'], ({ where }) => textCell(where)),
  column('account', ({ account, path }) => textCell(account, { path })),
  column(['type', 'Event', 'minor'], ({ type }) => textCell(type)),
  column('reason', ({ reason }) => textCell(reason)),
  column(['since', 'minor'], ({ since }) => timeCell(since)),
];
export const PARKED_TABLE = {
  label: 'Parked streams',
  name: 'parked',
  columns: PARKED_COLUMNS,
  empty: { text: 'Nothing is parked: every event was applied.' },
};

const ACTIONS: Readonly<Record<string, string>> = {
  rebuild: 'Rebuild',
  repair: 'Repair',
  swap: 'Swap',
  rollback: 'Roll back',
  retry: 'Retry',
  skip: 'Skip',
};

const HISTORY_COLUMNS: readonly TableColumn<ShownHistoryEntry>[] = [
  column('time', ({ startedAt }) => timeCell(startedAt)),
  column('action', ({ action }) => textCell(ACTIONS[action] ?? action)),
  column('projection', ({ projection }) => textCell(projection)),
  column(['of', 'Part', 'minor'], ({ tenant, mode, accountRef }) =>
    textCell([tenant ?? 'All', mode, accountRef].filter((name) => name !== null).join(' ')),
  ),
  column(['operator', 'minor'], ({ actor }) => textCell(namedActorInWords(actor))),
  column(['outcome', 'State'], ({ outcome }) => stateCell(capital(outcome ?? 'running'))),
  column(['error', 'minor'], ({ details }) =>
    textCell(typeof details['error'] === 'string' ? details['error'] : ''),
  ),
];
export const HISTORY_TABLE = {
  label: 'History',
  name: 'history',
  columns: HISTORY_COLUMNS,
  empty: { text: 'Rebuilds, swaps, retries and skips appear here.' },
};

/** A column in which a row of two generations differs. */
type DifferingColumn = ReturnType<typeof differingColumns>[number];

const KINDS: Readonly<Record<string, string>> = {
  changed: 'Changed',
  missing: 'In the live one only',
  new: 'In the new one only',
};

const valueCell = (column: string, value: unknown) =>
  typeof value === 'number'
    ? amountCell(value, valueInWords(column, value))
    : textCell(valueInWords(column, value));

const DIFF_COLUMNS: readonly TableColumn<DifferingColumn>[] = [
  column(['column', 'Field'], ({ table, column }) =>
    textCell(nameInWords(column), { note: nameInWords(table) }),
  ),
  column(['kind', 'Difference'], ({ kind }) => textCell(KINDS[kind])),
  column('live', ({ column, live }) => valueCell(column, live)),
  column('new', ({ column, built }) => valueCell(column, built)),
  column(['tenant', 'minor'], ({ tenant }) => textCell(tenant)),
  column(['row', 'minor'], ({ row }) => idCell(row)),
];
export const DIFF_TABLE = {
  label: 'Differences',
  name: 'diff',
  columns: DIFF_COLUMNS,
  empty: { text: 'Both generations have the same rows.' },
};

export const differingColumns = ({ differences }: Pick<DiffDocument, 'differences'>) =>
  differences.flatMap(({ table, tenant, kind, key, columns }) =>
    columns.map(({ column, live, new: built }) => {
      const row = Object.values(key).map(String).join(' ');
      return { table, tenant, kind, row, column, live, built };
    }),
  );

/** The chosen projection with what can be made live. */
export const chosenProjection = (
  { generation, ready, previous }: ShownProjection,
  openForm: string,
) => ({
  seen: `${generation}/${ready ?? ''}/${previous ?? ''}`,
  switches: [
    {
      action: 'swap',
      label: 'Swap',
      tone: 'btn-primary',
      isOpen: openForm === 'swap',
      effect:
        ready === null
          ? 'There is no new generation yet: rebuild it first.'
          : `Generation ${ready} becomes live in place of generation ${generation}.`,
    },
    {
      action: 'rollback',
      label: 'Roll back',
      tone: 'btn-danger',
      isOpen: openForm === 'rollback',
      effect:
        previous === null
          ? 'There is no previous generation to go back to.'
          : `Generation ${previous} becomes live again in place of generation ${generation}.`,
    },
  ],
});
