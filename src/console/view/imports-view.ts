import { isEqual, type UnitControl } from '../../imports/runs/control.js';
import type { FilePreview } from '../../imports/files/file-preview.js';
import type { ImportAnswer } from '../../imports/runs/run-import.js';
import type { ShownImport } from '../../operations/imports/import-runs.js';
import type { Money } from '../../operations/registry/printing.js';
import type { Form } from '../sessions/form.js';
import { amountCell, countCell, stateCell, textCell, timeCell, type Cell } from './cells.js';
import { stateView } from './states.js';
import { column, type TableColumn } from './table.js';
import { amountText, capital } from './templates.js';

const answerOf = ({ result }: Pick<ShownImport, 'result'>): ImportAnswer | null =>
  result === null ? null : (result as ImportAnswer);

/** @param path of the imports. */
export const importColumns = (path: string): readonly TableColumn<ShownImport>[] => [
  column(['kind', 'Import'], ({ id, kind, dryRun }) =>
    textCell(capital(kind), {
      path: `${path}/${id}`,
      note: dryRun ? 'Check of a file' : null,
    }),
  ),
  column('state', ({ state }) => stateCell(capital(state))),
  column('imported', countOf('imported')),
  column('rejected', countOf('rejected')),
  column(['by', 'minor'], ({ by }) => textCell(by)),
  column(['started', 'minor'], ({ startedAt }) => timeCell(startedAt)),
  column(['finished', 'minor'], ({ finishedAt }) => timeCell(finishedAt)),
];

const countOf =
  (name: 'imported' | 'rejected') =>
  (run: ShownImport): Cell => {
    const count = answerOf(run)?.[name];
    return count === undefined ? textCell(null) : countCell(count);
  };

/** One import: its progress, and what came of it. */
export function importView(run: ShownImport, money: Money | undefined) {
  const { progress, state } = run;
  const answer = answerOf(run);
  return {
    ...run,
    stateView: stateView(capital(state)),
    isRunning: state === 'running',
    /** The ids of people are their own. */
    hasIds: !run.dryRun && run.kind !== 'users',
    canContinue: state === 'failed' || state === 'cancelled',
    progressText: state === 'running' ? progressText(progress) : state,
    secondsLeft: progress?.secondsLeft ?? null,
    done: progress?.done ?? 0,
    total: progress?.total ?? null,
    answer,
    isEqual: answer === null || isEqual(answer.control),
    control: answer === null ? [] : answer.control.flatMap((unit) => controlRows(unit, money)),
  };
}

const progressText = (progress: ShownImport['progress']): string =>
  progress?.total == null
    ? 'Reading the file'
    : `${progress.done.toLocaleString('en-US')} of ${progress.total.toLocaleString('en-US')} rows`;

const FIGURES = ['assigned', 'redeemed', 'available'] as const;

function controlRows({ unit, ...sides }: UnitControl, money: Money | undefined) {
  return (['file', 'ledger'] as const).map((side) => {
    const figures = sides[side];
    return {
      unit,
      of: side === 'file' ? 'File' : 'Ledger',
      rewards: figures.rewards,
      cells: FIGURES.map((name) => {
        const exact = BigInt(figures[name]);
        // What was redeemed left the account.
        const shown = name === 'redeemed' ? -exact : exact;
        return amountCell(exact, amountText(shown, unit, money), `control.${side}.${name}`);
      }),
    };
  });
}

/** The columns of a file as they were chosen; null: not imported. */
export type ChosenFields = ReadonlyMap<string, string>;

/** The table that says what each column becomes. */
export const columnsView = ({ columns, fields }: FilePreview, chosen: ChosenFields) =>
  columns.map(({ name, field, values }, place) => ({
    id: `field-${place}`,
    name,
    label: `Field of column ${name}`,
    values: values.map((value) => (value.length > 60 ? `${value.slice(0, 60)}…` : value)),
    field: chosen.get(name) ?? field ?? '',
    // A known column is imported in any case.
    none: field === null ? 'Not imported' : undefined,
    options: fields,
  }));

/** What `--map` would say of the fields that a form chose. */
export function mapIn(form: Pick<Form, 'text'>, { columns }: FilePreview): Record<string, string> {
  const pairs = columns.flatMap(({ name, field }, place) => {
    const chosen = form.text(`field-${place}`);
    return chosen === '' || chosen === field ? [] : [[name, chosen] as const];
  });
  return Object.fromEntries(pairs);
}
