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
import type { TableColumn } from '../view/table.js';

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
  {
    key: 'name',
    label: 'User',
    cell: (row) => textCell(row.name, { note: row.email, path: accountPath(path, row.accountId) }),
  },
  { key: 'email', label: 'E-mail', cell: ({ email }) => textCell(email), isFileOnly: true },
  { key: 'userId', label: 'User id', cell: ({ userId }) => idCell(userId), isMinor: true },
  { key: 'accountId', label: 'Account', cell: ({ accountId }) => idCell(accountId), isMinor: true },
  { key: 'code', label: 'Code', cell: ({ code }) => textCell(code), isMinor: true },
  { key: 'state', label: 'State', cell: ({ state }) => stateCell(state) },
  { key: 'created', label: 'Created', cell: ({ created }) => timeCell(created), isMinor: true },
  { key: 'blocked', label: 'Blocked', cell: ({ blocked }) => timeCell(blocked), isFileOnly: true },
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
    {
      key: 'people',
      label: 'People',
      cell: (row) =>
        textCell(row.people.join(', ') || row.accountId, {
          note: row.peopleCount > row.people.length ? `${row.peopleCount} people` : null,
          path: accountPath(path, row.accountId),
        }),
    },
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
    { key: 'state', label: 'State', cell: ({ state }) => stateCell(state) },
    { key: 'currency', label: 'Currency', cell: (row) => textCell(row.currency), isMinor: true },
    {
      key: 'balances',
      label: 'Available',
      sorts: false,
      cell: ({ balances, currency }) =>
        textCell(
          balances.map(({ unit, available }) => amount(available, unit, currency)).join(', ') ||
            null,
        ),
    },
    ...(showsPersonal
      ? [
          {
            key: 'code' as const,
            label: 'Referred with',
            cell: ({ code }: AccountRowWithBalances) => textCell(code),
            isMinor: true,
          },
        ]
      : []),
    { key: 'opened', label: 'Opened', cell: ({ opened }) => timeCell(opened), isMinor: true },
  ];
  // The balances have no order: `sorts` keeps their key out of the requests.
  return columns as readonly TableColumn<AccountRowWithBalances, AccountSort>[];
};

const partyCell = (path: string, { name, accountId }: ListedParty) =>
  textCell(name ?? 'Forgotten', { path: accountPath(path, accountId) });

export const referralColumns = (
  path: string,
): readonly TableColumn<ReferralListRow, ReferralSort>[] => [
  { key: 'referred', label: 'Referred', cell: ({ referred }) => partyCell(path, referred) },
  { key: 'referrer', label: 'Referrer', cell: ({ referrer }) => partyCell(path, referrer) },
  { key: 'code', label: 'Code', cell: ({ code }) => textCell(code), isMinor: true },
  { key: 'program', label: 'Program', cell: ({ program }) => textCell(program), isMinor: true },
  { key: 'state', label: 'State', cell: ({ state }) => stateCell(state) },
  {
    key: 'referredModeration',
    label: 'Referred side',
    cell: (row) => stateCell(row.referredModeration),
    isMinor: true,
  },
  {
    key: 'referrerModeration',
    label: 'Referrer side',
    cell: (row) => stateCell(row.referrerModeration),
    isMinor: true,
  },
  { key: 'started', label: 'Started', cell: ({ started }) => timeCell(started), isMinor: true },
  {
    key: 'converted',
    label: 'Converted',
    cell: ({ converted }) => timeCell(converted),
    isMinor: true,
  },
  { key: 'ended', label: 'Ended', cell: ({ ended }) => timeCell(ended), isFileOnly: true },
  { key: 'referralId', label: 'Referral', cell: (row) => idCell(row.referralId), isMinor: true },
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
  {
    key: 'person',
    label: 'User',
    cell: (row) => textCell(row.person, { note: row.name, path: accountPath(path, row.accountId) }),
  },
  { key: 'accountId', label: 'Account', cell: (row) => idCell(row.accountId), isMinor: true },
  { key: 'name', label: 'Name', cell: ({ name }) => textCell(name), isFileOnly: true },
  { key: 'type', label: 'Type', cell: ({ type }) => textCell(type), isFileOnly: true },
  { key: 'granted', label: 'Granted', cell: (row) => grantedCell(row, amount) },
  { key: 'unit', label: 'Unit', cell: ({ unit }) => textCell(unit), isFileOnly: true },
  {
    key: 'redeemed',
    label: 'Redeemed',
    cell: ({ redeemed, unit, currency }) => {
      const spent = redeemed === null ? null : 0 - redeemed;
      return amountCell(spent, amount(spent, unit, currency));
    },
    isMinor: true,
  },
  {
    key: 'left',
    label: 'Left',
    cell: ({ left, unit, currency }) => amountCell(left, amount(left, unit, currency)),
    isMinor: true,
  },
  { key: 'state', label: 'State', cell: ({ state }) => stateCell(state) },
  { key: 'given', label: 'Granted on', cell: ({ given }) => timeCell(given), isMinor: true },
  { key: 'expires', label: 'Expires', cell: ({ expires }) => timeCell(expires), isMinor: true },
  {
    key: 'cancelled',
    label: 'Cancelled on',
    cell: (row) => timeCell(row.cancelled),
    isMinor: true,
  },
  { key: 'currency', label: 'Currency', cell: (row) => textCell(row.currency), isFileOnly: true },
  {
    key: 'percent',
    label: 'Percent',
    cell: (row) => amountCell(row.percent, ''),
    isFileOnly: true,
  },
  { key: 'rewardId', label: 'Reward', cell: ({ rewardId }) => idCell(rewardId), isMinor: true },
];
