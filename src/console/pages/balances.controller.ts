import { Get } from '@nestjs/common';
import { DailyFigureQueries } from '../../../projections/daily-figures/queries.js';
import { CustomerReads } from '../../operations/customers/lists/customer-lists.js';
import { balancesCsv, ledgerBalances } from '../../operations/ledger/ledger-balances.js';
import { Stopped } from '../../operations/log/log-reader.js';
import { NotDone, type Outcome } from '../../operations/outcome.js';
import { FileForRoles, fileSent, pageSent, TenantCall, TenantPage } from '../console-call.js';
import { amountCell, idCell, textCell } from '../view/cells.js';
import { faultsOf } from '../view/faults.js';
import { shownAmounts, sumsByUnit, type ShownAmount } from '../view/shown-amounts.js';
import { partOf, tableState, tableView, type TableColumn } from '../view/table.js';
import { amountText, template } from '../view/templates.js';
import { utcField } from '../view/utc-fields.js';
import { accountPath } from './customer-columns.js';
import { filledIn, queried, queryOf, TenantPages } from './tenant-pages.js';

type Balance = Awaited<ReturnType<typeof ledgerBalances>>['result'][number];

interface BalanceRow extends Balance {
  /** Names of its people; empty: none. */
  readonly people: string;
  readonly currency: string | null;
}

/** With more accounts the page has sums and the file only: each account is read for a row. */
const ACCOUNTS_MAX = 2_000;
const READ_MS_MAX = 5_000;
const ASKED = ['asOf', 'text', 'unit'] as const;
const TABLE = ['sort', 'dir', 'page', 'size'] as const;

const content = template('balances');

/** The credit of every account at a moment. */
@TenantPage('balances')
export class ConsoleBalancesController {
  constructor(
    private readonly pages: TenantPages,
    private readonly reads: CustomerReads,
    private readonly days: DailyFigureQueries,
  ) {}

  @Get()
  @FileForRoles('finance', 'support')
  async page(@TenantCall() call: TenantCall): Promise<string> {
    const { format, ...asked } = queried(call.query, 'format', ...ASKED);
    if (format === 'csv') {
      const found = await this.found(call, asked);
      if (!(found instanceof NotDone))
        return fileSent(call, fileOf(call, asked), balancesCsv(found));
    }
    const found = await this.foundSoon(call, asked);
    const text = await shownAmounts(this.pages.core.tenants, call.scope);
    const path = `${call.tenantPath}/balances`;
    const state = queried(call.query, ...TABLE);
    const pathWith = (members: Readonly<Record<string, string>>): string =>
      path + queryOf({ ...asked, ...state, ...members });
    const rows = found === 'long' || found instanceof NotDone ? [] : found;
    const columns = columnsOf(call.tenantPath, text);
    const order = tableState(state, columns, { sort: 'account', descending: false });
    const isFiltered = ASKED.some((name) => asked[name] !== '');
    const filePath = pathWith({ format: 'csv', page: '', size: '' });
    const frame = {
      of: 'balances',
      headNote: 'Times are in UTC.',
      faults: faultsOf(found),
    };
    return pageSent(call, frame, content, {
      isLong: found === 'long',
      filePath,
      accountsPath: `${call.tenantPath}/accounts`,
      sums: found === 'long' ? await this.sumsNow(call, asked.asOf) : sumsOf(rows, text),
      table: tableView(partOf(rows, columns, order), columns, order, {
        label: 'Balances',
        empty: isFiltered
          ? { text: 'No balance matches this filter.' }
          : { text: 'Accounts appear here once they have credit.' },
        pathWith,
        filePath,
      }),
      filters: {
        fields: [
          { name: 'asOf', label: 'As of', ...utcField(asked.asOf) },
          { name: 'text', label: 'Text', value: asked.text, placeholder: 'Name or account' },
          { name: 'unit', label: 'Unit', value: asked.unit, placeholder: 'All' },
        ],
        kept: TABLE.filter((name) => name !== 'page' && state[name] !== '').map((name) => ({
          name,
          value: state[name],
        })),
        isFiltered,
        clearPath: path,
      },
    });
  }

