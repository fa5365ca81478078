import type {
  DiffDocument,
  ShownHistoryEntry,
  parkedStreams,
  ShownProjection,
} from '../../operations/projections/projection-commands.js';
import type { ShownParkedReaction } from '../../operations/policies/policy-commands.js';
import { accountPath } from '../pages/customer-columns.js';
import { nameInWords, valueInWords } from './differences.js';
import { countCell, idCell, stateCell, textCell, timeCell, amountCell } from './cells.js';
import { tenantPath } from './navigation.js';
import type { PathWith, TableColumn } from './table.js';
import { numberText } from './templates.js';

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

/** @param pathWith the page with these members in its address. */
export const projectionColumns = (
  pathWith: PathWith,
): readonly TableColumn<FollowedProjection>[] => [
  {
    key: 'name',
    label: 'Projection',
    cell: ({ name, lastError }) =>
      textCell(name, { note: lastError, path: `${pathWith({ projection: name })}#operate` }),
  },
  {
    key: 'state',
    label: 'State',
    cell: ({ parked, lagEvents }) =>
      stateCell(parked > 0 ? 'Parked streams' : lagEvents === 0 ? 'Up to date' : 'Catching up'),
  },
  {
    key: 'generation',
    label: 'Generation',
    cell: ({ name, generation }) => countCell(generation, `generation:${name}`),
  },
  { key: 'position', label: 'Position', cell: (row) => idCell(row.position), isMinor: true },
  {
    key: 'lag',
    label: 'Lag',
    cell: (row) => amountCell(row.lagEvents, lagText(row), `lag:${row.name}`),
  },
  {
    key: 'speed',
    label: 'Events a second',
    cell: ({ perSecond }) => amountCell(perSecond, numberText(perSecond)),
    isMinor: true,
  },
  {
    key: 'parked',
    label: 'Parked',
    cell: ({ name, parked }) => countCell(parked, `parked:${name}`),
    isMinor: true,
  },
  {
    key: 'skipped',
    label: 'Skipped',
    cell: ({ name, skipped }) => countCell(skipped, `skipped:${name}`),
    isMinor: true,
  },
  {
    key: 'ready',
    label: 'Built, waits for a swap',
    cell: ({ ready }) => amountCell(ready, `Generation ${ready}`),
    isMinor: true,
  },
];

/** A parked stream of a projection, or a parked reaction. */
export interface ParkedRow {
  readonly where: string;
  readonly since: string;
  readonly account: string | null;
  readonly path: string | null;
  readonly type: string | null;
  readonly reason: string;
  /** Empty: it is of the other kind. */
  readonly projection: string;
  readonly stream: string;
  readonly reaction: string;
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
  projection: of.projection,
  stream: of.stream,
  reaction: '',
});

export const parkedReactionRow = (of: ShownParkedReaction): ParkedRow => ({
  where: `Reaction: ${of.policy === '*' ? 'all' : of.policy.replaceAll('-', ' ')}`,
  since: of.since,
  account: null,
  path: null,
  type: of.eventId,
  reason: of.reason,
  projection: '',
  stream: '',
  reaction: of.id,
});

export const PARKED_COLUMNS: readonly TableColumn<ParkedRow>[] = [
  { key: 'where', label: 'Projection', cell: ({ where }) => textCell(where) },
  { key: 'account', label: 'Account', cell: ({ account, path }) => textCell(account, { path }) },
  { key: 'type', label: 'Event', cell: ({ type }) => textCell(type), isMinor: true },
  { key: 'reason', label: 'Reason', cell: ({ reason }) => textCell(reason) },
  { key: 'since', label: 'Since', cell: ({ since }) => timeCell(since), isMinor: true },
];

/** What retries and skips a parked row. @param openForm the form that was refused. */
export const parkedForm = (row: ParkedRow, index: number, openForm: string) => ({
  title: row.projection ? `${row.projection}: ${row.account}` : row.where,
  projection: row.projection,
  stream: row.stream,
  reaction: row.reaction,
  retry: row.reaction ? 'retry-reaction' : 'retry',
  isOpen: openForm === `skip-${index}`,
});

const ACTIONS: Readonly<Record<string, string>> = {
  rebuild: 'Rebuild',
  repair: 'Repair',
  swap: 'Swap',
  rollback: 'Roll back',
  retry: 'Retry',
  skip: 'Skip',
};
const OUTCOMES: Readonly<Record<string, string>> = {
  done: 'Done',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

export const HISTORY_COLUMNS: readonly TableColumn<ShownHistoryEntry>[] = [
  { key: 'time', label: 'Time', cell: ({ startedAt }) => timeCell(startedAt) },
  { key: 'action', label: 'Action', cell: ({ action }) => textCell(ACTIONS[action] ?? action) },
  { key: 'projection', label: 'Projection', cell: ({ projection }) => textCell(projection) },
  {
    key: 'of',
    label: 'Part',
    cell: ({ tenant, mode, accountRef }) =>
      textCell([tenant ?? 'All', mode, accountRef].filter((name) => name !== null).join(' ')),
    isMinor: true,
  },
  { key: 'operator', label: 'Operator', cell: ({ actor }) => textCell(actor), isMinor: true },
  {
    key: 'outcome',
    label: 'State',
    cell: ({ outcome }) => stateCell(outcome === null ? 'Running' : (OUTCOMES[outcome] ?? outcome)),
  },
  {
    key: 'error',
    label: 'Error',
    cell: ({ details }) => textCell(typeof details['error'] === 'string' ? details['error'] : ''),
    isMinor: true,
  },
];

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

export const DIFF_COLUMNS: readonly TableColumn<DifferingColumn>[] = [
  {
    key: 'column',
    label: 'Field',
    cell: ({ table, column }) => textCell(nameInWords(column), { note: nameInWords(table) }),
  },
  { key: 'kind', label: 'Difference', cell: ({ kind }) => textCell(KINDS[kind]) },
  { key: 'live', label: 'Live', cell: ({ column, live }) => valueCell(column, live) },
  { key: 'new', label: 'New', cell: ({ column, built }) => valueCell(column, built) },
  { key: 'tenant', label: 'Tenant', cell: ({ tenant }) => textCell(tenant), isMinor: true },
  { key: 'row', label: 'Row', cell: ({ row }) => idCell(row), isMinor: true },
];

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
