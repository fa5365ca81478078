import type { RateLimit } from '../../program.js';
import type { Decision } from '../../decision.js';
import type { Command } from '../../fact.js';
import type { AccountRef } from '../../scope.js';
import type { AccountEvent, AnnouncedReferral, PersonId } from '../account.events.js';
import type { AccountState, Announced } from '../account.state.js';

/** Announced just before a referral starts, so that concurrent ones see the earlier ones. */
export interface AnnounceReferral {
  readonly type: 'AnnounceReferral';
  readonly referralId: string;
  readonly account: AccountRef;
  readonly person: PersonId;
  readonly now: number;
}

export function announceReferral(
  state: AccountState,
  { referralId, account, person, now }: AnnounceReferral,
): Decision<AccountEvent> {
  if (state.status === 'absent' || state.announcedAt.has(referralId)) return { events: [] };
  return { events: [{ type: 'ReferralAnnounced', at: now, referralId, account, person }] };
}

/** The announced referral did not start. */
export type WithdrawReferral = Command<'WithdrawReferral', { referralId: string }>;

export function withdrawReferral(
  state: AccountState,
  { referralId, now }: WithdrawReferral,
): Decision<AccountEvent> {
  if (state.status === 'absent' || !state.announcedAt.has(referralId)) return { events: [] };
  return { events: [{ type: 'ReferralWithdrawn', at: now, referralId }] };
}

const MINUTE_MS = 60_000;
/** By then a command has recorded its announced referral, or never will. */
const UNDER_WAY_MS = 2 * MINUTE_MS;

/** Announced referrals that may not be recorded in the referred account yet. */
export function newlyAnnounced(announced: Announced, now: number): readonly AnnouncedReferral[] {
  const found: AnnouncedReferral[] = [];
  for (let index = announced.size - 1; index >= 0; index--) {
    const one = announced.get(index);
    if (!one) continue;
    if (one.at <= now - UNDER_WAY_MS) break;
    found.push(one);
  }
  return found;
}

/** Referrals that exceed the limit with this one; each is checked against earlier ones only. */
export function tooManyWith(
  announced: Announced,
  referralId: string,
  { referrals, minutes }: RateLimit,
): readonly AnnouncedReferral[] {
  const own = announced.findLastIndex((announcement) => announcement?.referralId === referralId);
  const self = own === -1 ? undefined : announced.get(own);
  if (!self) return [];
  const others = new Map<AccountRef, AnnouncedReferral>();
  // Newest first, up to the start of the period: there may be a hundred thousand.
  for (let index = own - 1; index >= 0; index--) {
    const earlier = announced.get(index);
    if (!earlier) continue;
    if (earlier.at <= self.at - minutes * MINUTE_MS) break;
    const isAnother = earlier.person === self.person && earlier.account !== self.account;
    if (isAnother && !others.has(earlier.account)) others.set(earlier.account, earlier);
  }
  return others.size + 1 > referrals ? [...others.values()].reverse() : [];
}
