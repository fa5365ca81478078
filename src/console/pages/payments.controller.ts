import { timeNow } from '../../foundation/world.js';
import { timeOf } from '../../operations/ledger/ledger-selection.js';
import { operations } from '../../operations/payments/payment.operations.js';
import { showPayments } from '../../operations/payments/payment-commands.js';
import {
  type PaymentDifference,
  type PaymentReconciliation,
} from '../../operations/payments/payment-reconciliation.js';
import type { Synced } from '../../payments/incoming/payment-sync.js';
import { ApiError, badRequest } from '../../http/edge/api-error.js';
import { FormFor, PageFor, pageSent, redirected, TenantCall, TenantPage } from '../console-call.js';
import { shownValue } from '../view/differences.js';
import { faultAt, faultsOf, type Faults, type FieldNames } from '../view/faults.js';
import { hasRole } from '../view/navigation.js';
import { inOrder, type AskedOrder, type Column } from '../view/sorting.js';
import { template } from '../view/templates.js';
import { queried, queryOf, TenantPages } from './tenant-pages.js';
import { TEXTS } from '../texts.js';
import { NotDone, outcomeOf } from '../../operations/outcome.js';

const COLUMNS: readonly Column<PaymentDifference>[] = [
  { label: TEXTS.fields.account, key: 'account', value: 'account' },
  { label: TEXTS.common.kind, key: 'kind', value: 'kind' },
  { label: TEXTS.common.ledger, isNumber: true },
  { label: TEXTS.common.provider, isNumber: true },
];

const content = template('payments');

/** By the beginnings of the reasons of `connectPayments`. */
const BY_LINES: FieldNames = {
  'the secret key ': 'secretKey',
  'the webhook secret ': 'webhookSecret',
  'the address of the provider ': 'apiBase',
};

/** The payment provider of a tenant: support connects it, finance compares both sides. */
@TenantPage('payments')
export class ConsolePaymentsController {
  constructor(private readonly pages: TenantPages) {}

  @PageFor('finance', 'support')
  page(@TenantCall() call: TenantCall): Promise<string> {
    return this.shown(call);
  }

  @FormFor('finance', 'support')
  async act(@TenantCall() call: TenantCall): Promise<string> {
    const { form, scope } = call;
    const action = form.text('action');
    const operation = operations.find(({ name }) => name === `payment ${action}`);
    if (!operation?.isRecorded) throw badRequest('action: one of the buttons');
    if (!hasRole(call.operator, operation.roles)) throw new ApiError('FORBIDDEN');
    const path = `${call.tenantPath}/payments`;
    if (operation.isLong) {
      const since = form.text('since') || undefined;
      const from = await outcomeOf(() => timeOf('since', since, timeNow()));
      if (from instanceof NotDone) return this.shown(call, faultsOf(from));
      const request = { ...scope, ...(action === 'sync' && { since }) };
      const run = await this.pages.startedRun(call, operation, request);
      return redirected(call, path + queryOf({ run }));
    }
    if (action === 'disconnect' && form.text('confirmed') !== 'stripe')
      return this.shown(call, faultAt('confirmed', TEXTS.payments.notConfirmed));
    const outcome = await this.pages.called(call, operation, {
      ...scope,
      provider: 'stripe',
      secretKey: form.text('secretKey'),
      webhookSecret: form.text('webhookSecret'),
      apiBase: form.text('apiBase') || undefined,
    });
    if (outcome instanceof NotDone) return this.shown(call, faultsOf(outcome, BY_LINES));
    return redirected(call, path);
  }

  private async shown(call: TenantCall, faults?: Faults): Promise<string> {
    const { run: id, ...order } = queried(call.query, 'run', 'sort', 'dir');
    const { values, refresh, resultOf } = await this.pages.runOfPage(call, id);
    const reconciled = resultOf<PaymentReconciliation>('payment reconcile');
    const found = await outcomeOf(() =>
      showPayments(this.pages.core, this.pages.payments, call.ledger),
    );
    return pageSent(call, { of: 'payments', faults, ...refresh }, content, {
      isSupport: hasRole(call.operator, ['support']),
      isFinance: hasRole(call.operator, ['finance']),
      payments: found instanceof NotDone ? null : found,
      typedBase: call.form.text('apiBase'),
      typedSince: call.form.text('since'),
      ...values,
      here: `${call.tenantPath}/payments${queryOf({ run: id })}`,
      synced: resultOf<Synced>('payment sync'),
      reconciled: reconciled && shownReconciliation(reconciled, order, id),
    });
  }
}

function shownReconciliation(
  { ok, differences, more = 0 }: PaymentReconciliation,
  order: AskedOrder,
  run: string,
) {
  const { rows, heads } = inOrder(differences, COLUMNS, order, (sorted) =>
    queryOf({ run, ...sorted }),
  );
  const shown = rows.map(({ ledger, provider, ...others }) => ({
    ...others,
    ledger: shownValue(ledger),
    provider: shownValue(provider),
  }));
  return { ok, count: differences.length + more, rows: shown, heads };
}
