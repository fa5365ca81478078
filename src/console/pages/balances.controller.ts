import { Readable } from 'node:stream';
import type {
  BalanceFilters,
  BalanceListRow,
  BalanceSort,
} from '../../../projections/reward-balances/list-queries.js';
import { CustomerReads } from '../../operations/customers/lists/customer-lists.js';
import { ledgerBalances } from '../../operations/ledger/ledger-balances.js';
import { Stopped } from '../../operations/log/log-reader.js';
import { NotDone, type Outcome } from '../../operations/outcome.js';
import { sendPage } from '../console-answers.js';
import { TenantCall } from '../console-call.js';
import { FilePageFor, TenantPage } from '../console-routes.js';
import { amountCell, idCell, textCell } from '../view/cells.js';
import { faultsOf } from '../view/faults.js';
import { listShown, type ListDefinition } from '../view/list-page.js';
import { shownAmounts, sumsByUnit, type ShownAmount } from '../view/shown-amounts.js';
import { column, partOf, type TableColumn } from '../view/table.js';
import { template } from '../view/templates.js';
import { accountPath } from './customer-columns.js';
import { filledIn, queried, queryOf, TenantPages } from './tenant-pages.js';

/** People of a moment before are named of so many accounts. */
const ACCOUNTS_MAX = 2_000;
const READ_MS_MAX = 15_000;
/** The sums of more balances follow the page. */
const SUMMED_MAX = 20_000;

type QueryFields = Readonly<Record<'asOf' | 'text' | 'unit' | 'format' | 'sums', string>>;
type Past = Outcome<readonly BalanceListRow[]>;

const content = template('balances');

/** The credit of every account: now from the read model, at a moment before from the ledger. */
@TenantPage('balances')
export class ConsoleBalancesController {
  constructor(
    private readonly pages: TenantPages,
    private readonly reads: CustomerReads,
  ) {}

  @FilePageFor('finance', 'support')
  async page(@TenantCall() call: TenantCall): Promise<string | Readable> {
    const asked = queried(call.query, 'asOf', 'text', 'unit', 'format', 'sums');
    const text = await shownAmounts(this.pages.core.tenants, call.scope);
    const past = asked.asOf === '' ? undefined : await this.past(call, asked);
    const rows = past instanceof NotDone ? [] : past;
    const shown = await listShown(this.pages, call, this.list(call, asked, { text, rows }));
    if (shown instanceof Readable) return shown;
    const isLong = past instanceof Stopped;
    const frame = { of: 'balances', headNote: 'Times are in UTC.' };
    const isSummed = shown.table.foot.total <= SUMMED_MAX || asked.sums !== '';
    const filters = filledIn({ text: asked.text, unit: asked.unit });
    const sums = isSummed ? (rows ?? (await this.reads.balanceSums(call.ledger, filters))) : [];
    return sendPage(call, { ...frame, faults: faultsOf(isLong ? undefined : past) }, content, {
      ...shown,
      isLong,
      sums: sumsOf(sums, text),
      sumsPath: isSummed
        ? null
        : `${call.tenantPath}/balances${queryOf({ ...asked, sums: 'yes' })}`,
    });
  }

  private list(
    call: TenantCall,
    { asOf }: QueryFields,
    { text, rows }: { readonly text: ShownAmount; readonly rows?: readonly BalanceListRow[] },
  ): ListDefinition<BalanceListRow, BalanceFilters, BalanceSort> {
    const { scope } = call;
    const columns = columnsOf(call.tenantPath, text);
    const moment = asOf.replace(/[^\d-]/g, '-');
    return {
      section: '/balances',
      name: 'balances',
      fileName: ['balances', scope.tenant, scope.mode, moment].filter(Boolean).join('-'),
      columns,
      newest: { sort: 'opened', descending: true },
      filters: [
        { name: 'asOf', label: 'As of', isMoment: true },
        { name: 'text', label: 'Text', placeholder: 'Name or account' },
        { name: 'unit', label: 'Unit', placeholder: 'All' },
      ],
      queries: rows ? inMemory(rows, columns) : this.reads.balances,
      empty: { text: 'Accounts appear here once they have credit.' },
    };
  }

  /** Of a moment before, as the ledger has them. A page does not wait for very many. */
  private async past(call: TenantCall, { asOf, text, unit, format }: QueryFields): Promise<Past> {
    const { ledger } = call;
    const soon = format === 'csv' ? [] : [AbortSignal.timeout(READ_MS_MAX)];
    const signal = AbortSignal.any([call.departure(), ...soon]);
    const found = await this.pages.recorded(call, 'ledger balances', (core) =>
      ledgerBalances(core, ledger, { asOf }, { signal }),
    );
    if (found instanceof NotDone) return found;
    const request = { filters: {}, sort: 'opened', descending: true, offset: 0 } as const;
    const accounts = { ...request, limit: ACCOUNTS_MAX };
    const { rows } = await this.reads.accounts.page(ledger, accounts);
    const known = new Map(rows.map((row) => [row.accountId, row]));
    const words = text.toLowerCase().split(/\s+/);
    return found
      .map((balance) => {
        const { people = [], currencyOfCents: currency = '' } = known.get(balance.account) ?? {};
        return { ...balance, people, currency };
      })
      .filter((row) => unit === '' || row.unit.toLowerCase() === unit.toLowerCase())
      .filter(({ people, account }) => {
        const searched = [...people, account].join(' ').toLowerCase();
        return words.every((word) => searched.includes(word));
      });
  }
}

const inMemory = (
  rows: readonly BalanceListRow[],
  columns: readonly TableColumn<BalanceListRow, BalanceSort>[],
): CustomerReads['balances'] => ({
  page: async (_scope, { limit: size, offset, ...request }) => ({
    ...partOf(rows, columns, { ...request, page: offset / size + 1, size }),
    isAbout: false,
  }),
  async *rows(_scope, request) {
    yield* partOf(rows, columns, { ...request, page: 1, size: rows.length }).rows;
  },
});

/** The columns of files are those that Reconcile accepts. */
function columnsOf(
  path: string,
  text: ShownAmount,
): readonly TableColumn<BalanceListRow, BalanceSort>[] {
  return [
    column(['name', 'unsorted', 'page'], ({ people, account }) =>
      textCell(people.join(', ') || account, { path: accountPath(path, account) }),
    ),
    column(['account', 'minor'], ({ account }) => idCell(account)),
    column(['unit', 'minor'], ({ unit }) => textCell(unit)),
    column(['balance', 'Available'], ({ available, unit, currency }) =>
      amountCell(available, text(available, unit, currency), `balance:${unit}`),
    ),
    column(['pending', 'minor', 'page'], ({ pending, unit, currency }) =>
      amountCell(pending, text(pending, unit, currency), `pending:${unit}`),
    ),
  ];
}

type Summed = Pick<BalanceListRow, 'unit' | 'currency'> &
  Readonly<Record<'available' | 'pending', number | bigint>>;

function sumsOf(rows: readonly Summed[], text: ShownAmount) {
  const of = (figure: 'available' | 'pending') =>
    sumsByUnit(
      rows.map((row) => ({ ...row, value: row[figure] })),
      text,
    );
  const pending = of('pending');
  return of('available').map((sum, at) => {
    const later = pending[at];
    return { ...sum, pending: later === undefined || later.value === 0n ? null : later.text };
  });
}
