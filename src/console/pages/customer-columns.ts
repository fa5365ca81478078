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
  column(['userId', 'User id', 'minor'], ({ userId }) => idCell(userId)),
  column(['accountId', 'Account', 'minor'], ({ accountId }) => idCell(accountId)),
  column(['code', 'Code', 'minor'], ({ code }) => textCell(code)),
  column(['state', 'State'], ({ state }) => stateCell(state)),
  column(['created', 'Created', 'minor'], ({ created }) => timeCell(created)),
  column(['blocked', 'Blocked', 'file'], ({ blocked }) => timeCell(blocked)),
];

/** An account id that contains `@` is shortened for viewers. */
export const viewedAccount = (accountId: string, showsPersonal: boolean): string =>
  showsPersonal || !accountId.includes('@') ? accountId : `${accountId.slice(0, 2)}…`;

type AccountColumn = AccountSort | 'balances';

export const ACCOUNT_COLUMNS = (
  { path, amount }: ShownIn,
  showsPersonal: boolean,
): readonly TableColumn<AccountRowWithBalances, AccountSort>[] => {
  const people: readonly TableColumn<AccountRowWithBalances, AccountColumn>[] = [
    column(['people', 'People'], (row) =>
      textCell(row.people.join(', ') || row.accountId, {
        note: row.peopleCount > row.people.length ? `${row.peopleCount} people` : null,
        path: accountPath(path, row.accountId),
      }),
    ),
  ];
  const columns: readonly TableColumn<AccountRowWithBalances, AccountColumn>[] = [
    ...(showsPersonal ? people : []),
    {
      key: 'accountId',
      label: 'Account',
      cell: ({ accountId }) =>
        showsPersonal
          ? idCell(accountId)
          : textCell(viewedAccount(accountId, false), { path: accountPath(path, accountId) }),
      isMinor: showsPersonal,
    },
    column(['state', 'State'], ({ state }) => stateCell(state)),
    column(['currency', 'Currency', 'minor'], (row) => textCell(row.currency)),
    column(['balances', 'Available', 'unsorted'], ({ balances, currencyOfCents }) =>
      textCell(
        balances
          .map(({ unit, available }) => amount(available, unit, currencyOfCents))
          .join(', ') || null,
      ),
    ),
    ...(showsPersonal
      ? [
          column(['code' as const, 'Referred with', 'minor'], ({ code }: AccountRowWithBalances) =>
            textCell(code),
          ),
        ]
      : []),
    column(['opened', 'Opened', 'minor'], ({ opened }) => timeCell(opened)),
  ];
  // The balances have no order: `sorts` keeps their key out of the requests.
  return columns as readonly TableColumn<AccountRowWithBalances, AccountSort>[];
};

const partyCell = (path: string, { name, accountId }: ListedParty) =>
  textCell(name ?? 'Forgotten', { path: accountPath(path, accountId) });

export const referralColumns = (
  path: string,
): readonly TableColumn<ReferralListRow, ReferralSort>[] => [
  column(['referred', 'Referred'], ({ referred }) => partyCell(path, referred)),
  column(['referrer', 'Referrer'], ({ referrer }) => partyCell(path, referrer)),
  column(['code', 'Code', 'minor'], ({ code }) => textCell(code)),
  column(['program', 'Program', 'minor'], ({ program }) => textCell(program)),
  column(['state', 'State'], ({ state }) => stateCell(state)),
  column(['referredModeration', 'Referred side', 'minor'], (row) =>
    stateCell(row.referredModeration),
  ),
  column(['referrerModeration', 'Referrer side', 'minor'], (row) =>
    stateCell(row.referrerModeration),
  ),
  column(['started', 'Started', 'minor'], ({ started }) => timeCell(started)),
  column(['converted', 'Converted', 'minor'], ({ converted }) => timeCell(converted)),
  column(['ended', 'Ended', 'file'], ({ ended }) => timeCell(ended)),
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
  column(['name', 'Name', 'file'], ({ name }) => textCell(name)),
  column(['type', 'Type', 'file'], ({ type }) => textCell(type)),
  column(['granted', 'Granted'], (row) => grantedCell(row, amount)),
  column(['unit', 'Unit', 'file'], ({ unit }) => textCell(unit)),
  column(['redeemed', 'Redeemed', 'minor'], ({ redeemed, unit, currency }) => {
    const spent = redeemed === null ? null : 0 - redeemed;
    return amountCell(spent, amount(spent, unit, currency));
  }),
  column(['left', 'Left', 'minor'], ({ left, unit, currency }) =>
    amountCell(left, amount(left, unit, currency)),
  ),
  column(['state', 'State'], ({ state }) => stateCell(state)),
  column(['given', 'Granted on', 'minor'], ({ given }) => timeCell(given)),
  column(['expires', 'Expires', 'minor'], ({ expires }) => timeCell(expires)),
  column(['cancelled', 'Cancelled on', 'minor'], (row) => timeCell(row.cancelled)),
  column(['currency', 'Currency', 'file'], (row) => textCell(row.currency)),
  column(['percent', 'Percent', 'file'], (row) => amountCell(row.percent, '')),
  column(['rewardId', 'Reward', 'minor'], ({ rewardId }) => idCell(rewardId)),
];
