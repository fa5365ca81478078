import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { Get } from '@nestjs/common';
import { timeNow } from '../../foundation/world.js';
import { timeOf } from '../../operations/ledger/ledger-selection.js';
import { operations } from '../../operations/payments/payment.operations.js';
import {
  customersWithoutAccount,
  retryPush,
  showPayments,
} from '../../operations/payments/payment-commands.js';
import type {
  PaymentDifference,
  PaymentReconciliation,
} from '../../operations/payments/payment-reconciliation.js';
import { NotDone, outcomeOf } from '../../operations/outcome.js';
import type { Synced } from '../../payments/incoming/payment-sync.js';
import { ApiError, badRequest } from '../../http/edge/api-error.js';
import {
  csvSent,
  FileForRoles,
  FormFor,
  pageSent,
  redirected,
  TenantCall,
  TenantPage,
} from '../console-call.js';
import { amountCell, buttonCell, idCell, textCell, type Cell } from '../view/cells.js';
import { faultAt, faultsOf, type Faults, type FieldNames } from '../view/faults.js';
import { hasRole } from '../view/navigation.js';
import { partOf, sheetOf, tableState, tableView, type TableColumn } from '../view/table.js';
import { amountText, template } from '../view/templates.js';
import { accountPath } from './customer-columns.js';
import { queried, queryOf, TenantPages } from './tenant-pages.js';

const KINDS: Readonly<Record<PaymentDifference['kind'], string>> = {
  CREDIT: 'Credit',
  DISCOUNT: 'Discount',
  CONVERSION: 'Conversion',
  DUPLICATE: 'Credit that was paid more than once',
};

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

  @Get()
  @FileForRoles('finance', 'support')
  async page(@TenantCall() call: TenantCall): Promise<string | Readable> {
    const { run, format } = queried(call.query, 'run', 'format');
    if (format !== 'csv') return this.shown(call);
    const { resultOf } = await this.pages.runOfPage(call, run);
    const differences = resultOf<PaymentReconciliation>('payment reconcile')?.differences ?? [];
    return csvSent(call, 'differences', sheetOf(differences, columnsOf(call)));
  }

  @FormFor('finance', 'support')
  async act(@TenantCall() call: TenantCall): Promise<string> {
    const { form, scope } = call;
    const action = form.text('action');
    const path = `${call.tenantPath}/payments`;
    if (action === 'retry') return this.retried(call, path);
    const operation = operations.find(({ name }) => name === `payment ${action}`);
    if (!operation?.isRecorded) throw badRequest('action: one of the buttons');
    if (!hasRole(call.operator, operation.roles)) throw new ApiError('FORBIDDEN');
    if (operation.isLong) {
      const since = form.text('since') || undefined;
      const from = await outcomeOf(() => timeOf('since', since, timeNow()));
      if (from instanceof NotDone) return this.shown(call, faultsOf(from));
      const request = { ...scope, ...(action === 'sync' && { since }) };
      const run = await this.pages.startedRun(call, operation, request);
      return redirected(call, path + queryOf({ run }));
    }
    if (action === 'disconnect' && form.text('confirmed') !== 'stripe')
      return this.shown(call, faultAt('confirmed', 'Type “stripe” to confirm.'));
    const outcome = await this.pages.called(call, operation, {
      ...scope,
      provider: 'stripe',
      secretKey: form.text('secretKey'),
      webhookSecret: form.text('webhookSecret'),
      apiBase: form.text('apiBase') || undefined,
    });
    if (outcome instanceof NotDone) return this.shown(call, faultsOf(outcome, BY_LINES));
    return redirected(call, path, action === 'connect' ? 'connected' : 'disconnected');
  }

  /** @throws {ApiError} FORBIDDEN for finance. */
  private async retried(call: TenantCall, path: string): Promise<string> {
    if (!hasRole(call.operator, ['support'])) throw new ApiError('FORBIDDEN');
    const reward = call.form.text('reward');
    const once = { operation: 'payment retry', asked: { reward } };
    const outcome = await this.pages.once(call, once, (core) =>
      retryPush(core, call.ledger, reward),
    );
    if (outcome instanceof NotDone) return this.shown(call, faultsOf(outcome));
    return redirected(call, path, 'pushRetried');
  }

  private async shown(call: TenantCall, faults?: Faults): Promise<string> {
    const { core } = this.pages;
    const { run: id, ...asked } = queried(call.query, 'run', 'sort', 'dir', 'page', 'size');
    const { values, refresh, resultOf } = await this.pages.runOfPage(call, id);
    const reconciled = resultOf<PaymentReconciliation>('payment reconcile');
    const found = await outcomeOf(() => showPayments(core, this.pages.payments, call.ledger));
    const payments = found instanceof NotDone ? null : found;
    const action = call.form.text('action');
    return pageSent(call, { of: 'payments', faults, ...refresh }, content, {
      isSupport: hasRole(call.operator, ['support']),
      isFinance: hasRole(call.operator, ['finance']),
      payments,
      customers: payments === null ? 0 : await customersWithoutAccount(core, call.ledger),
      pushes: payments === null ? null : pushTable(call, payments.parked),
      settingsPath: `${call.tenantPath}/settings`,
      typedBase: call.form.text('apiBase'),
      typedSince: call.form.text('since'),
      isConnecting: action === 'connect' || payments?.provider === null,
      isDisconnecting: action === 'disconnect',
      ...values,
      here: `${call.tenantPath}/payments${queryOf({ run: id })}`,
      synced: resultOf<Synced>('payment sync'),
      reconciled: reconciled && shownReconciliation(call, reconciled, { run: id, asked }),
    });
  }
}

