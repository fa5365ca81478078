import type { Readable } from 'node:stream';
import { ACTIVITY_KINDS, type ActivityKind } from '../../operations/activity/activity-kinds.js';
import {
  listActivity,
  type AskedActivity,
  type ShownActivity,
} from '../../operations/activity/list-activity.js';
import { rowsByPages } from '../../projecting/following/row-lists.js';
import { sendCsv, sendPage } from '../console-answers.js';
import { ConsoleCall } from '../console-call.js';
import { ConsolePage, FilePageFor } from '../console-routes.js';
import { stateCell, textCell, timeCell } from '../view/cells.js';
import { DAYS, listAsked, type FilterField } from '../view/list-page.js';
import { canOpen, tenantPath } from '../view/navigation.js';
import { column, sheetOf, type TableColumn } from '../view/table.js';
import { template } from '../view/templates.js';
import { accountPath } from './customer-columns.js';
import { queryOf, TenantPages } from './tenant-pages.js';

const PATH = '/console/activity';
const content = template('list');

const KINDS: Readonly<Record<ActivityKind, string>> = {
  sessions: 'Sessions',
  customers: 'Customers',
  finance: 'Finance',
  delivery: 'Delivery',
  program: 'Program and settings',
  system: 'System',
  personal: 'Access to personal data',
};
type Filters = Omit<AskedActivity, 'limit' | 'offset'>;

/** What operators did, for finance and support. */
@ConsolePage('activity')
export class ConsoleActivityController {
  constructor(private readonly pages: TenantPages) {}

  @FilePageFor('finance', 'support')
  async page(@ConsoleCall() call: ConsoleCall): Promise<string | Readable> {
    const { core } = this.pages;
    const { within } = call;
    const tenants = (await core.tenantCommands.list()).map(({ alias }) => alias);
    const columns = columnsFor(call);
    const { isFile, request, view } = listAsked(call, {
      path: PATH,
      label: 'Activity',
      columns,
      newest: { sort: 'time', descending: true },
      filters: filtersOf(tenants),
      kept: { within },
      empty: {
        text: 'What operators do in the console, on the command line and over HTTP appears here.',
      },
    });
    const found = ({ limit, offset }: { readonly limit: number; readonly offset: number }) =>
      listActivity(core, { ...(request.filters as Filters), limit, offset });
    const frame = { title: 'Activity', section: PATH };
    if (!isFile) return sendPage(call, frame, content, view(await found(request)));
    const rows = rowsByPages(async (page) => (await found(page)).rows);
    return sendCsv(call, 'activity', sheetOf(rows, columns));
  }
}

const filtersOf = (tenants: readonly string[]): readonly FilterField[] => [
  { name: 'operator', label: 'Operator' },
  {
    name: 'kind',
    label: 'Kind',
    options: [
      ...ACTIVITY_KINDS.map((kind) => ({ value: kind, words: KINDS[kind] })),
      { value: 'all', words: 'All' },
    ],
    none: 'All but access to personal data',
    as: 'kinds',
    toValue: (kind) => (kind === 'all' ? ACTIVITY_KINDS : [kind]),
  },
  { name: 'tenant', label: 'Tenant', options: tenants, isOpen: true },
  ...DAYS,
];

/** The page of each kind of object, below that of the tenant. */
const PAGES = {
  account: ['Account', '/accounts'],
  referral: ['Referral', '/referrals'],
  proposal: ['Correction', '/corrections'],
  delivery: ['Delivery', '/webhooks'],
  mail: ['Mail', '/mails'],
  export: ['Export', '/exports'],
} as const;

function columnsFor({ operator }: ConsoleCall): readonly TableColumn<ShownActivity>[] {
  const objectCell = ({ object, tenant, mode }: ShownActivity) => {
    if (object === null) return textCell(null);
    const [noun, section] = PAGES[object.kind];
    const path = tenant !== null && mode !== null ? tenantPath({ tenant, mode }) : null;
    const isOpen = path !== null && canOpen(operator, section);
    const text = object.kind === 'account' ? object.id : `${noun} ${object.id.slice(0, 8)}`;
    if (!isOpen) return textCell(text);
    return textCell(text, {
      path:
        object.kind === 'account'
          ? accountPath(path, object.id)
          : `${path}${section}${queryOf({ [section === '/webhooks' ? 'delivery' : 'text']: object.id })}`,
    });
  };
  return [
    column(['time', 'unsorted'], ({ at }) => timeCell(at)),
    column(['operator', 'unsorted'], (row) => textCell(row.operator ?? 'Forgotten')),
    column(['activity', 'unsorted'], ({ sentence, reason }) =>
      textCell(sentence, { note: reason }),
    ),
    column(['object', 'unsorted'], objectCell),
    ...OTHER_COLUMNS,
  ];
}

const OTHER_COLUMNS: readonly TableColumn<ShownActivity>[] = [
  column(['tenant', 'unsorted', 'minor'], ({ tenant }) => textCell(tenant)),
  column(['mode', 'unsorted', 'minor'], ({ mode }) =>
    mode === null ? textCell(null) : stateCell(mode === 'live' ? 'Live' : 'Test'),
  ),
  column(['channel', 'unsorted', 'minor'], ({ channel }) => textCell(channel)),
  column(['kind', 'unsorted', 'minor'], ({ kind }) => textCell(KINDS[kind])),
  column(['reason', 'file'], ({ reason }) => textCell(reason)),
  column(['objectId', 'file'], ({ object }) => textCell(object?.id)),
];
