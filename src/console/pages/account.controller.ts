import { Param } from '@nestjs/common';
import { accountHistory, type AccountHistory } from '../../operations/accounts/account-history.js';
import { blocksIn } from '../../operations/accounts/block-reasons.js';
import { referralsMade } from '../../operations/accounts/account-referrals.js';
import { EVENT_KINDS } from '../../operations/accounts/event-in-words.js';
import { CustomerReads } from '../../operations/customers/lists/customer-lists.js';
import { listProposals } from '../../operations/ledger/ledger-proposals.js';
import { laterText } from '../../operations/ledger/later-entries.js';
import { NotDone } from '../../operations/outcome.js';
import { ApiError } from '../../http/edge/api-error.js';
import { redirected, sendPage } from '../console-answers.js';
import { TenantCall } from '../console-call.js';
import { FormAt, PageAt, TenantPage } from '../console-routes.js';
import {
  blocksView,
  headerView,
  madeTable,
  peopleTable,
  rewardsTable,
  unitViews,
} from '../view/account-view.js';
import { faultsOf } from '../view/faults.js';
import { choice, momentOf } from '../view/list-page.js';
import { hasRole } from '../view/navigation.js';
import { shownAmounts, type ShownAmount } from '../view/shown-amounts.js';
import { amountText, capital, template } from '../view/templates.js';
import { AccountActions, type ActionResult } from './account-actions.js';
import { accountPath, viewedAccount } from './customer-columns.js';
import { filledIn, queried, queryOf, TenantPages } from './tenant-pages.js';

const content = template('account');
const READ_MODELS = ['accounts', 'users', 'rewards', 'referrals', 'activity'] as const;

/** One account: people, balances, rewards, referrals, why, and everything that happened. */
@TenantPage('accounts')
export class ConsoleAccountController {
  private readonly actions: AccountActions;

  constructor(
    private readonly pages: TenantPages,
    private readonly reads: CustomerReads,
  ) {
    this.actions = new AccountActions(pages);
  }

  @FormAt(':account', 'support')
  async act(@TenantCall() call: TenantCall, @Param('account') accountId: string): Promise<string> {
    const result = await this.actions.act(call, accountId);
    if (result.done === undefined) return this.page(call, accountId, result);
    const path = `${call.tenantPath}/accounts/${encodeURIComponent(accountId)}`;
    return redirected(call, path, result.done);
  }

  /** @param sent what came of a form. */
  @PageAt(':account', 'finance', 'support', 'viewer')
  async page(
    @TenantCall() call: TenantCall,
    @Param('account') accountId: string,
    sent?: ActionResult,
  ): Promise<string> {
    const { core } = this.pages;
    await this.pages.caughtUp(call.ledger, ...READ_MODELS);
    // After the wait: the currency of a new account is in its read models.
    const money = await this.pages.moneyOf(call.ledger, accountId);
    const asked = queried(call.query, 'asOf', 'position', 'before', 'kind');
    const showsPersonal = hasRole(call.operator, ['finance', 'support']);
    const { before, kind, asOf, position } = asked;
    const moment = momentOf(asOf, 'end');
    const options = filledIn({
      asOf: moment === undefined ? asOf : new Date(moment).toISOString(),
      position,
    });
    const found = await this.pages.recorded(call, 'console account', async () => {
      const request = {
        accountId,
        showsPersonal,
        before: /^\d{1,18}$/.test(before) ? BigInt(before) : undefined,
        kind: choice(EVENT_KINDS, kind),
        amountText: (amount: number, unit: string | null) => amountText(amount, unit, money),
        ...options,
      };
      const result = await accountHistory(
        core,
        call.ledger,
        request,
        await core.tenants.now(call.ledger),
      );
      // The audit event names the position: a digest of people's data would outlive them.
      const account = core.names.accountRef(call.ledger, accountId);
      const digest = `position ${result.position ?? 'none'}`;
      return { result, parameters: { account, ...options }, digest };
    });
    if (found instanceof NotDone && found.code === 'ACCOUNT_NOT_FOUND')
      throw new ApiError('ACCOUNT_NOT_FOUND');
    const shownId = viewedAccount(accountId, showsPersonal);
    const path = `${call.tenantPath}/accounts/${encodeURIComponent(accountId)}`;
    const values =
      found instanceof NotDone
        ? null
        : await this.valuesOf(call, found, { path, showsPersonal, kind, asked });
    const named = `Account ${shownId}`;
    const title = values?.name ?? named;
    const frame = {
      title,
      headNote: title === named ? '' : named,
      section: '/accounts',
      faults: sent?.faults ?? faultsOf(found),
    };
    return sendPage(call, frame, content, {
      path,
      moment: moment === undefined ? asOf : new Date(moment).toISOString(),
      later: found instanceof NotDone ? undefined : laterText(found.later, 'moment'),
      account: values,
      action: values && (await this.actions.shown(call, accountId, values, sent?.preview)),
    });
  }

