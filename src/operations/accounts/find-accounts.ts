import type { AccountQueries } from '../../../projections/accounts/queries.js';
import type { ReferralQueries } from '../../../projections/referrals/queries.js';
import type { RewardQueries } from '../../../projections/rewards/queries.js';
import type { UserQueries } from '../../../projections/users/queries.js';
import type { Core } from '../../stores/core.js';
import type { Scope } from '../../domain/scope.js';

/** An account that a search found, and why. */
export interface FoundByText {
  readonly accountId: string;
  readonly because: string;
}

/** The read models that a search looks into. */
export interface SearchedModels {
  readonly accounts: Pick<AccountQueries, 'byRef'>;
  readonly users: Pick<UserQueries, 'list'>;
  readonly rewards: Pick<RewardQueries, 'byId'>;
  readonly referrals: Pick<ReferralQueries, 'byId'>;
}

const USERS_MAX = 20;

/**
 * The accounts that a text names: an account's id, a code, a reward's or referral's id, or a part
 * of a user's id, name or e-mail address.
 * @param showsPersonal false: ids alone are searched, and no person; a referral finds the account
 * that was referred.
 */
export async function findAccounts(
  core: Pick<Core, 'names' | 'owners'>,
  models: SearchedModels,
  { scope, text, showsPersonal }: { scope: Scope; text: string; showsPersonal: boolean },
) {
  const searched = { query: text, limit: USERS_MAX, offset: 0 };
  // All together: one that fails while another is awaited would have nobody to hear of it.
  const [byId, reward, parties, owner, ofUser, users] = await Promise.all([
    models.accounts.byRef(scope, core.names.accountRef(scope, text)),
    models.rewards.byId(scope, text),
    models.referrals.byId(scope, text),
    showsPersonal ? core.owners.find(scope, text) : undefined,
    showsPersonal ? models.users.list(scope, { ...searched, isWholeId: true }) : undefined,
    showsPersonal ? models.users.list(scope, searched) : undefined,
  ]);
  const found: FoundByText[] = [];
  const add = (accountId: string | null | undefined, because: string): void => {
    if (accountId && !found.some((one) => one.accountId === accountId))
      found.push({ accountId, because });
  };
  add(byId?.accountId, 'its id');
  add(owner?.party.ids.value?.accountId, 'a code of its user');
  add(reward?.account_id, 'its reward');
  // Who referred whom is not shown without personal data.
  const referrer = parties && showsPersonal ? [parties.referrerAccountRef] : [];
  for (const ref of parties ? [parties.referredAccountRef, ...referrer] : [])
    add((await models.accounts.byRef(scope, ref))?.accountId, 'its referral');
  for (const { accountId, userId, email } of [...(ofUser?.items ?? []), ...(users?.items ?? [])])
    add(accountId, [userId, email].filter(Boolean).join(', '));
  const people = users?.totalCount ?? 0;
  return {
    accounts: found,
    /** Whose id, name or address has the text. */
    people,
    /** The accounts are those of the newest ones of these people only. */
    isCut: people > USERS_MAX,
  };
}
