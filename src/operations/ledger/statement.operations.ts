import * as z from 'zod';
import { day, given, help, month, reason, text, time } from '../registry/members.js';
import type { ScopedContext } from '../registry/context.js';
import { type Operation, recordedOperation } from '../registry/operation.js';
import { get, post } from '../registry/routes.js';
import type { Statement } from '../../bookkeeping/statement.js';
import type { Done } from '../audited.js';
import { spanOf } from './ledger-reconciliation.js';
import type { SelectionOptions } from './ledger-selection.js';
import { balancesCsv, ledgerBalances } from './ledger-balances.js';
import { chainToExport, exportLedger } from './ledger-export.js';
import { changePeriodWithAudit } from './ledger-periods.js';
import { statementOfAccount } from './ledger-statement.js';
import {
  printStatement,
  printTenantStatement,
  statementCsv,
  tenantStatementCsv,
} from './ledger-tables.js';
import { noteLater } from './later-entries.js';
import { shownMoney } from './shown-money.js';
import { statementIsByDays, statementOfTenant, type TenantStatement } from './tenant-statement.js';

const from = time.optional();
const to = time.optional();
const asOf = given(time.optional(), { help: 'as of this time', placeholder: 'time' });
const unit = help(text.optional(), 'this unit only');
const period = given(month, { help: 'the month, in UTC', placeholder: 'YYYY-MM' });

/** The days of a month, up to today. */
export function daysOfMonth(
  name: string,
  now: number,
): { readonly from: string; readonly to: string } {
  const span = spanOf(name, now);
  const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);
  return { from: dayOf(span.from), to: dayOf(Math.min(span.to, now)) };
}

/** The statement of all accounts, over days. */
async function statementByDays(
  context: ScopedContext,
  { asOf: moment, position, ...days }: SelectionOptions & { readonly unit?: string | undefined },
): Promise<Done<TenantStatement>> {
  if ((moment ?? position) !== undefined) throw statementIsByDays();
  const { core, scope } = context;
  const done = await statementOfTenant(core, scope, days);
  await noteLater(context, 'statement', done.result.to);
  return done;
}

const statement = recordedOperation({
  name: 'ledger statement',
  summary: 'the statement of an account: opening, lines and closing of each unit',
  members: {
    account: help(text.optional(), 'the id of the account; without it: all accounts, by days'),
    asOf,
    position: help(text.optional(), 'as of this position'),
    from: help(from, 'the first moment; earlier events are in the opening'),
    to: help(to, 'the last moment'),
    month: given(month.optional(), {
      only: 'cli',
      help: 'from the first to the last day of this month, in UTC',
      placeholder: 'YYYY-MM',
    }),
    unit,
  },
  positions: ['account'],
  rules: [
    {
      check: ({ account, month: name, from: first, to: last }) =>
        name !== undefined && (first ?? last) !== undefined
          ? '{month} excludes {from} and {to}'
          : account === undefined && name === undefined
            ? 'name an account, or {month}'
            : undefined,
      schema: {},
    },
  ],
  roles: ['finance', 'viewer'],
  route: { ...get('ledger/{tenant}/statement', 'ACCOUNT_NOT_FOUND'), required: ['account'] },
  examples: [
    'ledger statement acme 42 --unit CENTS',
    'ledger statement acme --month 2026-01',
    'ledger statement acme 42 --from 2026-01-01 --to 2026-01-31 --format csv',
  ],
  record: async (
    context,
    { account, tenant: _, mode: __, month: name, ...typed },
  ): Promise<Done<Statement | TenantStatement>> => {
    const now = await context.core.tenants.now(context.scope);
    const days = name === undefined ? {} : daysOfMonth(name, now);
    const selection = { ...typed, ...days };
    if (account === undefined) return statementByDays(context, selection);
    const done = await statementOfAccount(context.core, context.scope, { account, ...selection });
    await noteLater(context, 'statement', done.later);
    return done;
  },
  money: (context, scope, document) =>
    shownMoney(context, scope, 'account' in document ? document : 'all'),
  print: (document, printer, request) =>
    'account' in document
      ? printStatement(document, printer, request)
      : printTenantStatement(document, printer, request),
  csv: (document) =>
    'account' in document ? statementCsv(document) : tenantStatementCsv(document),
});

