import { given, help, text, textUpTo, time } from '../registry/members.js';
import { ledgerOperation, type Operation, recordedOperation } from '../registry/operation.js';
import { printFacts as print } from '../registry/printing.js';
import { get, post } from '../registry/routes.js';
import {
  connectPayments,
  disconnectPayments,
  showPayer,
  showPayments,
  syncTenantPayments,
} from './payment-commands.js';
import { reconcilePayments } from './payment-reconciliation.js';

/** Checked by the operation as well. */
const KEY_OF_OTHER_MODE = {
  not: {
    anyOf: [
      { properties: { mode: { const: 'live' }, secretKey: { pattern: '^[rs]k_test_' } } },
      {
        properties: { mode: { const: 'test' }, secretKey: { pattern: '^[rs]k_live_' } },
        required: ['mode'],
      },
    ],
  },
};

export const operations: readonly Operation[] = [
  recordedOperation({
    name: 'payment connect',
    summary: 'connects a tenant and mode, or replaces the connection',
    members: {
      provider: help(text.meta({ enum: ['stripe'] }), 'stripe'),
      secretKey: given(text.meta({ pattern: '^[rs]k_(?:live|test)_[A-Za-z0-9_]{4,200}$' }), {
        option: 'secret-key-file',
        file: 'text',
        help: 'the secret key of the same mode',
      }),
      webhookSecret: given(text.meta({ pattern: '^whsec_[A-Za-z0-9+/=_-]{4,200}$' }), {
        option: 'webhook-secret-file',
        file: 'text',
        help: 'the secret that verifies its events',
      }),
      apiBase: given(textUpTo(2_000).meta({ format: 'iri' }).optional(), {
        placeholder: 'url',
        help: 'another server of the same interface',
      }),
    },
    rules: [{ check: () => undefined, schema: KEY_OF_OTHER_MODE }],
    roles: ['support'],
    route: post('payments/{tenant}/connect'),
    examples: [
      'payment connect acme --mode test --provider stripe --secret-key-file key.txt --webhook-secret-file secret.txt',
    ],
    record: connectPayments,
    print,
  }),
  ledgerOperation({
    name: 'payment show',
    summary: 'the connection, with masked secrets, or an account',
    members: {
      account: given(text.optional(), { placeholder: 'id', help: 'its customer at the provider' }),
    },
    roles: ['finance', 'support'],
    route: get('payments/{tenant}', 'ACCOUNT_NOT_FOUND'),
    examples: ['payment show acme --account 42'],
    run: async (context, { account }) =>
      account === undefined
        ? showPayments(context.core, context.payments, context.scope)
        : showPayer(context, account),
    print,
  }),
  recordedOperation({
    name: 'payment sync',
    summary: 'records what the provider has and no event reported',
    members: {
      since: given(time.optional(), {
        placeholder: 'time',
        help: 'invoices and subscriptions made from then on; default: 30 days ago',
      }),
    },
    roles: ['support'],
    isLong: true,
    route: post('payments/{tenant}/sync'),
    examples: ['payment sync acme --since 2026-01-31'],
    record: syncTenantPayments,
    print,
  }),
  recordedOperation({
    name: 'payment reconcile',
    summary: 'compares ledger and provider; exit 2: they differ',
    roles: ['finance'],
    isLong: true,
    route: post('payments/{tenant}/reconciliation'),
    examples: ['payment reconcile acme --json'],
    record: reconcilePayments,
    print,
    ending: ({ ok, differences }) =>
      ok ? undefined : { exitCode: 2, line: `${differences.length} differences` },
  }),
  recordedOperation({
    name: 'payment disconnect',
    summary: 'destroys the secrets; what was recorded stays',
    roles: ['support'],
    route: post('payments/{tenant}/disconnect'),
    examples: ['payment disconnect acme --mode test'],
    record: disconnectPayments,
    print,
  }),
];
