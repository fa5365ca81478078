import { jsonBuildObject } from 'kysely/helpers/postgres';
import type { PersonId } from '../../src/domain/account/account.events.js';
import type { AccountRef, Scope } from '../../src/domain/scope.js';
import type { LiveReads } from '../../src/projecting/following/live-reads.js';
import { codeKey } from './projector.js';
import type { CodeOwnerRow, ReferralCodeRow } from './table.js';

export interface ReferralCodeFacts {
  /** In the owner's spelling. */
  readonly code: string;
  readonly programId: string;
  /** When the owner first had this code, epoch milliseconds. */
  readonly dateCreated: number;
  readonly accountRef: AccountRef;
  readonly person: PersonId;
  readonly ownerBlocked: boolean;
  readonly ownerFirstName: string | null;
  readonly ownerLastName: string | null;
}

interface Tables {
  readonly referral_codes: ReferralCodeRow;
  readonly code_owners: CodeOwnerRow;
}

export class ReferralCodeQueries {
  constructor(private readonly reads: LiveReads<Tables>) {}

  /** @param code in any case. Codes of forgotten people are not found. */
  async byCode({ tenant, mode }: Scope, code: string): Promise<ReferralCodeFacts | undefined> {
    const found = await this.reads.row({
      name: 'code',
      types: { tenant: 'text', mode: 'text', codeKey: 'text' },
      values: { tenant, mode, codeKey: codeKey(code) },
      build: (rm, given) =>
        rm
          .selectFrom('referral_codes as c')
          .innerJoin('code_owners as o', 'o.person', 'c.person')
          .where('c.tenant', '=', given.tenant)
          .where('c.mode', '=', given.mode)
          .where('c.code_key', '=', given.codeKey)
          .select(({ fn }) =>
            jsonBuildObject({ code: fn.toJson('c'), owner: fn.toJson('o') }).as('json'),
          ),
    });
    return found && referralCodeFacts(found.code, found.owner);
  }
}

function referralCodeFacts(code: ReferralCodeRow, owner: CodeOwnerRow): ReferralCodeFacts {
  return {
    code: code.code,
    programId: code.program_id,
    dateCreated: code.date_created,
    accountRef: code.account_ref,
    person: code.person,
    ownerBlocked: owner.blocked,
    ownerFirstName: owner.first_name,
    ownerLastName: owner.last_name,
  };
}
