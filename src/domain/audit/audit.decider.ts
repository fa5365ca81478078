import type { PersonId } from '../account/account.events.js';
import type { Decision } from '../decision.js';
import type { Fact } from '../fact.js';
import type { AccountRef } from '../scope.js';

interface PersonalDataAccess {
  account: AccountRef;
  person: PersonId;
}

/**
 * Accesses to personal data, in one stream per account: they are no facts of the ledger and must
 * neither conflict with commands nor lengthen their streams. The envelope names the reader; no
 * personal data is stored.
 */
export type AuditEvent = Fact<'PersonalDataViewed', PersonalDataAccess>;

/** Each access counts, repeated ones too. */
export const decide = ({
  account,
  person,
  now: at,
}: PersonalDataAccess & { readonly now: number }): Decision<AuditEvent> => ({
  events: [{ type: 'PersonalDataViewed', at, account, person }],
});
