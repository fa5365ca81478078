import { sql, type ExpressionBuilder, type Nullable } from 'kysely';
import { jsonArrayFrom, jsonBuildObject } from 'kysely/helpers/postgres';
import type { PersonId } from '../../src/domain/account/account.events.js';
import type { UserFacts } from '../../src/domain/account/account.facts.js';
import type { AccountRef, Scope } from '../../src/domain/scope.js';
import { foldedText } from '../../src/domain/folded-text.js';
import {
  likePattern,
  isDeepPage,
  isOfScope,
  present,
  type UnfinishedErasures,
  type ListPage,
  type LiveReads,
  type PageRequest,
} from '../../src/projecting/following/live-reads.js';
import { SEARCH_SEPARATOR, type UserAccountRow, type UserCountRow, type UserRow } from './table.js';

interface Tables {
  readonly users: UserRow;
  readonly user_accounts: UserAccountRow;
  readonly user_counts: UserCountRow;
}

interface UserWithAccount {
  readonly user: UserRow;
  readonly account: UserAccountRow | null;
  readonly referrerIsGone: boolean;
}

type Joined = ExpressionBuilder<Tables & { u: UserRow; a: Nullable<UserAccountRow> }, 'u' | 'a'>;

function withAccount(eb: Joined, gone: UnfinishedErasures) {
  return {
    user: eb.fn.toJson('u'),
    // Null where there is no account to join.
    account: eb.fn.toJson('a').$castTo<UserAccountRow | null>(),
    referrerIsGone: gone.is(eb.ref('a.referred_by_person')),
  };
}

/** A page of the users that a text finds; undefined: of all. */
export interface SearchedPage extends PageRequest {
  readonly query?: string;
  readonly isWholeId?: boolean;
}

export class UserQueries {
  constructor(private readonly reads: LiveReads<Tables>) {}

  /** @param userId in the client's spelling. */
  async byUserId(
    { tenant, mode }: Scope,
    accountRef: AccountRef,
    userId: string,
  ): Promise<UserFacts | undefined> {
    const found = await this.reads.row({
      name: 'user_by_id',
      types: { accountRef: 'text', userId: 'text', tenant: 'text', mode: 'text' },
      values: { accountRef, userId, tenant, mode },
      build: (rm, given, gone) =>
        rm
          .selectFrom('users as u')
          .leftJoin('user_accounts as a', 'a.account_ref', 'u.account_ref')
          .where('u.account_ref', '=', given.accountRef)
          .where('u.user_id', '=', given.userId)
          .where(isOfScope(['u.tenant', 'u.mode'], given))
          .select((eb) => jsonBuildObject(withAccount(eb, gone)).as('json'))
          .orderBy('u.date_created', 'desc')
          .limit(1),
    });
    return found && userFacts(found);
  }

  async byPersons(
    { tenant, mode }: Scope,
    persons: readonly PersonId[],
  ): Promise<ReadonlyMap<PersonId, UserFacts>> {
    if (persons.length === 0) return new Map();
    const found = await this.reads.all({
      name: 'users_by_persons',
      prepared: true,
      values: { persons, tenant, mode },
      build: (rm, given, gone) =>
        rm
          .selectFrom('users as u')
          .leftJoin('user_accounts as a', 'a.account_ref', 'u.account_ref')
          .where((eb) => eb('u.person', '=', eb.fn.any(given.persons)))
          .where(isOfScope(['u.tenant', 'u.mode'], given))
          .select((eb) => jsonBuildObject(withAccount(eb, gone)).as('json')),
    });
    return new Map(found.map((row) => [row.user.person, userFacts(row)]));
  }

  /**
   * Newest first, ties by person. Each word of `query` is a part of the e-mail address, the first
   * or last name, or the id, in any case; with `isWholeId` the query is the whole id. The total is
   * a stored counter, or the number of matches: an index finds those of the longest word from three
   * characters on; others are compared with all users of the scope.
   */
  async list(
    { tenant, mode }: Scope,
    { query, isWholeId = false, ...page }: SearchedPage,
  ): Promise<ListPage<UserFacts>> {
    const [pattern, ...others] = patternsOf(foldedText(query ?? ''), isWholeId);
    const list = await this.reads.first({
      name: 'users',
      prepared: false,
      slowOf: pattern !== undefined || isDeepPage(page) ? tenant : undefined,
      values: { tenant, mode, pattern, others: others.length > 0 ? others : undefined, ...page },
      build: (rm, given, gone) =>
        rm
          // Read once for the total and the page of a search; else a part of the page's statement.
          .with('matching', (db) =>
            db
              .selectFrom('users')
              .where('tenant', '=', given.tenant)
              .where('mode', '=', given.mode)
              .where((eb) =>
                eb.and(
                  present([
                    given.pattern && eb('searched', 'like', given.pattern),
                    // Raw: the builder has no comparison with all of an array.
                    given.others && sql<boolean>`searched like all(${given.others})`,
                  ]),
                ),
              )
              .select(['person', 'date_created']),
          )
          .selectNoFrom((eb) => {
            const kept = eb
              .selectFrom('user_counts')
              .where('tenant', '=', given.tenant)
              .where('mode', '=', given.mode)
              .select('users');
            // `newest_first` has these columns: earlier rows of the whole list are not read.
            const page = eb
              .selectFrom('matching')
              .select('person')
              .orderBy('date_created', 'desc')
              .orderBy('person')
              .limit(given.limit)
              .offset(given.offset);
            const items = eb
              .selectFrom(page.as('p'))
              .innerJoin('users as u', 'u.person', 'p.person')
              .leftJoin('user_accounts as a', 'a.account_ref', 'u.account_ref')
              .select((eb) => jsonBuildObject(withAccount(eb, gone)).as('item'))
              .orderBy('u.date_created', 'desc')
              .orderBy('u.person');
            const counted = given.pattern
              ? eb.selectFrom('matching').select(({ fn }) => fn.countAll<number>().as('users'))
              : kept;
            return jsonBuildObject({ total: counted.$asScalar(), items: jsonArrayFrom(items) }).as(
              'json',
            );
          }),
    });
    return {
      totalCount: list?.total ?? 0,
      items: (list?.items ?? []).map(({ item }) => userFacts(item)),
    };
  }
}

/** Of the words, the longest first; the searched text ends with the id. */
function patternsOf(text: string, isWholeId: boolean): readonly string[] {
  if (isWholeId) return [likePattern(SEARCH_SEPARATOR + text).slice(0, -1)];
  const words = text.split(/\s+/u).filter((word) => word !== '');
  return words.sort((a, b) => b.length - a.length).map(likePattern);
}

function userFacts({ user, account, referrerIsGone }: UserWithAccount): UserFacts {
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
    referredBy:
      account?.referred_person === user.person
        ? {
            code: referrerIsGone ? null : account.referred_by_code,
            isConverted: account.is_converted,
          }
        : null,
  };
}