const tenantStatement = recordedOperation({
  name: 'ledger tenant-statement',
  summary: 'the statement of all accounts: opening, a line a day and closing of each unit',
  members: {
    from: help(day.optional(), 'the first day, in UTC; earlier days are in the opening'),
    to: help(day.optional(), 'the last day, in UTC'),
    unit,
  },
  roles: ['finance', 'viewer'],
  route: get('ledger/{tenant}/tenant-statement'),
  examples: ['ledger tenant-statement acme --from 2026-01-01 --to 2026-01-31 --format csv'],
  record: (context, { tenant: _, mode: __, ...days }) => statementByDays(context, days),
  money: (context, scope) => shownMoney(context, scope, 'all'),
  print: printTenantStatement,
  csv: tenantStatementCsv,
});

const balances = recordedOperation({
  name: 'ledger balances',
  summary: 'the credit of every account and unit; the CSV is a file for ledger reconcile --against',
  members: { asOf },
  roles: ['finance', 'support'],
  isLong: true,
  route: get('ledger/{tenant}/balances'),
  examples: [
    'ledger balances acme --as-of 2026-01-31',
    'ledger balances acme --format csv > balances.csv',
  ],
  record: ({ core, scope, ...work }, request) => ledgerBalances(core, scope, request, work),
  columns: [
    'account',
    'unit',
    ['available', 'available', 'amount'],
    ['pending', 'pending', 'amount'],
  ],
  money: (context, scope) => shownMoney(context, scope, 'each'),
  empty: 'no account has or had credit',
  csv: balancesCsv,
});

const changePeriod = (name: 'close' | 'reopen', summary: string, example: string): Operation =>
  recordedOperation({
    name: `ledger ${name}`,
    summary,
    members: { period, comment: help(reason, 'why') },
    roles: ['finance'],
    route: post(`ledger/{tenant}/${name}`),
    examples: [example],
    record: async (context, request) => {
      const { core, meta } = context;
      const type = name === 'close' ? 'ClosePeriod' : 'ReopenPeriod';
      const done = await changePeriodWithAudit(core, meta, type, request);
      if (name === 'close') await noteLater(context, 'month', request.period);
      return done;
    },
    said: ({ period: changed, status }) => `${changed} is ${status}`,
  });

export const close = changePeriod(
  'close',
  'closes a month',
  'ledger close acme --period 2026-01 --comment "agreed with finance"',
);
export const reopen = changePeriod(
  'reopen',
  'reopens a closed month',
  'ledger reopen acme --period 2026-01 --comment "a late correction"',
);

const exported = recordedOperation({
  name: 'ledger export',
  summary: 'the events as JSON lines, decrypted; forgotten people stay anonymous',
  members: {
    from: help(from, 'recorded at this time or later'),
    to: help(to, 'recorded at this time or earlier'),
    chain: help(z.boolean().default(false), 'with the links and the seals of the chain'),
  },
  roles: [],
  examples: [
    'ledger export acme --from 2026-01-01 > acme.jsonl',
    'ledger export acme --chain > acme.jsonl',
  ],
  output: 'stream',
  record: async ({ core, scope, write, note, signal }, { from: first, to: last, chain }) => {
    const span = { from: first, to: last };
    const chained = chain ? await chainToExport(core, scope, signal) : undefined;
    const result = await exportLedger(core, scope, { ...span, chain: chained }, write);
    note(`${result.events} events; digest ${result.digest}`);
    return { result, parameters: { ...span, chain: chain || undefined }, digest: result.digest };
  },
});

export const statementOperations: readonly Operation[] = [
  statement,
  tenantStatement,
  balances,
  close,
  reopen,
  exported,
];
