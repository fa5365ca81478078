import { unitKey } from '../../domain/account/rewards/reward-state.js';
import { isImported, type AccountEvent } from '../../domain/account/account.events.js';
import type { ExportEvent } from '../../domain/export/export.decider.js';
import { unitOfCredit } from './unit-of-credit.js';

/** The types of webhook events, as receivers see them. */
export const WEBHOOK_TYPES = [
  'user.created',
  'coupon.created',
  'reward.created',
  'referral.started',
  'referral.converted',
  'referral.ended',
  'referral.automoderation.complete',
  'user.reward.balance.changed',
  'export.created',
  'export.completed',
  'theme.publish.finished',
  'test',
] as const;
export type WebhookType = (typeof WEBHOOK_TYPES)[number];

/**
 * Something that receivers are told. `subject` names what it is about within the event: ids of ours
 * only, never a client's value, so that it may be stored.
 */
export interface Announced {
  readonly type: WebhookType;
  readonly subject: Readonly<Record<string, string>>;
}

const NOTHING: readonly Announced[] = [];

/**
 * What an event of an account announces, in order; no two are equal. It needs the event alone, and
 * none of its personal values. Where only the state tells that nothing is new (a code that the user
 * had before), `Payloads.data` says so later.
 */
// eslint-disable-next-line max-lines-per-function -- a case for each type of event
export function announcedBy(event: AccountEvent): readonly Announced[] {
  if (isImported(event)) return NOTHING;
  switch (event.type) {
    case 'UserIdentified':
      return [{ type: 'user.created', subject: { person: event.person } }];
    case 'ReferralCodeAssigned':
      return [{ type: 'coupon.created', subject: { person: event.person } }];
    case 'ReferralStarted': {
      const started = ofReferral('referral.started', event);
      return Object.keys(event.fraudSignals).length > 0
        ? [started, ofReferral('referral.automoderation.complete', event)]
        : [started];
    }
    case 'ReferralConverted':
      return [ofReferral('referral.converted', event)];
    case 'ReferralEnded':
      return [ofReferral('referral.ended', event)];
    case 'ReferralFlagged':
      return [ofReferral('referral.automoderation.complete', event)];
    case 'RewardGranted': {
      const created: Announced = { type: 'reward.created', subject: { rewardId: event.rewardId } };
      return event.value.type === 'CREDIT' ? [created, ofBalance(event.person)] : [created];
    }
    case 'CreditRedeemed':
      return [ofBalance(event.person)];
    // An amount of zero: of a percentage, of a tank code, or of credit that was redeemed before.
    case 'RewardBecameAvailable':
    case 'RewardExpired':
    case 'RewardCancelled':
    case 'RewardRestored':
      return event.amount > 0 ? [ofBalance(event.person)] : NOTHING;
    // The event that takes the amount does not name the people; the list that follows does.
    case 'AccountCreditRedeemed':
      return NOTHING;
    case 'RedeemedRewardsListed':
      return event.persons.map(ofBalance);
    // Seen in the next announcement about the account, user or referral.
    case 'AccountOpened':
    case 'SubscriptionChanged':
    case 'CurrencyChanged':
    case 'AccountAttributed':
    case 'PaymentProviderIdSet':
    case 'UserProfileChanged':
    case 'UserBlocked':
    case 'UserUnblocked':
    case 'MailsUnsubscribed':
      return NOTHING;
    // A moderation is announced by the rewards that it cancels, restores or grants.
    case 'ModerationPrepared':
    case 'ModerationReleased':
    case 'ReferralModerated':
    case 'ReferrerSideModerated':
      return NOTHING;
    // Steps on the way to what is announced, the client's own events, and forgotten people.
    case 'ReferralAnnounced':
    case 'ReferralWithdrawn':
    case 'ReservationLapsed':
    case 'ReferralRefunded':
    case 'ReferrerSideRefunded':
    case 'UserEventReceived':
    case 'ReferrerRewardEarnedByEvent':
    case 'RefundableEarningNoted':
    case 'EarningRefunded':
    case 'RewardKept':
    case 'ImportedRewardLinked':
    case 'RewardWithheld':
    case 'ErasureRequested':
    case 'ErasureCompleted':
      return NOTHING;
    // What the payment provider was paid is announced as a redemption.
    case 'RewardPushStarted':
    case 'RewardPushed':
    case 'RewardPushRefused':
      return NOTHING;
  }
}

/** What an event of an export announces. */
export function announcedByExport({ type, exportId }: ExportEvent): readonly Announced[] {
  switch (type) {
    case 'ExportRequested':
      return [{ type: 'export.created', subject: { exportId } }];
    case 'ExportCompleted':
      return [{ type: 'export.completed', subject: { exportId } }];
    // What was told stands; nobody waits for these.
    case 'ExportAborted':
    case 'ExportExpired':
    case 'ExportDownloaded':
      return NOTHING;
  }
}

/** What a change of a theme announces. */
export const ANNOUNCED_BY_THEME: readonly Announced[] = [
  { type: 'theme.publish.finished', subject: {} },
];

const ofReferral = (
  type: WebhookType,
  { referralId }: { readonly referralId: string },
): Announced => ({ type, subject: { referralId } });

const ofBalance = (person: string): Announced => ({
  type: 'user.reward.balance.changed',
  subject: { person },
});

/** An event of an account and the append that it was recorded in. */
export interface AppendedEvent {
  readonly stream: string;
  readonly commandId: string;
  readonly event: AccountEvent;
}

/**
 * What consecutive events of the log announce, for each of them. Of several changes of a person's
 * balance in one append only the last is announced: a payload shows the state after the append.
 */
export function announcedByEach(
  events: readonly AppendedEvent[],
): readonly (readonly Announced[])[] {
  const told: (readonly Announced[])[] = [];
  let balances = new Set<string>();
  let append = '';
  for (const { stream, commandId, event } of events.toReversed()) {
    if (append !== `${stream} ${commandId}`) balances = new Set();
    append = `${stream} ${commandId}`;
    const unit = unitKey(unitOfCredit(event) ?? '');
    const isRepeated = ({ type, subject }: Announced): boolean =>
      type === 'user.reward.balance.changed' && balances.has(`${subject['person']} ${unit}`);
    const fresh = announcedBy(event).filter((one) => !isRepeated(one));
    for (const { subject } of fresh) balances.add(`${subject['person']} ${unit}`);
    told.push(fresh);
  }
  return told.reverse();
}
