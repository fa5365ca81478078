import { sql, type RawBuilder } from 'kysely';
import { foldedText } from '../../src/domain/folded-text.js';
import type { AccountRef, LedgerMode, Scope } from '../../src/domain/scope.js';
import type { Given } from '../../src/postgres/statements.js';
import type {
  LiveReads,
  PageRequest,
  TableOfReadModel,
} from '../../src/projecting/following/live-reads.js';
import {
  COUNTED_MAX,
  hasWords,
  nameOf,
  wordPatterns,
  type WordPatterns,
} from '../../src/projecting/following/row-lists.js';

export interface SearchRequest extends PageRequest {
  readonly text: string;
  /** Where to search, each with the ref of the account whose whole id is the text. */
  readonly scopes: readonly (Scope & { readonly accountRef: AccountRef })[];
  /** False: searches ids alone, and shows no person. */
  readonly showsPersonal: boolean;
}

/** A hit of a search. Null: none, or hidden. */
export interface FoundRow {
  readonly kind: 'user' | 'account' | 'reward' | 'referral' | 'export';
  readonly tenant: string;
  readonly mode: LedgerMode;
  readonly id: string;
  readonly accountId: string | null;
  /** Of its person; of an account, its first one. */
  readonly name: string | null;
  /** The address of a user, the referrer of a referral, the type of a reward or an export. */
  readonly detail: string | null;
}

export interface FoundPage {
  readonly total: number;
  /** More hits exist than are counted. */
  readonly isAbout: boolean;
  readonly rows: readonly FoundRow[];
  /** The account of all hits; null: several, or none. */
  readonly onlyAccount: string | null;
}

type Words = WordPatterns & {
  readonly text: string;
  /** A pattern between separators: a whole part of the searched text. */
  readonly whole: string;
  readonly tenants: readonly string[];
  readonly modes: readonly string[];
  readonly accountRefs: readonly string[];
  readonly limit: number;
  readonly offset: number;
};

const JOINED = ['referral-codes', 'rewards', 'referrals', 'exports'] as const;
const NAME = nameOf('u', sql.ref('u.user_id'));

/** The console's search. Raw SQL: it joins five read models. */
export class CustomerSearchQueries {
  constructor(private readonly reads: LiveReads<never>) {}

  /** Hits by a whole id first, then users, then accounts, by name. */
  async page({ text, scopes, showsPersonal, ...page }: SearchRequest): Promise<FoundPage> {
    const { pattern, otherPatterns } = wordPatterns(text);
    if (pattern === undefined || scopes.length === 0)
      return { total: 0, isAbout: false, rows: [], onlyAccount: null };
    const values: Words = {
      pattern,
      otherPatterns,
      text: text.trim(),
      whole: `%\u001f${foldedText(text.trim()).replaceAll(/[\\%_]/g, '\\$&')}\u001f%`,
      tenants: scopes.map(({ tenant }) => tenant),
      modes: scopes.map(({ mode }) => mode),
      accountRefs: scopes.map(({ accountRef }) => accountRef),
      ...page,
    };
    const found = await this.reads.first({
      name: showsPersonal ? 'customer_search' : 'customer_search_by_id',
      prepared: false,
      slowOf: showsPersonal ? (scopes.length === 1 ? scopes[0]?.tenant : '*') : undefined,
      joins: JOINED,
      values,
      build: (_rm, given, _gone, tableOf) => pageOf(given, tableOf, showsPersonal),
    });
    const { total, rows, onlyAccount } = found ?? { total: 0, rows: [], onlyAccount: null };
    const isAbout = total > COUNTED_MAX;
    return { total: Math.min(total, COUNTED_MAX), isAbout, rows, onlyAccount };
  }
}

type Found = Omit<FoundPage, 'isAbout'>;

/** One statement with the page, the total and the only account. */
function pageOf(
  given: Given<Words>,
  tableOf: TableOfReadModel,
  showsPersonal: boolean,
): RawBuilder<{ json: Found }> {
  const hits = [
    ...foundByIds(given, tableOf, showsPersonal),
    ...(showsPersonal ? [foundUsers(given, tableOf), foundAccounts(given, tableOf)] : []),
  ];
  const users = tableOf('users', 'users');
  return sql`
    with scopes as (
      select * from unnest(${given.tenants}::text[], ${given.modes}::text[]) as s (tenant, mode)
    ), hits as (
      select * from (${sql.join(hits, sql` union all `)}) found
      where (tenant, mode) in (table scopes) limit ${COUNTED_MAX + 1}
    ), page as (
      select * from hits order by rank, lower(name), id
      limit ${given.limit} offset ${given.offset}
    )
    select json_build_object(
      'total', (select count(*) from hits),
      'onlyAccount', (select min(account_id) from hits having count(distinct account_ref) = 1
        and count(account_ref) = count(*) and count(distinct (tenant, mode)) = 1),
      'rows', (select coalesce(json_agg(json_build_object('kind', page.kind,
          'tenant', page.tenant, 'mode', page.mode, 'id', page.id, 'accountId', page.account_id,
          'name', coalesce(page.name, first.name), 'detail', page.detail)
          order by page.rank, lower(page.name), page.id), '[]')
        from page left join lateral (
          select ${NAME} as name from ${users} u where ${showsPersonal}::boolean
            and page.kind = 'account' and u.account_ref = page.account_ref
          order by u.user_id limit 1) first on true)) as json`;
}

