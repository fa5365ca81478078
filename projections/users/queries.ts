import type { PersonId } from '../../src/domain/account/account.events.js';
import type { UserFacts } from '../../src/domain/account/account.facts.js';
import type { AccountRef, Scope } from '../../src/domain/scope.js';
import {
  Conditions,
  containing,
  type Gone,
  type ListPage,
  type LiveReads,
  type PageRequest,
} from '../../src/projecting/following/live-reads.js';
import type { UserAccountRow, UserRow } from './table.js';

type UserWithAccount = { readonly user: UserRow; readonly account: UserAccountRow | null };

/** `u` is the user, `a` the account. */
const withAccount = (gone: Gone): string => `
  json_build_object('user', to_json(u), 'account', case when ${gone.is('a.referred_by_person')} then to_jsonb(a) || '{"referred_by_code": null}' else to_jsonb(a) end)`;

export class UserQueries {
  constructor(private readonly reads: LiveReads) {}

  /** @param userId as the client spells it. */
  async byUserId({ tenant, mode }: Scope, accountRef: AccountRef, userId: string): Promise<UserFacts | undefined> {
    const found = await this.reads.first<UserWithAccount>({
      name: 'user_by_id',
      text: (rm, gone) => `
        select ${withAccount(gone)} as json from ${rm}.users u left join ${rm}.user_accounts a using (account_ref)
        where account_ref = $1 and user_id = $2 and u.tenant = $3 and u.mode = $4
        order by u.date_created desc limit 1`,
      values: [accountRef, userId, tenant, mode],
    });
    return found && userFacts(found);
  }

  /** The users that there are of these persons, by person. */
  async byPersons({ tenant, mode }: Scope, persons: readonly PersonId[]): Promise<ReadonlyMap<PersonId, UserFacts>> {
    if (persons.length === 0) return new Map();
    const found = await this.reads.all<UserWithAccount>({
      name: 'users_by_persons',
      text: (rm, gone) => `
        select ${withAccount(gone)} as json from ${rm}.users u left join ${rm}.user_accounts a using (account_ref)
        where person = any ($1::text[]) and u.tenant = $2 and u.mode = $3`,
      values: [persons, tenant, mode],
    });
    return new Map(found.map((row) => [row.user.person, userFacts(row)]));
  }

  /**
   * Newest first, ties by person. `query` is a piece of text of the e-mail address, the first, last or full name, or the id, in any
   * case. The total is a kept counter; with a query it counts the matches among the scope's users, which reads all of them.
   */
  async list({ tenant, mode }: Scope, { query, limit, offset }: PageRequest & { readonly query?: string }): Promise<ListPage<UserFacts>> {
    const piece = query === undefined || query === '' ? undefined : containing(query.toLowerCase());
    const conditions = new Conditions().equal('tenant', tenant).equal('mode', mode).like('search', piece);
    const page = `limit ${conditions.parameter(limit)} offset ${conditions.parameter(offset)}`;
    const newestFirst = 'date_created desc, person';
    const list = await this.reads.first<{ total: number | null; items: UserWithAccount[] }>({
      text: (rm, gone) => `
        select json_build_object(
          'total', ${piece === undefined ? `(select users from ${rm}.user_counts where tenant = $1 and mode = $2)` : `(select count(*) from ${rm}.users where ${conditions.where})`},
          'items', (
            select coalesce(json_agg(${withAccount(gone)} order by u.date_created desc, u.person), '[]')
            from (select * from ${rm}.users where ${conditions.where} order by ${newestFirst} ${page}) u left join ${rm}.user_accounts a using (account_ref))
        ) as json`,
      values: conditions.values,
    });
    return { totalCount: list?.total ?? 0, items: (list?.items ?? []).map(userFacts) };
  }
}

function userFacts({ user, account }: UserWithAccount): UserFacts {
  const { id: userId, ...profile } = user.profile;
  return {
    accountRef: user.account_ref,
    person: user.person,
    accountId: account?.account_id ?? '',
    userId,
    ...profile,
    dateCreated: user.date_created,
    dateBlocked: user.date_blocked,
    referralCodes: user.primary_codes,
    paymentProviderId: account?.payment_provider_id ?? null,
    referredBy: account?.referred_person === user.person ? { code: account.referred_by_code, isConverted: account.is_converted } : null,
  };
}