  /** `long`: the accounts are too many to be read for a page. */
  private async foundSoon(
    call: TenantCall,
    asked: AskedBalances,
  ): Promise<Outcome<readonly BalanceRow[]> | 'long'> {
    const { total } = await this.accounts(call, 0);
    if (total > ACCOUNTS_MAX) return 'long';
    const soon = AbortSignal.any([call.departure(), AbortSignal.timeout(READ_MS_MAX)]);
    const found = await this.found(call, asked, soon);
    return found instanceof Stopped ? 'long' : found;
  }

  private async found(
    call: TenantCall,
    { asOf, text, unit }: AskedBalances,
    signal = call.departure(),
  ): Promise<Outcome<readonly BalanceRow[]>> {
    const { ledger } = call;
    const balances = await this.pages.recorded(call, 'ledger balances', (core) =>
      ledgerBalances(core, ledger, filledIn({ asOf }), { signal }),
    );
    if (balances instanceof NotDone) return balances;
    const { rows } = await this.accounts(call, ACCOUNTS_MAX);
    const known = new Map(rows.map((row) => [row.accountId, row]));
    const words = text.toLowerCase().split(/\s+/);
    return balances
      .map((balance) => {
        const account = known.get(balance.account);
        const people = account?.people.join(', ') ?? '';
        return { ...balance, people, currency: account?.currency ?? null };
      })
      .filter((row) => unit === '' || row.unit.toLowerCase() === unit.toLowerCase())
      .filter(({ people, account }) => {
        const searched = `${people} ${account}`.toLowerCase();
        return words.every((word) => searched.includes(word));
      });
  }

  private accounts({ ledger }: TenantCall, limit: number) {
    const request = { filters: {}, sort: 'opened', descending: true, limit, offset: 0 } as const;
    return this.reads.lists.accounts.page(ledger, request);
  }

  /** Of many accounts, from the read model of sums, which has no time of the day. */
  private async sumsNow({ ledger }: TenantCall, asOf: string) {
    if (asOf !== '') return [];
    const money = await this.pages.moneyOfAll(ledger);
    const { units } = await this.days.upTo(ledger, await this.pages.core.tenants.now(ledger));
    return units.map(({ unit, outstanding }) => ({
      unit,
      value: outstanding,
      text: amountText(outstanding, unit, money),
      parts: [],
      pending: null,
    }));
  }
}

type AskedBalances = Readonly<Record<(typeof ASKED)[number], string>>;

const columnsOf = (path: string, text: ShownAmount): readonly TableColumn<BalanceRow>[] => [
  {
    key: 'name',
    label: 'Name',
    cell: ({ people, account }) =>
      textCell(people || account, { path: accountPath(path, account) }),
  },
  { key: 'account', label: 'Account', cell: ({ account }) => idCell(account), isMinor: true },
  { key: 'unit', label: 'Unit', cell: ({ unit }) => textCell(unit), isMinor: true },
  {
    key: 'available',
    label: 'Available',
    cell: ({ available, unit, currency }) =>
      amountCell(available, text(available, unit, currency), `balance:${unit}`),
  },
  {
    key: 'pending',
    label: 'Pending',
    cell: ({ pending, unit, currency }) =>
      amountCell(pending, text(pending, unit, currency), `pending:${unit}`),
    isMinor: true,
  },
];

function sumsOf(rows: readonly BalanceRow[], text: ShownAmount) {
  const pending = sumsByUnit(
    rows.map((row) => ({ ...row, value: row.pending })),
    text,
  );
  const available = sumsByUnit(
    rows.map((row) => ({ ...row, value: row.available })),
    text,
  );
  return available.map((sum, at) => {
    const later = pending[at];
    return { ...sum, pending: later === undefined || later.value === 0n ? null : later.text };
  });
}

const fileOf = ({ scope }: TenantCall, { asOf }: AskedBalances) => ({
  name: `${['balances', scope.tenant, scope.mode, asOf.replace(/[^\d-]/g, '-')]
    .filter((part) => part !== '')
    .join('-')}.csv`,
  type: 'text/csv; charset=utf-8; header=present',
});
