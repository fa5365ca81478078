import type {
  AccountEvent,
  AccountEventOf,
  Adjustment,
  PersonId,
} from '../../domain/account/account.events.js';
import type { RewardValue } from '../../domain/program.js';

/** What the words of an event name besides the event itself. */
export interface Known {
  /** A person of the account, as its reader may see them. */
  readonly nameOf: (person: PersonId) => string;
  /** The code that was applied to the account; null: none, or not to be shown. */
  readonly code: string | null;
  /** False: what a person chose is not shown. */
  readonly showsPersonal: boolean;
}

type Words = {
  readonly [T in AccountEvent['type']]: (event: AccountEventOf<T>, known: Known) => string;
};

/** An event of an account in one sentence. */
export function eventInWords<T extends AccountEvent['type']>(
  event: AccountEventOf<T>,
  known: Known,
): string {
  return WORDS[event.type](event, known);
}

/** `10 % discount`, `500 CENTS`. */
export function valueInWords(value: RewardValue): string {
  switch (value.type) {
    case 'PCT_DISCOUNT':
      return `${value.discountPercent} % discount`;
    case 'CREDIT':
      return `${value.assignedCredit} ${value.unit}`;
    case 'FUELTANK':
      return 'A code from the tank';
  }
}

const hidden = (text: string | null, { showsPersonal }: Known): string =>
  showsPersonal ? (text ?? '(forgotten)') : '(hidden)';

const correction = ({ reason, approvedBy }: Adjustment, known: Known): string =>
  `as a correction approved by ${approvedBy.value ?? 'somebody'}: ${hidden(reason.value, known)}`;

const reasonOf = (event: AccountEventOf<'RewardGranted'>, known: Known): string => {
  switch (event.source) {
    case 'REFERRED':
      return known.code === null
        ? 'because a code was applied'
        : `because code ${known.code} was applied`;
    case 'FRIEND_SIGNUP':
      return 'because somebody they referred earned it';
    case 'EVENT':
      return 'because of an event';
    case 'MANUAL':
      return event.adjustment === undefined ? 'by hand' : correction(event.adjustment, known);
  }
};

const amountOf = ({ amount, unit }: { amount: number; unit: string | null }): string =>
  amount === 0 ? 'a reward' : `${amount} ${unit ?? ''}`.trim();

const WORDS: Words = {
  AccountOpened: ({ accountId }, known) => `Account ${hidden(accountId.value, known)} opened`,
  SubscriptionChanged: ({ subscription }) => `Subscription is ${subscription.status}`,
  CurrencyChanged: ({ currency }) => `Currency is ${currency}`,
  AccountAttributed: ({ code }, known) => `Code ${hidden(code.value, known)} applied`,
  PaymentProviderIdSet: () => 'Linked to a customer of the payment provider',
  UserIdentified: ({ person }, { nameOf }) => `${nameOf(person)} identified`,
  UserProfileChanged: ({ person, changes }, { nameOf }) =>
    `Profile of ${nameOf(person)} changed: ${Object.keys(changes.value ?? {}).join(', ') || '(forgotten)'}`,
  ReferralCodeAssigned: ({ person, code, programId }, known) =>
    `${known.nameOf(person)} got code ${hidden(code.value, known)} in program ${programId}`,
  UserBlocked: ({ person }, { nameOf }) => `${nameOf(person)} blocked`,
  UserUnblocked: ({ person }, { nameOf }) => `${nameOf(person)} unblocked`,
  MailsUnsubscribed: ({ person }, { nameOf }) => `${nameOf(person)} wants no mails`,
  ReferralStarted: ({ referred, code }, known) =>
    `${known.nameOf(referred.person)} was referred with code ${hidden(code.value, known)}`,
  ReferralConverted: () => 'The referral converted',
  ReferralEnded: () => 'The referral ended',
  ReferralRefunded: () => 'The first invoice was refunded: unredeemed rewards end',
  ReferrerSideRefunded: () =>
    'The first invoice of a referred account was refunded: unredeemed rewards end',
  ReferralFlagged: ({ fraudSignals }) =>
    `The referral got signals: ${Object.keys(fraudSignals).join(', ')}`,
  ReferralAnnounced: ({ person }, { nameOf }) => `${nameOf(person)} is about to refer somebody`,
  ReferralWithdrawn: () => 'An announced referral did not start',
  ReservationLapsed: ({ kind }) => `A reserved ${kind} was given up`,
  UserEventReceived: ({ person, content, repeated }, known) =>
    `${known.nameOf(person)}: event ${hidden(content.value?.key ?? null, known)}` +
    (repeated ? ', repeated with its id: no rule counts it' : ''),
  ReferrerRewardEarnedByEvent: ({ rule }) => `An event earned the referrer the reward ${rule}`,
  RefundableEarningNoted: ({ rule }) => `What the event earned by ${rule} can be refunded`,
  EarningRefunded: ({ rule }) => `An event refunded what an earlier one had earned by ${rule}`,
  ModerationPrepared: ({ referralIds }) =>
    `A moderation holds the rewards of ${referralIds.length} referrals`,
  ModerationReleased: () => 'The moderation let the rewards go',
  ReferralModerated: ({ referredStatus, referrerStatus }) =>
    `Referral moderated: referred ${referredStatus}, referrer ${referrerStatus}`,
  ReferrerSideModerated: ({ status }) => `Referrer's side moderated: ${status}`,
  RewardGranted: (event, known) =>
    `${valueInWords(event.value)} granted to ${known.nameOf(event.person)}, ${reasonOf(event, known)}`,
  RewardWithheld: ({ reason }) => `A reward was not granted: ${reason}`,
  RewardBecameAvailable: (event, { nameOf }) =>
    `${amountOf(event)} of ${nameOf(event.person)} became available`,
  RewardExpired: (event, { nameOf }) => `${amountOf(event)} of ${nameOf(event.person)} expired`,
  CreditRedeemed: (event, known) =>
    `${amountOf(event)} of ${known.nameOf(event.person)} redeemed${event.adjustment ? `, ${correction(event.adjustment, known)}` : ''}`,
  AccountCreditRedeemed: ({ amount, unit, rewards }) =>
    `${amount} ${unit} redeemed from ${rewards} rewards`,
  RedeemedRewardsListed: ({ lines }) => `${lines.length} rewards of that redemption listed`,
  RewardCancelled: (event, { nameOf }) =>
    `${amountOf(event)} of ${nameOf(event.person)} cancelled by ${event.by === 'REQUEST' ? 'a request' : 'a moderation'}`,
  RewardRestored: (event, { nameOf }) => `${amountOf(event)} of ${nameOf(event.person)} restored`,
  RewardKept: (event, { nameOf }) =>
    `A reward of ${nameOf(event.person)} stays after the refund of its event: ` +
    (event.reason === 'REDEEMED' ? 'it is redeemed' : 'it is not cancellable'),
  RewardPushStarted: ({ person }, { nameOf }) =>
    `A reward of ${nameOf(person)} is paid by the payment provider`,
  RewardPushed: ({ person }, { nameOf }) =>
    `The payment provider took a reward of ${nameOf(person)}`,
  RewardPushRefused: ({ person }, { nameOf }) =>
    `The payment provider refused a reward of ${nameOf(person)}`,
  ErasureRequested: ({ persons, account }) =>
    account === null ? `${persons.length} people to be forgotten` : 'The account to be forgotten',
  ErasureCompleted: () => 'Forgotten: their keys are destroyed',
};