interface Push {
  readonly rewardId: string;
  readonly reason: string;
}

function pushTable(call: TenantCall, parked: readonly Push[]) {
  const key = randomUUID();
  const columns: readonly TableColumn<Push>[] = [
    { key: 'reward', label: 'Reward', cell: ({ rewardId }) => idCell(rewardId) },
    { key: 'reason', label: 'Reason', cell: ({ reason }) => textCell(reason) },
    {
      key: 'retry',
      label: '',
      cell: ({ rewardId: value }) =>
        buttonCell(
          hasRole(call.operator, ['support'])
            ? {
                action: 'retry',
                label: 'Retry',
                about: value,
                name: 'reward',
                value,
                key: `${key}-${value}`,
              }
            : undefined,
        ),
      sorts: false,
    },
  ];
  const state = tableState({}, columns, { sort: 'reward', descending: false });
  return tableView(
    { rows: parked, total: parked.length },
    columns,
    { ...state, size: 100 },
    {
      label: 'Rewards that were not paid',
      empty: { text: 'Rewards that the provider refuses to pay appear here with the reason.' },
      pathWith: () => `${call.tenantPath}/payments`,
      filePath: null,
    },
  );
}

interface ReconciliationAsked {
  readonly run: string;
  readonly asked: Readonly<Record<string, string>>;
}

function columnsOf(
  call: Pick<TenantCall, 'money' | 'tenantPath'>,
): readonly TableColumn<PaymentDifference>[] {
  const sideOf =
    (side: 'ledger' | 'provider') =>
    ({ kind, [side]: value }: PaymentDifference): Cell => {
      if (typeof value !== 'number') return textCell(value === 'PAID' ? 'Paid' : 'None');
      const text = kind === 'DISCOUNT' ? `${value} %` : amountText(value, 'CENTS', call.money);
      return amountCell(value, text, `difference.${side}`);
    };
  return [
    {
      key: 'account',
      label: 'Account',
      cell: ({ account }) => textCell(account, { path: accountPath(call.tenantPath, account) }),
    },
    { key: 'kind', label: 'Kind', cell: ({ kind }) => textCell(KINDS[kind]) },
    { key: 'ledger', label: 'Ledger', cell: sideOf('ledger') },
    { key: 'provider', label: 'Stripe', cell: sideOf('provider') },
  ];
}

function shownReconciliation(
  call: TenantCall,
  { ok, differences, more = 0 }: PaymentReconciliation,
  { run, asked }: ReconciliationAsked,
) {
  const columns = columnsOf(call);
  const state = tableState(asked, columns, { sort: 'account', descending: false });
  const pathWith = (members: Readonly<Record<string, string>>) =>
    `${call.tenantPath}/payments${queryOf({ run, ...asked, ...members })}`;
  const table = tableView(partOf(differences, columns, state), columns, state, {
    label: 'Differences',
    empty: { text: 'Ledger and Stripe agree on credits, discounts and conversions.' },
    pathWith,
    filePath: pathWith({ format: 'csv' }),
  });
  return { ok, count: differences.length + more, table };
}
