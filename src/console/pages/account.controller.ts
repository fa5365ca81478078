import { Get, Param } from '@nestjs/common';
import {
  accountHistory,
  EVENTS_SHOWN_MAX,
  type AccountHistory,
  type ShownPerson,
  type ShownReward,
} from '../../operations/accounts/account-history.js';
import type { ShownUnit } from '../../operations/accounts/account-credit.js';
import { laterText } from '../../operations/ledger/later-entries.js';
import { ApiError } from '../../http/edge/api-error.js';
import { ForRoles, pageSent, TenantCall, TenantPage } from '../console-call.js';
import { faultsOf } from '../view/faults.js';
import { hasRole } from '../view/navigation.js';
import { plotView } from '../view/plot.js';
import { inOrder, type AskedOrder, type Column } from '../view/sorting.js';
import { template } from '../view/templates.js';
import { filledIn, queried, queryOf, TenantPages } from './tenant-pages.js';
import { TEXTS } from '../texts.js';
import { NotDone } from '../../operations/outcome.js';

const FIGURES = ['available', 'assigned', 'redeemed', 'pending', 'expired', 'cancelled'] as const;

const REWARD_COLUMNS: readonly Column<ShownReward>[] = [
  { label: TEXTS.account.given, key: 'given', value: 'givenAt' },
  { label: TEXTS.account.value, key: 'value', value: 'value' },
  { label: TEXTS.account.owner, key: 'owner', value: 'owner' },
  { label: TEXTS.common.state, key: 'state', value: 'state' },
  { label: TEXTS.common.redeemed, key: 'redeemed', isNumber: true, value: 'redeemed' },
  { label: TEXTS.common.expires, key: 'expires', value: 'expiresAt' },
  { label: TEXTS.common.reward },
];

const PEOPLE_COLUMNS: readonly Column<ShownPerson>[] = [
  { label: TEXTS.common.name, key: 'people.name', value: 'name' },
  { label: TEXTS.fields.user, key: 'people.user', value: 'userId' },
  { label: TEXTS.account.eMail, key: 'people.email', value: 'email' },
  { label: TEXTS.account.codes, key: 'people.codes', value: ({ codes }) => codes[0] ?? null },
  { label: TEXTS.fields.since, key: 'people.since', value: 'since' },
  { label: TEXTS.account.blocked, key: 'people.blocked', value: 'blockedSince' },
];

const content = template('account');

/** One account: people, referral, rewards, credit, and everything that happened, at any moment. */
@TenantPage('accounts')
export class ConsoleAccountController {
  constructor(private readonly pages: TenantPages) {}

  @Get(':account')
  @ForRoles('finance', 'support', 'viewer')
  async account(
    @TenantCall() call: TenantCall,
    @Param('account') accountId: string,
  ): Promise<string> {
    const { before: typed, ...asked } = queried(call.query, 'asOf', 'position', 'before');
    const before = /^\d{1,18}$/.test(typed) ? typed : '';
    const order = queried(call.query, 'sort', 'dir');
    const showsPersonal = hasRole(call.operator, ['finance', 'support']);
    const options = filledIn(asked);
    const found = await this.pages.recorded(call, 'console account', async (core) => {
      const request = {
        accountId,
        showsPersonal,
        before: before === '' ? undefined : BigInt(before),
        ...options,
      };
      const now = await core.tenants.now(call.ledger);
      const result = await accountHistory(core, call.ledger, request, now);
      // The audit event says what was looked at; a digest of people's data would outlive them.
      const digest = `position ${result.position ?? 'none'}`;
      const account = core.names.accountRef(call.ledger, accountId);
      return { result, parameters: { account, ...options }, digest };
    });
    const path = `${call.tenantPath}/accounts/${encodeURIComponent(accountId)}`;
    if (found instanceof NotDone && found.code === 'ACCOUNT_NOT_FOUND')
      throw new ApiError('ACCOUNT_NOT_FOUND');
    const statement = `${call.tenantPath}/statement${queryOf({ account: accountId, ...asked })}`;
    const frame = { title: TEXTS.account.titleOf(accountId), faults: faultsOf(found) };
    return pageSent(call, frame, content, {
      asked,
      statementPath: hasRole(call.operator, ['finance', 'viewer']) ? statement : null,
      later: found instanceof NotDone ? undefined : laterText(found.later, 'moment'),
      account:
        found instanceof NotDone
          ? null
          : shownAccount(found, path, call.tenantPath, { ...asked, before, ...order }),
    });
  }
}

function shownAccount(
  account: AccountHistory,
  path: string,
  tenant: string,
  asked: AskedOrder & Readonly<Record<'asOf' | 'position' | 'before', string>>,
) {
  const { referral, events, rewards, rewardCount } = account;
  const oldest = events.at(-1)?.revision ?? '0';
  const { before, sort, dir, ...moment } = asked;
  const asIn = <R>(rows: readonly R[], columns: readonly Column<R>[]) =>
    inOrder(rows, columns, { sort, dir }, (order) => `${path}${queryOf({ ...moment, ...order })}`);
  const sorted = asIn(rewards, REWARD_COLUMNS);
  const people = asIn(account.people, PEOPLE_COLUMNS);
  const referrer = referral?.referrerAccount;
  return {
    ...account,
    state: stateOf(account),
    rewards: sorted.rows,
    rewardHeads: sorted.heads,
    people: people.rows,
    peopleHeads: people.heads,
    hasMorePeople: account.people.length < account.peopleCount,
    units: account.units.map(shownUnit),
    referrerPath: referrer ? `${tenant}/accounts/${encodeURIComponent(referrer)}` : null,
    hasMoreRewards: rewards.length < rewardCount,
    olderPath:
      events.length < EVENTS_SHOWN_MAX || oldest === '0'
        ? null
        : `${path}${queryOf({ ...moment, before: oldest })}`,
    newestPath: before === '' ? null : `${path}${queryOf(moment)}`,
  };
}

function stateOf({ isOpen, eventCount }: AccountHistory): string {
  if (isOpen) return TEXTS.account.open;
  return eventCount === 0 ? TEXTS.account.notThereYet : TEXTS.account.deleted;
}

const shownUnit = (unit: ShownUnit) => ({
  unit: unit.unit,
  figures: FIGURES.map((label) => ({
    label,
    name: `${label}:${unit.unit}`,
    value: unit[label],
  })),
  plot: plotView(TEXTS.account.plotOf(unit.unit), unit.points),
});
