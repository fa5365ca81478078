import type { ExportType } from '../../domain/export/export.decider.js';
import { EXPORT_FORMATS, EXPORT_TYPES } from '../../domain/export/export.decider.js';
import type { ExportStatus, ShownExport } from '../../exports/shown-export.js';
import { buttonCell, countCell, idCell, stateCell, textCell, timeCell } from './cells.js';
import { column, type TableColumn } from './table.js';

const TYPE_WORDS: Readonly<Record<ExportType, string>> = {
  USER: 'Users',
  REFERRAL: 'Referrals',
  USER_REFERRAL: 'Referrals of users',
  REWARD: 'Rewards',
  REWARD_BALANCE: 'Balances',
  USER_REWARD_BALANCE: 'Balances without pending credit',
};
const STATE_WORDS: Readonly<Record<ExportStatus, string>> = {
  PENDING: 'Running',
  COMPLETED: 'Ready',
  ABORTED: 'Failed',
  EXPIRED: 'Expired',
};

/** The filters of an export, with the labels of their fields. */
export const FILTERS = {
  createdSince: 'From',
  createdBefore: 'To',
  updatedSince: 'Changed from',
  updatedBefore: 'Changed to',
  programId: 'Program',
} as const;
export type ExportFilter = keyof typeof FILTERS;
const TIMES: readonly ExportFilter[] = [
  'createdSince',
  'createdBefore',
  'updatedSince',
  'updatedBefore',
];

/** The filters that fit a type: balances are those of now. */
export function filtersOfType(type: ExportType): readonly ExportFilter[] {
  if (type === 'REWARD_BALANCE' || type === 'USER_REWARD_BALANCE') return [];
  return type === 'USER' ? TIMES : [...TIMES, 'programId'];
}

/** The form as it was typed. */
export type TypedExport = Readonly<Record<'kind' | 'fileFormat' | 'name' | ExportFilter, string>>;

export const typeOf = ({ kind }: TypedExport): ExportType =>
  EXPORT_TYPES.find((known) => known === kind) ?? 'USER';

/** The fields of the form. @param programs of the tenant. */
export function exportForm(typed: TypedExport, programs: readonly string[]) {
  const type = typeOf(typed);
  const filters = filtersOfType(type);
  return {
    type,
    types: EXPORT_TYPES.map((value) => ({ value, words: TYPE_WORDS[value] })),
    format: typed.fileFormat,
    formats: EXPORT_FORMATS,
    name: typed.name,
    days: filters
      .filter((name) => name !== 'programId')
      .map((name) => ({ name, label: FILTERS[name], value: typed[name] })),
    programs: filters.includes('programId') && programs.length > 0 ? programs : null,
    programId: typed.programId,
    isOfNow: filters.length === 0,
  };
}

/** @param path of the exports. @param key of the page's forms. */
export const exportColumns = (path: string, key: string): readonly TableColumn<ShownExport>[] => [
  column(['name', 'Export'], ({ name, type, format }) =>
    textCell(name ?? TYPE_WORDS[type], {
      note: name === null ? format : `${TYPE_WORDS[type]}, ${format}`,
    }),
  ),
  column('period', ({ params }) => textCell(periodText(params))),
  column('state', ({ status }) => stateCell(STATE_WORDS[status])),
  column('rows', rowsCell),
  column(['by', 'minor'], ({ requester }) => textCell(requester)),
  column(['requested', 'minor'], ({ dateCreated }) => timeCell(dateCreated, true)),
  column(['expires', 'Kept until', 'minor'], ({ dateExpires }) => timeCell(dateExpires, true)),
  column(['id', 'minor'], ({ id }) => idCell(id)),
  column(['file', '', 'unsorted', 'page'], (one) =>
    one.status === 'COMPLETED'
      ? textCell('Download', { path: `${path}/${one.id}/file` })
      : buttonCell(
          one.status === 'PENDING'
            ? {
                action: 'cancel',
                label: 'Cancel',
                about: one.name ?? one.id,
                name: 'export',
                value: one.id,
                key: `${key}-${one.id}`,
              }
            : undefined,
        ),
  ),
];

/** `2026-10-01 to 2026-10-31`; null: everything. */
function periodText(params: ShownExport['params']): string | null {
  const dayOf = (name: ExportFilter): string => {
    const at = Date.parse(String(params[name] ?? ''));
    // The form stores the end of a last day as the beginning of the next one.
    const isEnd = name.endsWith('Before') && at % 86_400_000 === 0;
    return Number.isNaN(at) ? '' : new Date(isEnd ? at - 1 : at).toISOString().slice(0, 10);
  };
  const span = (from: ExportFilter, to: ExportFilter, words: string): string => {
    const [first, last] = [dayOf(from), dayOf(to)];
    if (first === '' && last === '') return '';
    return `${words}${[first && `from ${first}`, last && `to ${last}`].filter(Boolean).join(' ')}`;
  };
  const spans = [
    span('createdSince', 'createdBefore', ''),
    span('updatedSince', 'updatedBefore', 'changed '),
  ];
  return spans.filter(Boolean).join(', ') || null;
}

function rowsCell({ stats }: ShownExport) {
  const { rows, rowsDone, rowsTotal, reason } = stats ?? {};
  if (typeof rows === 'number') return countCell(rows, 'rows');
  if (typeof rowsDone === 'number')
    return textCell(
      `${rowsDone.toLocaleString('en-US')} of ${Number(rowsTotal).toLocaleString('en-US')}`,
    );
  return textCell(typeof reason === 'string' ? reason : null);
}
