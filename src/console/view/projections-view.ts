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

export const content = template('projections');

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
