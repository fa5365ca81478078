import { accounts } from '../../../../projections/accounts/table.js';
import { codeOwners, referralCodes } from '../../../../projections/referral-codes/table.js';
import { referrals } from '../../../../projections/referrals/table.js';
import { userAccounts, users } from '../../../../projections/users/table.js';
import type { AccountEvent } from '../../../domain/account/account.events.js';
import type { ReferralState, UserState } from '../../../domain/account/account.state.js';
import type { Scope } from '../../../domain/scope.js';
import {
  isAboutPerson,
  isAboutReferral,
  unlessForgotten,
  type ExpectedRow,
} from './expected-row.js';
import type { FoldedAccount } from './folded-account.js';

/** The rows that accounts, users, codes and referrals should have, as the ledger says. */

const ofAccount: ReadonlySet<AccountEvent['type']> = new Set([
  ...([
    'AccountOpened',
    'SubscriptionChanged',
    'CurrencyChanged',
    'AccountAttributed',
    'PaymentProviderIdSet',
  ] as const),
  ...(['ReferralStarted', 'ReferralConverted', 'ErasureRequested'] as const),
]);
const isAboutAccount = ({ type }: AccountEvent): boolean => ofAccount.has(type);

export function expectedAccount({ state }: FoldedAccount, accountRef: string): ExpectedRow[] {
  if (state.status === 'absent') return [];
  const { accountId, currency, subscription, attribution } = state;
  const values = {
    account_id: unlessForgotten(accountId),
    currency,
    subscription,
    // A forgotten owner's code shows in no account.
    referral_code: attribution === null ? null : unlessForgotten(attribution.code),
  };
  return [
    {
      table: accounts,
      key: [accountRef],
      values,
      mayBeMissing: accountId === null,
      isAbout: isAboutAccount,
    },
  ];
}

export function expectedUsers({ state }: FoldedAccount, accountRef: string): ExpectedRow[] {
  if (state.status === 'absent') return [];
  const { referral, accountId, paymentProviderId } = state;
  const ofAll = {
    account_id: unlessForgotten(accountId),
    payment_provider_id: accountId === null ? undefined : paymentProviderId,
    referred_person: referral?.referred.person ?? null,
    is_converted: referral?.datePaid != null,
  };
  return [
    { table: userAccounts, key: [accountRef], values: ofAll, isAbout: isAboutAccount },
    ...[...state.users.values()].map((user) => userRow(user)),
  ];
}

function userRow({
  person,
  profile,
  dateCreated,
  dateBlocked,
  primaryCodes,
}: UserState): ExpectedRow {
  return {
    table: users,
    key: [person],
    isAbout: isAboutPerson(person),
    mayBeMissing: profile === null,
    values: {
      date_created: dateCreated,
      date_blocked: dateBlocked,
      ...(profile === null
        ? {}
        : {
            user_id: profile.id,
            email: profile.email,
            first_name: profile.firstName,
            last_name: profile.lastName,
            profile,
            primary_codes: Object.fromEntries(primaryCodes),
          }),
    },
  };
}

export function expectedCodes({ state }: FoldedAccount, { tenant, mode }: Scope): ExpectedRow[] {
  if (state.status === 'absent') return [];
  return [...state.users.values()].flatMap(
    ({ person, profile, dateBlocked, codes }): ExpectedRow[] => {
      const isAbout = isAboutPerson(person);
      const mayBeMissing = profile === null;
      const owner = {
        blocked: dateBlocked !== null,
        ...(profile === null ? {} : { first_name: profile.firstName, last_name: profile.lastName }),
      };
      return [
        { table: codeOwners, key: [person], values: owner, mayBeMissing, isAbout },
        ...[...codes].map(([key, { code, programId, since }]) => ({
          table: referralCodes,
          key: [tenant, mode, key],
          mayBeMissing,
          isAbout,
          values: { code, person, program_id: programId, date_created: since },
        })),
      ];
    },
  );
}

export function expectedReferrals(
  { referrals: known }: FoldedAccount,
  accountRef: string,
): ExpectedRow[] {
  return [...known.values()].map((referral) => ({
    table: referrals,
    key: [referral.referralId],
    values: { referred_account_ref: accountRef, ...referralValues(referral) },
    isAbout: isAboutReferral(referral.referralId),
  }));
}

const referralValues = (referral: ReferralState) => ({
  program_id: referral.programId,
  referred_person: referral.referred.person,
  referrer_account_ref: referral.referrer.account,
  referrer_person: referral.referrer.person,
  referred_status: referral.referredStatus,
  referrer_status: referral.referrerStatus,
  fraud_signals: referral.fraudSignals,
  date_started: referral.dateStarted,
  date_paid: referral.datePaid,
  date_ended: referral.dateEnded,
  date_moderated: referral.dateModerated,
});
