import type { Entry, PostedEvent, Posting } from '../../../src/bookkeeping/postings.js';
import type { AccountEvent, AccountEventOf } from '../../../src/domain/account/account.events.js';
import { anAccount, credit, partyOf, rewardGranted } from '../../support/account-events.js';

/** Entries of one account, and postings as rows of a book. */

export const BOB = partyOf(anAccount('acme'), 'bob');
export const ANN = partyOf(anAccount('acme'), 'ann');

export const entry = (event: AccountEvent, recordedAt = event.at): Entry => ({
  event: event as PostedEvent,
  eventId: `event-${recordedAt}`,
  position: `m-${recordedAt}`,
  recordedAt,
  actor: 'system:test',
});

type Grant = Partial<AccountEventOf<'RewardGranted'>>;

/** Of 100 CENTS unless said otherwise. */
export const grantOf = (rewardId: string, over: Grant = {}): AccountEventOf<'RewardGranted'> =>
  rewardGranted(rewardId, BOB, credit(100), { at: 1_000, ...over });

export const granted = (rewardId: string, over: Grant = {}): Entry =>
  entry(grantOf(rewardId, over));

/** `type: debit → credit amount`, as the rows of docs/ledger.md. */
export const rowOf = ({ type, debit, credit: to, amount }: Posting): string =>
  `${type}: ${debit} → ${to} ${amount}`;
