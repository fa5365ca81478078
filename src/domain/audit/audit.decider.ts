import type { PersonId } from '../account/account.events.js';
import type { Decision } from '../decision.js';
import type { Fact } from '../fact.js';
import type { AccountRef } from '../scope.js';

interface Look {
  account: AccountRef;
  person: PersonId;
}

/**
 * Accesses to personal data, in a stream of their own per account: an access is no fact of the
 * ledger, and must neither conflict with commands nor lengthen their streams. The envelope names
 * the reader; no personal data is stored.
 */
export type AuditEvent = Fact<'PersonalDataViewed', Look>;

/** Every access counts, also a repeated one of the same caller. */
export const decide = ({
  account,
  person,
  now: at,
}: Look & { readonly now: number }): Decision<AuditEvent> => ({
  events: [{ type: 'PersonalDataViewed', at, account, person }],
});
