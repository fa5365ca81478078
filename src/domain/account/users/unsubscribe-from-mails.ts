import type { Decision } from '../../decision.js';
import type { Command } from '../../fact.js';
import type { AccountEvent, PersonId } from '../account.events.js';
import type { AccountState } from '../account.state.js';

/** The person wants no further mails. Without effect for a forgotten person or when repeated. */
export type UnsubscribeFromMails = Command<'UnsubscribeFromMails', { person: PersonId }>;

export function unsubscribeFromMails(
  state: AccountState,
  { person, now }: UnsubscribeFromMails,
): Decision<AccountEvent> {
  const user = state.status === 'open' ? state.users.get(person) : undefined;
  if (!user?.profile || user.wantsNoMails === true) return { events: [] };
  return { events: [{ type: 'MailsUnsubscribed', at: now, person }] };
}
