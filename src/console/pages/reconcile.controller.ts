import type { Readable } from 'node:stream';
import { parseBalances } from '../../operations/ledger/balance-file.js';
import { entriesAfter, laterText } from '../../operations/ledger/later-entries.js';
import { spanOf } from '../../operations/ledger/ledger-reconciliation.js';
import { reconcile } from '../../operations/ledger/ledger-check.operations.js';
import { NotDone, outcomeOf } from '../../operations/outcome.js';
import { tenantNamed } from '../../operations/tenants/tenant-operation.js';
import { redirected, sendPage } from '../console-answers.js';
import { TenantCall } from '../console-call.js';
import { FilePageFor, FormFor, TenantPage } from '../console-routes.js';
import { faultsOf, type Faults } from '../view/faults.js';
import {
  balanceDifferences,
  differenceColumns,
  shownReconciliation,
  type KeptReconciliation,
} from '../view/reconciliation-view.js';
import { tablesOf } from '../view/page-tables.js';
import { template } from '../view/templates.js';
import { monthField } from '../view/utc-fields.js';
import { given, queryOf, TenantPages } from './tenant-pages.js';

const content = template('reconcile');

/** For finance: the ledger's own sums, and outside books against them. */
@TenantPage('reconcile')
export class ConsoleReconcileController {
  constructor(private readonly pages: TenantPages) {}

  @FormFor('finance')
  async start(@TenantCall() call: TenantCall): Promise<string | Readable> {
    const month = call.form.text('month');
    const books = call.form.file('balances');
    const file = call.form.fileName('balances').slice(0, 100);
    const { core } = this.pages;
    const checked = await outcomeOf(async () => {
      const { units } = await tenantNamed(core, call.scope.tenant);
      if (books !== undefined)
        await parseBalances(books, file || 'the balance file', units.formats);
      spanOf(month || undefined, await core.tenants.now(call.scope));
    });
    if (checked instanceof NotDone) return this.page(call, faultsOf(checked, { period: 'month' }));
    const request = { ...call.scope, period: month || undefined, balances: books };
    const run = await this.pages.startedRun(call, reconcile, request);
    return redirected(call, `${call.tenantPath}/reconcile${queryOf({ run, month, file })}`);
  }

  @FilePageFor('finance')
  async page(@TenantCall() call: TenantCall, faults?: Faults): Promise<string | Readable> {
    const { run: id, file, ...asked } = given(call, 'run', 'month', 'file');
    const { values, refresh, resultOf, parameters } = await this.pages.runOfPage(call, id);
    const { period } = parameters;
    const month = typeof period === 'string' ? period : asked.month;
    const result = resultOf<KeptReconciliation>('ledger reconcile');
    const later =
      result && month !== ''
        ? await outcomeOf(() => entriesAfter(this.pages.core, call.ledger, month))
        : 0;
    const path = `${call.tenantPath}/reconcile`;
    const shownIn = {
      month,
      file,
      money: await this.pages.moneyOfAll(call.ledger),
      tenantPath: call.tenantPath,
    };
    const { tenant, mode } = call.scope;
    const table = tablesOf(call, path, { run: id, month, file })({
      label: 'Differences',
      rows: result === null ? [] : balanceDifferences(result),
      columns: differenceColumns(shownIn),
      order: 'account',
      empty: { text: 'Every balance of the file is that of the ledger.' },
      file: result && `differences-${tenant}-${mode}`,
    });
    if (table.file) return table.file;
    const frame = { of: 'reconcile', headNote: 'Months are in UTC.', faults, ...refresh };
    return sendPage(call, frame, content, {
      month: monthField(month),
      ...values,
      here: table.here,
      later: laterText(later instanceof NotDone ? 0 : later, 'month'),
      balancesPath: `${call.tenantPath}/balances`,
      correctionsPath: `${call.tenantPath}/corrections`,
      result: result && { ...shownReconciliation(result, shownIn), balances: table.view },
    });
  }
}
