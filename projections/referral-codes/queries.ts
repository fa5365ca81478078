import type { PersonId } from '../../src/domain/account/account.events.js';
import type { AccountRef, Scope } from '../../src/domain/scope.js';
import type { LiveReads } from '../../src/projecting/following/live-reads.js';
import { codeKey } from './projector.js';
import type { CodeOwnerRow, ReferralCodeRow } from './table.js';

/** What a code leads to. */
export interface ReferralCodeFacts {
  /** In its owner's spelling. */
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

export class ReferralCodeQueries {
  constructor(private readonly reads: LiveReads) {}

  /** @param code in any case. Codes of forgotten people are not found. */
  async byCode({ tenant, mode }: Scope, code: string): Promise<ReferralCodeFacts | undefined> {
    const found = await this.reads.first<{ code: ReferralCodeRow; owner: CodeOwnerRow }>({
      name: 'code',
      text: (rm) => `
        select json_build_object('code', to_json(c), 'owner', to_json(o)) as json
        from ${rm}.referral_codes c join ${rm}.code_owners o using (person)
        where c.tenant = $1 and c.mode = $2 and c.code_key = $3`,
      values: [tenant, mode, codeKey(code)],
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
