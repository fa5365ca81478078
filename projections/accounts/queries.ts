import type { AccountFacts } from '../../src/domain/account/account.facts.js';
import type { AccountRef, Scope } from '../../src/domain/scope.js';
import type { LiveReads } from '../../src/projecting/following/live-reads.js';
import type { AccountRow } from './table.js';

export class AccountQueries {
  constructor(private readonly reads: LiveReads) {}

  async byRef({ tenant, mode }: Scope, accountRef: AccountRef): Promise<AccountFacts | undefined> {
    const row = await this.reads.first<AccountRow>({
      name: 'account_by_ref',
      text: (rm, gone) => `
        select case when ${gone.is('a.referrer_person')} then to_jsonb(a) || '{"referral_code": null}' else to_jsonb(a) end as json
        from ${rm}.accounts a where account_ref = $1 and tenant = $2 and mode = $3`,
      values: [accountRef, tenant, mode],
    });
    return row && accountFacts(row);
  }
}

function accountFacts(row: AccountRow): AccountFacts {
  return {
    accountId: row.account_id,
    currency: row.currency,
    // An account that came into being with its first user, and of which nobody has said more, is on trial.
    subscription: row.subscription ?? { status: 'TRIAL' },
    referralCode: row.referral_code,
  };
}
