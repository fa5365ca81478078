import { jsonBuildObject } from 'kysely/helpers/postgres';
import type { AccountFacts } from '../../src/domain/account/account.facts.js';
import type { AccountRef, Scope } from '../../src/domain/scope.js';
import { isOfScope, type LiveReads } from '../../src/projecting/following/live-reads.js';
import type { AccountRow } from './table.js';

interface Tables {
  readonly accounts: AccountRow;
}

export class AccountQueries {
  constructor(private readonly reads: LiveReads<Tables>) {}

  async byRef({ tenant, mode }: Scope, accountRef: AccountRef): Promise<AccountFacts | undefined> {
    const found = await this.reads.row({
      name: 'account_by_ref',
      types: { accountRef: 'text', tenant: 'text', mode: 'text' },
      values: { accountRef, tenant, mode },
      build: (rm, given, gone) =>
        rm
          .selectFrom('accounts as a')
          .where('a.account_ref', '=', given.accountRef)
          .where(isOfScope(['a.tenant', 'a.mode'], given))
          .select((eb) =>
            jsonBuildObject({
              account: eb.fn.toJson('a'),
              referrerIsGone: gone.is(eb.ref('a.referrer_person')),
            }).as('json'),
          ),
    });
    return found && accountFacts(found.account, found.referrerIsGone);
  }
}

function accountFacts(row: AccountRow, referrerIsGone: boolean): AccountFacts {
  return {
    accountId: row.account_id,
    currency: row.currency,
    // An account that was created by its first user and has no other data is on trial.
    subscription: row.subscription ?? { status: 'TRIAL' },
    referralCode: referrerIsGone ? null : row.referral_code,
  };
}
