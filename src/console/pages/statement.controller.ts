import type { Statement } from '../../bookkeeping/statement.js';
import { correctableAccount } from '../../operations/ledger/correctable-account.js';
import {
  statementIsByDays,
  statementOfTenant,
  type TenantStatement,
} from '../../operations/ledger/tenant-statement.js';
import { statementCsv, tenantStatementCsv } from '../../operations/ledger/ledger-tables.js';
import { entriesAfter, laterText } from '../../operations/ledger/later-entries.js';
import { statementOfAccount } from '../../operations/ledger/ledger-statement.js';
import { daysOfMonth } from '../../operations/ledger/statement.operations.js';
import { NotDone, outcomeOf, type Outcome } from '../../operations/outcome.js';
import { sendFile, sendPage } from '../console-answers.js';
import { TenantCall } from '../console-call.js';
import { PageFor, TenantPage } from '../console-routes.js';
import { faultsOf, noAccount } from '../view/faults.js';
import { canOpen, hasRole } from '../view/navigation.js';
import { tablesOf } from '../view/page-tables.js';
import { accountTables, tenantTables } from '../view/statement-view.js';
import { amountText, template } from '../view/templates.js';
import { monthField, utcField } from '../view/utc-fields.js';
import { accountPath, viewedAccount } from './customer-columns.js';
import { filledIn, queried, queryOf, TenantPages } from './tenant-pages.js';

const QUERY_FIELDS = ['account', 'month', 'from', 'to', 'asOf', 'position', 'unit'] as const;
type QueryFields = Readonly<Record<(typeof QUERY_FIELDS)[number], string>>;
type Found = Outcome<Statement | TenantStatement>;

const content = template('statement');

/** For finance and viewers: the statement of an account, or of all of them. */
@TenantPage('statement')
export class ConsoleStatementController {
  constructor(private readonly pages: TenantPages) {}

  @PageFor('finance', 'viewer')
  async statement(@TenantCall() call: TenantCall): Promise<string> {
    const { format } = queried(call.query, 'format');
    const asked = askedIn(call);
    const { found, later } = await this.found(call, asked);
    if (format !== 'csv' || found instanceof NotDone) return this.shown(call, found, later);
    return sendFile(
      call,
      { name: fileNameOf(call, asked), type: 'text/csv; charset=utf-8; header=present' },
      'account' in found ? statementCsv(found) : tenantStatementCsv(found),
    );
  }

  /** @param later number of entries that count after the end. */
  private async shown(call: TenantCall, found: Found, later: number): Promise<string> {
    const asked = askedIn(call);
    const path = `${call.tenantPath}/statement`;
    const filePath = path + queryOf({ ...asked, format: 'csv' });
    const money = asked.account === '' ? await this.pages.moneyOfAll(call.ledger) : call.money;
    const amount = (value: number, unit: string): string => amountText(value, unit, money);
    const shownIn = { tables: tablesOf(call, path, asked), amount };
    const made = found instanceof NotDone ? null : found;
    const ofAccount = made !== null && 'account' in made ? made : null;
    const ofTenant = made !== null && 'tenant' in made ? made : null;
    const frame = {
      of: 'statement',
      headNote: 'Months, days and times are in UTC.',
      faults:
        found instanceof NotDone && found.code === 'ACCOUNT_NOT_FOUND'
          ? noAccount(asked.account)
          : faultsOf(found, asked.month === '' ? {} : { period: 'month', from: 'month' }),
    };
    return sendPage(call, frame, content, {
      asked,
      account: accountField(call, asked.account, found),
      scope: call.scope,
      days: daysText(asked, ofTenant),
      balancesPath: await this.balancesPath(call, asked.month),
      month: monthField(asked.month),
      from: { type: 'date', value: asked.from.slice(0, 10) },
      to: { type: 'date', value: asked.to.slice(0, 10) },
      asOf: utcField(asked.asOf),
      isOpen: [asked.from, asked.to, asked.asOf, asked.position, asked.unit].some(Boolean),
      clearPath: path,
      people: ofAccount && (await this.people(call, ofAccount.account)),
      accountPath: ofAccount && accountPath(call.tenantPath, ofAccount.account),
      isMade: made !== null,
      ofAccount,
      ofTenant,
      tables: ofAccount
        ? accountTables(ofAccount, shownIn)
        : ofTenant && tenantTables(ofTenant, shownIn),
      filePath,
      later: laterText(later, 'statement'),
    });
  }

