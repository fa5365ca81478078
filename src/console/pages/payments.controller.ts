import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
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
import { redirected, sendPage } from '../console-answers.js';
import { TenantCall } from '../console-call.js';
import { FilePageFor, FormFor, TenantPage } from '../console-routes.js';
import { amountCell, buttonCell, idCell, textCell, type Cell } from '../view/cells.js';
import { faultAt, faultsOf, type Faults, type FieldNames } from '../view/faults.js';
import { hasRole } from '../view/navigation.js';
import { fileOf, tablesOf } from '../view/page-tables.js';
import { column, type TableColumn } from '../view/table.js';
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

  @FormFor('finance', 'support')
  async act(@TenantCall() call: TenantCall): Promise<string | Readable> {
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
      if (from instanceof NotDone) return this.page(call, faultsOf(from));
      const request = { ...scope, ...(action === 'sync' && { since }) };
      const run = await this.pages.startedRun(call, operation, request);
      return redirected(call, path + queryOf({ run }));
    }
    if (action === 'disconnect' && form.text('confirmed') !== 'stripe')
      return this.page(call, faultAt('confirmed', 'Type “stripe” to confirm.'));
    const outcome = await this.pages.called(call, operation, {
      ...scope,
      provider: 'stripe',
      secretKey: form.text('secretKey'),
      webhookSecret: form.text('webhookSecret'),
      apiBase: form.text('apiBase') || undefined,
    });
    if (outcome instanceof NotDone) return this.page(call, faultsOf(outcome, BY_LINES));
    return redirected(call, path, action === 'connect' ? 'connected' : 'disconnected');
  }

  /** @throws {ApiError} FORBIDDEN for finance. */
  private async retried(call: TenantCall, path: string): Promise<string | Readable> {
    if (!hasRole(call.operator, ['support'])) throw new ApiError('FORBIDDEN');
    const reward = call.form.text('reward');
    const once = { operation: 'payment retry', asked: { reward } };
    const outcome = await this.pages.once(call, once, (core) =>
      retryPush(core, call.ledger, reward),
    );
    if (outcome instanceof NotDone) return this.page(call, faultsOf(outcome));
    return redirected(call, path, 'pushRetried');
  }

  @FilePageFor('finance', 'support')
  async page(@TenantCall() call: TenantCall, faults?: Faults): Promise<string | Readable> {
    const { core } = this.pages;
    const path = `${call.tenantPath}/payments`;
    const { run: id } = queried(call.query, 'run');
    const { values, refresh, resultOf } = await this.pages.runOfPage(call, id);
    const reconciled = resultOf<PaymentReconciliation>('payment reconcile');
    const tables = tablesOf(call, path, { run: id });
    const differences = tables({
      label: 'Differences',
      rows: reconciled?.differences ?? [],
      columns: columnsOf(call),
      order: 'account',
      empty: { text: 'Ledger and Stripe agree on credits, discounts and conversions.' },
    });
    const found = await outcomeOf(() => showPayments(core, this.pages.payments, call.ledger));
    const payments = found instanceof NotDone ? null : found;
    const pushes = tables({
      label: 'Rewards that were not paid',
      name: 'pushes',
      rows: payments?.parked ?? [],
      columns: pushColumns(call, randomUUID()),
      empty: { text: 'Rewards that the provider refuses to pay appear here with the reason.' },
    });
    const file = fileOf(differences, pushes);
    if (file) return file;
    const action = call.form.text('action');
    return sendPage(call, { of: 'payments', faults, ...refresh }, content, {
      isSupport: hasRole(call.operator, ['support']),
      isFinance: hasRole(call.operator, ['finance']),
      payments,
      customers: payments === null ? 0 : await customersWithoutAccount(core, call.ledger),
      pushes: pushes.view,
      settingsPath: `${call.tenantPath}/settings`,
      typedBase: call.form.text('apiBase'),
      typedSince: call.form.text('since'),
      isConnecting: action === 'connect' || payments?.provider === null,
      isDisconnecting: action === 'disconnect',
      ...values,
      here: path + queryOf({ run: id }),
      synced: resultOf<Synced>('payment sync'),
      reconciled: reconciled && {
        ok: reconciled.ok,
        count: reconciled.differences.length + (reconciled.more ?? 0),
        table: differences.view,
      },
    });
  }
}

interface Push {
  readonly rewardId: string;
  readonly reason: string;
}

const pushColumns = ({ operator }: TenantCall, key: string): readonly TableColumn<Push>[] => [
  column('reward', ({ rewardId }) => idCell(rewardId)),
  column('reason', ({ reason }) => textCell(reason)),
  column(['retry', '', 'unsorted', 'page'], ({ rewardId: value }) =>
    buttonCell(
      hasRole(operator, ['support'])
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
  ),
];

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
    column('account', ({ account }) =>
      textCell(account, { path: accountPath(call.tenantPath, account) }),
    ),
    column('kind', ({ kind }) => textCell(KINDS[kind])),
    column('ledger', sideOf('ledger')),
    column(['provider', 'Stripe'], sideOf('provider')),
  ];
}
