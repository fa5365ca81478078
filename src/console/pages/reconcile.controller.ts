import { csvLines, oneLine } from '../../exports/files/csv-lines.js';
import { parseBalances } from '../../operations/ledger/balance-file.js';
import { entriesAfter, laterText } from '../../operations/ledger/later-entries.js';
import { spanOf } from '../../operations/ledger/ledger-reconciliation.js';
import { reconcile } from '../../operations/ledger/ledger-check.operations.js';
import { NotDone, outcomeOf } from '../../operations/outcome.js';
import {
  fileSent,
  FormFor,
  PageFor,
  pageSent,
  redirected,
  TenantCall,
  TenantPage,
} from '../console-call.js';
import { faultsOf, type Faults } from '../view/faults.js';
import {
  balanceDifferences,
  shownReconciliation,
  type KeptReconciliation,
} from '../view/reconciliation-view.js';
import { template } from '../view/templates.js';
import { monthField } from '../view/utc-fields.js';
import { given, queried, queryOf, TenantPages } from './tenant-pages.js';

const content = template('reconcile');

/** For finance: the ledger's own sums, and outside books against them. */
@TenantPage('reconcile')
export class ConsoleReconcileController {
  constructor(private readonly pages: TenantPages) {}

  @PageFor('finance')
  async page(@TenantCall() call: TenantCall): Promise<string> {
    const { run, format } = queried(call.query, 'run', 'format');
    if (format !== 'csv') return this.shown(call);
    const { resultOf } = await this.pages.runOfPage(call, run);
    const result = resultOf<KeptReconciliation>('ledger reconcile');
    if (result === null) return this.shown(call);
    const { tenant, mode } = call.scope;
    const file = { name: `differences-${tenant}-${mode}.csv`, type: 'text/csv; charset=utf-8' };
    const rows = balanceDifferences(result).map(
      ({ account, unit, ledger, file: inFile, amount }) => [
        oneLine(account),
        oneLine(unit),
        ledger,
        inFile ?? '',
        amount,
      ],
    );
    const head = ['account', 'unit', 'ledger', 'file', 'difference'];
    return fileSent(call, file, csvLines([head, ...rows], '\r\n'));
  }

  @FormFor('finance')
  async start(@TenantCall() call: TenantCall): Promise<string> {
    const month = call.form.text('month');
    const books = call.form.file('balances');
    const file = call.form.fileName('balances').slice(0, 100);
    const checked = await outcomeOf(async () => {
      if (books !== undefined) await parseBalances(books, file || 'the balance file');
      spanOf(month || undefined, await this.pages.core.tenants.now(call.scope));
    });
    if (checked instanceof NotDone) return this.shown(call, faultsOf(checked, { period: 'month' }));
    const request = { ...call.scope, period: month || undefined, balances: books };
    const run = await this.pages.startedRun(call, reconcile, request);
    return redirected(call, `${call.tenantPath}/reconcile${queryOf({ run, month, file })}`);
  }

  private async shown(call: TenantCall, faults?: Faults): Promise<string> {
    const { run: id, file, ...asked } = given(call, 'run', 'month', 'file');
    const state = queried(call.query, 'sort', 'dir', 'page', 'size');
    const { values, refresh, resultOf, parameters } = await this.pages.runOfPage(call, id);
    const { period } = parameters;
    const month = typeof period === 'string' ? period : asked.month;
    const result = resultOf<KeptReconciliation>('ledger reconcile');
    const later =
      result && month !== ''
        ? await outcomeOf(() => entriesAfter(this.pages.core, call.ledger, month))
        : 0;
    const path = `${call.tenantPath}/reconcile`;
    const pathWith = (members: Readonly<Record<string, string>>): string =>
      path + queryOf({ run: id, month, file, ...state, ...members });
    const frame = { of: 'reconcile', headNote: 'Months are in UTC.', faults, ...refresh };
    return pageSent(call, frame, content, {
      month: monthField(month),
      ...values,
      here: pathWith({}),
      later: laterText(later instanceof NotDone ? 0 : later, 'month'),
      balancesPath: `${call.tenantPath}/balances`,
      correctionsPath: `${call.tenantPath}/corrections`,
      result:
        result &&
        shownReconciliation(result, {
          month,
          file,
          state,
          pathWith,
          money: await this.pages.moneyOfAll(call.ledger),
          tenantPath: call.tenantPath,
        }),
    });
  }
}