  /** Corrections and grants of the account that wait for approval. */
  private async waiting(call: TenantCall, found: AccountHistory, amounts: ShownAmount) {
    const { core } = this.pages;
    const { operator } = call;
    const account = core.names.accountRef(call.ledger, found.account);
    const asked = { state: 'waiting', account, limit: 20, now: Date.now() } as const;
    const isFinance = hasRole(operator, ['finance']);
    return (await listProposals(core, call.ledger, asked)).map((one) => ({
      text: amounts(one.amount, one.unit, found.currency),
      reason: one.reason ?? 'no reason',
      by: one.proposedBy,
      at: one.proposedAt,
      // Support sees its own grants there.
      path: isFinance || one.proposedBy === operator.name ? `${call.tenantPath}/corrections` : null,
    }));
  }

  private async valuesOf(
    call: TenantCall,
    found: AccountHistory,
    of: {
      readonly path: string;
      readonly showsPersonal: boolean;
      readonly kind: string;
      readonly asked: Readonly<Record<string, string>>;
    },
  ) {
    const { core } = this.pages;
    const { path, showsPersonal, kind, asked } = of;
    const accountRef = core.names.accountRef(call.ledger, found.account);
    const made = await referralsMade(
      this.reads,
      { scope: call.ledger, accountRef },
      found.people,
      showsPersonal,
    );
    const amounts = await shownAmounts(core.tenants, call.scope);
    const isSupport = hasRole(call.operator, ['support']);
    const isFinance = hasRole(call.operator, ['finance']);
    const isNow = asked['asOf'] === '' && asked['position'] === '';
    const shown = { call, path, amounts, showsPersonal, isSupport: isSupport && isNow };
    const kept = { asOf: asked['asOf'] ?? '', position: asked['position'] ?? '' };
    return {
      ...headerView(found),
      userIds: found.people.flatMap(({ userId }) => userId ?? []),
      position: found.position,
      eventCount: found.eventCount,
      units: unitViews(found, amounts),
      waiting: isSupport || isFinance ? await this.waiting(call, found, amounts) : [],
      people: peopleTable(found, shown),
      rewards: rewardsTable(found, shown),
      why: [...found.why, ...made.why].sort((a, b) => (a.at < b.at ? 1 : -1)),
      referral: found.referral && {
        ...found.referral,
        referrerPath: accountPath(call.tenantPath, found.referral.referrerAccount),
      },
      made: madeTable(made, call.tenantPath),
      ...blocksView(found, await blocksIn(core, call.ledger, found), showsPersonal),
      ...timelineLinks(found, path, { ...kept, kind }),
      isSupport: isSupport && isNow,
      statementPath: hasRole(call.operator, ['finance', 'viewer'])
        ? `${call.tenantPath}/statement${queryOf({ account: found.account })}`
        : null,
      mailsPath:
        isSupport && isNow
          ? `${call.tenantPath}/mails${queryOf({ account: found.account })}`
          : null,
      correctPath:
        isFinance && isNow
          ? `${call.tenantPath}/corrections${queryOf({ account: found.account })}`
          : null,
    };
  }
}

/** The links of the timeline: each kind of events, and older ones. */
function timelineLinks(
  { olderBefore }: AccountHistory,
  path: string,
  { kind, ...kept }: Readonly<Record<'asOf' | 'position' | 'kind', string>>,
) {
  const at = (members: Readonly<Record<string, string>>) =>
    `${path}${queryOf({ ...kept, ...members })}#timeline`;
  return {
    kinds: ['', ...EVENT_KINDS].map((one) => ({
      label: one === '' ? 'All' : capital(one),
      isHere: one === kind,
      path: at({ kind: one }),
    })),
    olderPath: olderBefore === null ? null : at({ kind, before: olderBefore }),
  };
}
