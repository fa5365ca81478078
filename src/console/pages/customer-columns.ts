import type { AccountSort } from '../../../projections/accounts/list-queries.js';
import type {
  ListedParty,
  ReferralListRow,
  ReferralSort,
} from '../../../projections/referrals/list-queries.js';
import type { RewardListRow, RewardSort } from '../../../projections/rewards/list-queries.js';
import type { UserListRow, UserSort } from '../../../projections/users/list-queries.js';
import type { AccountRowWithBalances } from '../../operations/customers/lists/customer-lists.js';
import { amountCell, idCell, stateCell, textCell, timeCell } from '../view/cells.js';
import type { ShownAmount } from '../view/shown-amounts.js';
import { column, type TableColumn } from '../view/table.js';

/** How amounts and links of a tenant's lists are shown. */
export interface ShownIn {
  /** Of the tenant's pages. */
  readonly path: string;
  readonly amount: ShownAmount;
}

/** The page of an account. */
export const accountPath = (tenantPath: string, accountId: string | null): string | null =>
  accountId === null ? null : `${tenantPath}/accounts/${encodeURIComponent(accountId)}`;

export const userColumns = (path: string): readonly TableColumn<UserListRow, UserSort>[] => [
  column(['name', 'User'], (row) =>
    textCell(row.name, { note: row.email, path: accountPath(path, row.accountId) }),
  ),
  column(['email', 'E-mail', 'file'], ({ email }) => textCell(email)),
  column(['userId', 'minor'], ({ userId }) => idCell(userId)),
  column(['accountId', 'Account', 'minor'], ({ accountId }) => idCell(accountId)),
  column(['code', 'minor'], ({ code }) => textCell(code)),
  column('state', ({ state }) => stateCell(state)),
  column(['created', 'minor'], ({ created }) => timeCell(created)),
  column(['blocked', 'file'], ({ blocked }) => timeCell(blocked)),
];

/** An account id that contains `@` is shortened for viewers. */
export const viewedAccount = (accountId: string, showsPersonal: boolean): string =>
  showsPersonal || !accountId.includes('@') ? accountId : `${accountId.slice(0, 2)}…`;

/** @param showsPersonal false: without names and codes, and ids that are addresses shortened. */
export function accountColumns(
  { path, amount }: ShownIn,
  showsPersonal: boolean,
): readonly TableColumn<AccountRowWithBalances, AccountSort>[] {
  const columns: readonly TableColumn<AccountRowWithBalances, AccountSort>[] = [
    column('people', (row) =>
      textCell(row.people.join(', ') || row.accountId, {
        note: row.peopleCount > row.people.length ? `${row.peopleCount} people` : null,
        path: accountPath(path, row.accountId),
      }),
    ),
    column(['accountId', 'Account', 'minor'], ({ accountId }) => idCell(accountId)),
    column('state', ({ state }) => stateCell(state)),
    column(['currency', 'minor'], (row) => textCell(row.currency)),
    column(['balances', 'Available', 'unsorted'], ({ balances, currencyOfCents }) =>
      textCell(
        balances
          .map(({ unit, available }) => amount(available, unit, currencyOfCents))
          .join(', ') || null,
      ),
    ),
    column(['code', 'Referred with', 'minor'], ({ code }) => textCell(code)),
    column(['opened', 'minor'], ({ opened }) => timeCell(opened)),
  ];
  if (showsPersonal) return columns;
  return [
    column(['accountId', 'Account'], ({ accountId }) =>
      textCell(viewedAccount(accountId, false), { path: accountPath(path, accountId) }),
    ),
    ...columns.filter(({ key }) => !['people', 'accountId', 'code'].includes(key)),
  ];
}

export const partyCell = (path: string, { name, accountId }: ListedParty) =>
  textCell(name ?? 'Forgotten', { path: accountPath(path, accountId) });

export const referralColumns = (
  path: string,
): readonly TableColumn<ReferralListRow, ReferralSort>[] => [
  column('referred', ({ referred }) => partyCell(path, referred)),
  column('referrer', ({ referrer }) => partyCell(path, referrer)),
  column(['code', 'minor'], ({ code }) => textCell(code)),
  column(['program', 'minor'], ({ program }) => textCell(program)),
  column('state', ({ state }) => stateCell(state)),
  column(['referredModeration', 'Referred side', 'minor'], (row) =>
    stateCell(row.referredModeration),
  ),
  column(['referrerModeration', 'Referrer side', 'minor'], (row) =>
    stateCell(row.referrerModeration),
  ),
  column(['started', 'minor'], ({ started }) => timeCell(started)),
  column(['converted', 'minor'], ({ converted }) => timeCell(converted)),
  column(['ended', 'file'], ({ ended }) => timeCell(ended)),
  column(['referralId', 'Referral', 'minor'], (row) => idCell(row.referralId)),
];

/** What a reward gives: an amount, a percentage, or a code. */
const grantedCell = (
  { granted, unit, currency, percent }: RewardListRow,
  amount: ShownIn['amount'],
) => {
  if (granted !== null) return amountCell(granted, amount(granted, unit, currency));
  return percent === null ? textCell('A code') : amountCell(percent, `${percent}% off`);
};

export const rewardColumns = ({
  path,
  amount,
}: ShownIn): readonly TableColumn<RewardListRow, RewardSort>[] => [
  column(['person', 'User'], (row) =>
    textCell(row.person, { note: row.name, path: accountPath(path, row.accountId) }),
  ),
  column(['accountId', 'Account', 'minor'], (row) => idCell(row.accountId)),
  column(['name', 'file'], ({ name }) => textCell(name)),
  column(['type', 'file'], ({ type }) => textCell(type)),
  column('granted', (row) => grantedCell(row, amount)),
  column(['unit', 'file'], ({ unit }) => textCell(unit)),
  column(['redeemed', 'minor'], ({ redeemed, unit, currency }) => {
    const spent = redeemed === null ? null : 0 - redeemed;
    return amountCell(spent, amount(spent, unit, currency));
  }),
  column(['left', 'minor'], ({ left, unit, currency }) =>
    amountCell(left, amount(left, unit, currency)),
  ),
  column('state', ({ state }) => stateCell(state)),
  column(['given', 'Granted on', 'minor'], ({ given }) => timeCell(given)),
  column(['expires', 'minor'], ({ expires }) => timeCell(expires)),
  column(['cancelled', 'Cancelled on', 'minor'], (row) => timeCell(row.cancelled)),
  column(['currency', 'file'], (row) => textCell(row.currency)),
  column(['percent', 'file'], (row) => amountCell(row.percent, '')),
  column(['rewardId', 'Reward', 'minor'], ({ rewardId }) => idCell(rewardId)),
];
