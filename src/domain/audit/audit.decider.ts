import type { PersonId } from '../account/account.events.js';
import type { Decision } from '../decision.js';
import type { AccountRef } from '../scope.js';

/**
 * Looks at personal data, in a stream per account of its own: a look is no fact of the ledger, and
 * must neither contend with commands nor lengthen what they fold. Who looked stands in the
 * envelope; no personal data anywhere.
 */
export interface AuditEvent {
  readonly type: 'PersonalDataViewed';
  readonly at: number;
  readonly account: AccountRef;
  readonly person: PersonId;
}

export interface AuditState {
  readonly looks: number;
}

export const initialState: AuditState = { looks: 0 };

export const evolve = ({ looks }: AuditState, _event: AuditEvent): AuditState => ({
  looks: looks + 1,
});

export interface RecordLook {
  readonly type: 'RecordLook';
  readonly account: AccountRef;
  readonly person: PersonId;
  readonly now: number;
}

/** Every look counts, also the second one of the same caller. */
export const decide = (
  _state: AuditState,
  { account, person, now }: RecordLook,
): Decision<AuditEvent> => ({
  events: [{ type: 'PersonalDataViewed', at: now, account, person }],
});