const hit = (columns: {
  readonly rank: RawBuilder<unknown>;
  readonly kind: FoundRow['kind'];
  readonly of: string;
  readonly id: RawBuilder<unknown>;
  readonly account: string | null;
  readonly name: RawBuilder<unknown>;
  readonly detail: RawBuilder<unknown>;
}) => {
  const { rank, kind, of, id, account, name, detail } = columns;
  const ofAccount = (column: string) =>
    account === null ? sql`null::text` : sql.ref(`${account}.${column}`);
  return sql`select ${rank} as rank, ${kind}::text as kind,
    ${sql.ref(`${of}.tenant`)} as tenant, ${sql.ref(`${of}.mode`)} as mode, ${id} as id,
    ${ofAccount('account_ref')} as account_ref, ${ofAccount('account_id')} as account_id,
    ${name} as name, ${detail} as detail`;
};

const NOTHING = sql`null::text`;
const BY_ID = sql`0`;

/** By ids of rewards and referrals of people who are not forgotten, and of exports. */
function foundByIds(given: Given<Words>, tableOf: TableOfReadModel, showsPersonal: boolean) {
  const users = tableOf('users', 'users');
  const accounts = tableOf('users', 'user_accounts');
  const shown = (value: RawBuilder<unknown>) => (showsPersonal ? value : NOTHING);
  const account = { rank: BY_ID, kind: 'account', of: 'a', account: 'a', detail: NOTHING } as const;
  const reward = { rank: BY_ID, kind: 'reward', of: 'r', account: 'r' } as const;
  const referral = { rank: BY_ID, kind: 'referral', of: 'r', account: 'a' } as const;
  const found = { rank: BY_ID, kind: 'export', of: 'e', account: null, name: NOTHING } as const;
  return [
    ...(showsPersonal
      ? []
      : [
          sql`${hit({ ...account, id: sql.ref('a.account_id'), name: NOTHING })}
            from ${accounts} a where a.account_ref = any(${given.accountRefs}::text[])`,
        ]),
    sql`${hit({ ...reward, id: sql.ref('r.reward_id'), name: shown(NAME), detail: sql.ref('r.type') })}
      from ${tableOf('rewards', 'rewards')} r join ${users} u on u.person = r.person
      where r.reward_id = ${given.text}`,
    sql`${hit({
      ...referral,
      id: sql.ref('r.referral_id'),
      name: shown(nameOf('u', sql.ref('u.user_id'))),
      detail: shown(nameOf('w', sql.ref('w.user_id'))),
    })}
      from ${tableOf('referrals', 'referrals')} r
      join ${accounts} a on a.account_ref = r.referred_account_ref
      left join ${users} u on u.person = r.referred_person
      left join ${users} w on w.person = r.referrer_person
      where r.referral_id = ${given.text}`,
    ...(showsPersonal
      ? [
          sql`${hit({ ...found, id: sql.ref('e.export_id'), detail: sql.ref('e.type') })}
            from ${tableOf('exports', 'exports')} e where e.export_id = ${given.text}`,
        ]
      : []),
  ];
}

/** By the searched text of users, and by parts of their codes. */
function foundUsers(given: Given<Words>, tableOf: TableOfReadModel): RawBuilder<unknown> {
  const rank = sql`case when e'\\x1f' || u.searched || e'\\x1f' like ${given.whole} then 1 else 2 end`;
  const user = { rank, kind: 'user', of: 'u', account: 'a', name: NAME } as const;
  return sql`${hit({ ...user, id: sql.ref('u.user_id'), detail: sql.ref('u.email') })}
    from ${tableOf('users', 'users')} u
    left join ${tableOf('users', 'user_accounts')} a on a.account_ref = u.account_ref
    where ${hasWords(sql.ref('u.searched'), given)} or u.person = any (array(
      select c.person from ${tableOf('referral-codes', 'referral_codes')} c
      where (c.tenant, c.mode) in (table scopes) and ${hasWords(sql.ref('c.code_key'), given)}))`;
}

function foundAccounts(given: Given<Words>, tableOf: TableOfReadModel): RawBuilder<unknown> {
  const rank = sql`case when a.account_ref = any(${given.accountRefs}::text[]) then 1 else 3 end`;
  const account = { rank, kind: 'account', of: 'a', account: 'a', name: NOTHING } as const;
  return sql`${hit({ ...account, id: sql.ref('a.account_id'), detail: NOTHING })}
    from ${tableOf('users', 'user_accounts')} a
    where ${hasWords(sql`lower(a.account_id)`, given)}`;
}
