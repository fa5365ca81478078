import { unitKey } from '../../domain/account/rewards/reward-state.js';
import { isImported, type AccountEvent } from '../../domain/account/account.events.js';
import type { ExportEvent } from '../../domain/export/export.decider.js';

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
 * An announcement. `subject` identifies what it is about by the service's own ids, never by a
 * client's value, so that it may be stored.
 */
export interface Announced {
  readonly type: WebhookType;
  readonly subject: Readonly<Record<string, string>>;
}

const NOTHING: readonly Announced[] = [];

/**
 * The announcements of an account's event, in order and without duplicates. They depend on the
 * event alone, not on its personal values. `Payloads.data` later drops those that the state makes
 * superfluous, such as a code that the user already had.
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
      return event.value.type === 'CREDIT' ? [created, balanceChange(event.person)] : [created];
    }
    case 'CreditRedeemed':
      return [balanceChange(event.person)];
    // An amount of zero: of a percentage, of a tank code, or of credit that was redeemed before.
    case 'RewardBecameAvailable':
    case 'RewardExpired':
    case 'RewardCancelled':
    case 'RewardRestored':
      return event.amount > 0 ? [balanceChange(event.person)] : NOTHING;
    // This event does not name the people; the list that follows does.
    case 'AccountCreditRedeemed':
      return NOTHING;
    case 'RedeemedRewardsListed':
      return event.persons.map(balanceChange);
    // Part of the next announcement about the account, user or referral.
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
    // Intermediate steps, the client's own events, and erasures.
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
    // A payment to the payment provider is announced as a redemption.
    case 'RewardPushStarted':
    case 'RewardPushed':
    case 'RewardPushRefused':
      return NOTHING;
  }
}

export function announcedByExport({ type, exportId }: ExportEvent): readonly Announced[] {
  switch (type) {
    case 'ExportRequested':
      return [{ type: 'export.created', subject: { exportId } }];
    case 'ExportCompleted':
      return [{ type: 'export.completed', subject: { exportId } }];
    // Earlier announcements stay valid.
    case 'ExportAborted':
    case 'ExportExpired':
    case 'ExportDownloaded':
      return NOTHING;
  }
}

/** The announcement of a theme's change. */
export const ANNOUNCED_BY_THEME: readonly Announced[] = [
  { type: 'theme.publish.finished', subject: {} },
];

const ofReferral = (
  type: WebhookType,
  { referralId }: { readonly referralId: string },
): Announced => ({ type, subject: { referralId } });

const balanceChange = (person: string): Announced => ({
  type: 'user.reward.balance.changed',
  subject: { person },
});

/** An event of an account, and its append. */
export interface AppendedEvent {
  readonly stream: string;
  readonly commandId: string;
  readonly event: AccountEvent;
}

/**
 * The announcements of each of these consecutive events. An append announces a person's balance
 * once, with its last change, because a payload shows the state after the append.
 */
export function announcedByEach(
  events: readonly AppendedEvent[],
): readonly (readonly Announced[])[] {
  const reversed: (readonly Announced[])[] = [];
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
    reversed.push(fresh);
  }
  return reversed.reverse();
}

export function unitOfCredit(event: AccountEvent): string | undefined {
  switch (event.type) {
    case 'RewardGranted':
      return event.value.type === 'CREDIT' ? event.value.unit : undefined;
    case 'RewardBecameAvailable':
    case 'RewardExpired':
    case 'RewardCancelled':
    case 'RewardRestored':
    case 'CreditRedeemed':
      return event.rewardType === 'CREDIT' ? (event.unit ?? undefined) : undefined;
    case 'AccountCreditRedeemed':
    case 'RedeemedRewardsListed':
      return event.unit;
    default:
      return undefined;
  }
}
