import { parseBalances } from '../../operations/ledger/balance-file.js';
import { entriesAfter, laterText } from '../../operations/ledger/later-entries.js';
import { spanOf, type Reconciliation } from '../../operations/ledger/ledger-reconciliation.js';
import { reconcile } from '../../operations/ledger/ledger-check.operations.js';
import { FormFor, PageFor, pageSent, redirected, TenantCall, TenantPage } from '../console-call.js';
import { faultsOf, type Faults } from '../view/faults.js';
import { sectionOf, type AskedSection, type PathOf } from '../view/paging.js';
import type { Column } from '../view/sorting.js';
import { template } from '../view/templates.js';
import { given, queried, queryOf, TenantPages } from './tenant-pages.js';
import { TEXTS } from '../texts.js';
import { NotDone, outcomeOf } from '../../operations/outcome.js';

type Difference = Reconciliation['differences'][number];

const COLUMNS: readonly Column<Difference>[] = [
  { label: TEXTS.common.kind, key: 'kind', value: 'kind' },
  { label: TEXTS.fields.account, key: 'account', value: 'account' },
  { label: TEXTS.fields.unit, key: 'unit', value: 'unit' },
  { label: TEXTS.common.ledger, key: 'ledger', isNumber: true, value: 'ledger' },
  { label: TEXTS.reconcile.against, key: 'against', isNumber: true, value: 'against' },
  { label: TEXTS.common.events },
];

const content = template('reconcile');

/** For finance: the ledger's own sums, and outside books against them. */
@TenantPage('reconcile')
export class ConsoleReconcileController {
  constructor(private readonly pages: TenantPages) {}

  @PageFor('finance')
  page(@TenantCall() call: TenantCall): Promise<string> {
    return this.shown(call);
  }

  @FormFor('finance')
  async start(@TenantCall() call: TenantCall): Promise<string> {
    const month = call.form.text('month');
    const books = call.form.file('balances');
    const checked = await outcomeOf(async () => {
      if (books !== undefined) await parseBalances(books, 'the balance file');
      spanOf(month || undefined, await this.pages.core.tenants.now(call.scope));
    });
    if (checked instanceof NotDone) return this.shown(call, faultsOf(checked, { period: 'month' }));
    const request = { ...call.scope, period: month || undefined, balances: books };
    const run = await this.pages.startedRun(call, reconcile, request);
    return redirected(call, `${call.tenantPath}/reconcile${queryOf({ run, month })}`);
  }

  private async shown(call: TenantCall, faults?: Faults): Promise<string> {
    const { run: id, month } = given(call, 'run', 'month');
    const section = queried(call.query, 'sort', 'dir', 'page');
    const { values, refresh, resultOf } = await this.pages.runOfPage(call, id);
    const result = resultOf<KeptReconciliation>('ledger reconcile');
    const later =
      result && month !== ''
        ? await outcomeOf(() => entriesAfter(this.pages.core, call.ledger, month))
        : 0;
    return pageSent(call, { of: 'reconcile', faults, ...refresh }, content, {
      asked: { month },
      ...values,
      accounts: `${call.tenantPath}/accounts`,
      here: `${call.tenantPath}/reconcile${queryOf({ run: id, month })}`,
      later: laterText(later instanceof NotDone ? 0 : later, 'month'),
      result:
        result && shownResult(result, section, (other) => queryOf({ run: id, month, ...other })),
    });
  }
}

const LINES = [
  'opening',
  'imported',
  'issued',
  'redeemed',
  'expired',
  'cancelled',
  'restored',
  'closing',
  'scheduled',
] as const;

/** Of very many differences the first ones are kept. */
interface KeptReconciliation extends Reconciliation {
  readonly cut?: { readonly differences: number };
}

function shownResult(
  { ok, units, differences, cut }: KeptReconciliation,
  section: AskedSection,
  pathOf: PathOf,
) {
  const count = cut?.differences ?? differences.length;
  return {
    ok,
    count,
    ...sectionOf(differences, COLUMNS, section, pathOf),
    kept: differences.length,
    hasMore: count > differences.length,
    units: units.map((one) => ({
      ...one,
      lines: LINES.map((label) => ({ label, name: `${label}:${one.unit}`, value: one[label] })),
    })),
  };
}
