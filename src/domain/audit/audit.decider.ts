import type { PersonId } from '../account/account.events.js';
import type { Decision } from '../decision.js';
import type { AccountRef } from '../scope.js';

/**
 * Accesses to personal data, in a stream of their own per account: an access is no fact of the
 * ledger, and must neither conflict with commands nor lengthen their streams. The envelope names
 * the reader; no personal data is stored.
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

/** Every access counts, also a repeated one of the same caller. */
export const decide = (
  _state: AuditState,
  { account, person, now }: RecordLook,
): Decision<AuditEvent> => ({
  events: [{ type: 'PersonalDataViewed', at: now, account, person }],
});