  /** The names in an account; empty for viewers. */
  private async people(call: TenantCall, accountId: string | null): Promise<string> {
    if (accountId === null || !hasRole(call.operator, ['finance', 'support'])) return '';
    const account = await correctableAccount(this.pages.core, call.ledger, accountId);
    const [first, second, ...others] = (account?.users ?? []).filter(({ name }) => name !== '');
    if (!first || !second) return first?.name ?? '';
    const rest = others.length === 0 ? second.name : `${others.length + 1} others`;
    return `${first.name} and ${rest}`;
  }

  /** The balances at the end of a month; null: none is chosen, or the operator may not see them. */
  private async balancesPath(call: TenantCall, month: string): Promise<string | null> {
    if (month === '' || !canOpen(call.operator, '/balances')) return null;
    const now = await this.pages.core.tenants.now(call.ledger);
    const days = await outcomeOf(() => daysOfMonth(month, now));
    if (days instanceof NotDone) return null;
    return `${call.tenantPath}/balances${queryOf({ asOf: days.to })}`;
  }

  /** With the number of entries that count after the end. */
  private async found(
    call: TenantCall,
    asked: QueryFields,
  ): Promise<{ found: Found; later: number }> {
    const { account, month, ...typed } = asked;
    const now = await this.pages.core.tenants.now(call.ledger);
    const days = await outcomeOf(() => (month === '' ? {} : daysOfMonth(month, now)));
    if (days instanceof NotDone) return { found: days, later: 0 };
    const selection = { ...filledIn(typed), ...days };
    let later = 0;
    if (account !== '') {
      const found = await this.pages.recorded(call, 'ledger statement', async (core) => {
        const done = await statementOfAccount(core, call.ledger, { account, ...selection });
        later = done.later;
        return done;
      });
      return { found, later };
    }
    const { position, asOf, ...period } = selection;
    if ((position ?? asOf) !== undefined) return { found: statementIsByDays(), later };
    const found = await this.pages.recorded(call, 'ledger tenant-statement', async (core) => {
      const done = await statementOfTenant(core, call.ledger, period);
      later = await entriesAfter(core, call.ledger, done.result.to);
      return done;
    });
    return { found, later };
  }
}

/** The days of a statement, as its print has them. */
function daysText(
  { month, from, to, asOf, position }: QueryFields,
  of: TenantStatement | null,
): string {
  if (month !== '') return month;
  const last = of?.to ?? (to || asOf || (position && `position ${position}`) || 'now');
  return `${(of?.from ?? from) || 'the first event'} to ${last}`;
}

/** `of`: an account whose id the operator does not see, see `accountField`. */
function askedIn({ query }: TenantCall): QueryFields {
  const { of, ...asked } = queried(query, 'of', ...QUERY_FIELDS);
  if (of === '' || asked.account !== '') return asked;
  const account = Buffer.from(of, 'base64url').toString();
  return { ...asked, ...queried({ account }, 'account') };
}

const shownAccount = ({ operator }: TenantCall, account: string): string =>
  viewedAccount(account, hasRole(operator, ['finance', 'support']));

/** An id that is shortened for viewers is sent again unseen, but for one that no account has. */
function accountField(call: TenantCall, account: string, found: Found) {
  const isUnknown = found instanceof NotDone && found.code === 'ACCOUNT_NOT_FOUND';
  const shown = isUnknown ? account : shownAccount(call, account);
  if (shown === account) return { shown, value: account, placeholder: 'All accounts', of: null };
  return { shown, value: '', placeholder: shown, of: Buffer.from(account).toString('base64url') };
}

/** `statement-demo-live-account-1-2026-10.csv` */
function fileNameOf(call: TenantCall, { account, month, from, to }: QueryFields): string {
  const { tenant, mode } = call.scope;
  const shown = shownAccount(call, account);
  const parts = ['statement', tenant, mode, shown, month, from, to].filter((part) => part !== '');
  return `${parts
    .join('-')
    .replace(/[^\w.-]+/g, '_')
    .slice(0, 200)}.csv`;
}
