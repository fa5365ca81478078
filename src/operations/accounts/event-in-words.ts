import type {
  AccountEvent,
  AccountEventOf,
  Adjustment,
  PersonId,
} from '../../domain/account/account.events.js';
import type { RewardValue, SideStatus } from '../../domain/program.js';
import { asSentence, valueInWords, withheldBecause, type Known } from './words-of-rewards.js';

/** The parts of a timeline that can be shown alone. */
export const EVENT_KINDS = ['rewards', 'referral', 'profile', 'moderation', 'payment'] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

type Words = {
  readonly [T in AccountEvent['type']]: (event: AccountEventOf<T>, known: Known) => string;
};

/** An event of an account in one sentence. */
export function eventInWords<T extends AccountEvent['type']>(
  event: AccountEventOf<T>,
  known: Known,
): string {
  const reason = 'reason' in event ? event.reason : undefined;
  const words = asSentence(ALL[event.type](event, known));
  return typeof reason === 'object' ? `${words}. Reason: ${hidden(reason.value, known)}` : words;
}

/** Undefined: not an event of accounts. */
export const kindOfEvent = (type: string): EventKind | undefined =>
  EVENT_KINDS.find((kind) => Object.hasOwn(WORDS[kind], type));

const hidden = (text: string | null, { showsPersonal }: Known): string =>
  showsPersonal ? (text ?? '(forgotten)') : '(hidden)';

const correction = ({ reason, approvedBy }: Adjustment, known: Known): string =>
  `as a correction approved by ${approvedBy.value ?? 'an operator'}: ${hidden(reason.value, known)}`;

const grantedFor = (event: AccountEventOf<'RewardGranted'>, known: Known): string => {
  switch (event.source) {
    case 'REFERRED':
      return known.code === null ? 'for signing up' : `for signing up with the code ${known.code}`;
    case 'FRIEND_SIGNUP':
      return 'for a referred friend';
    case 'EVENT':
      return 'for an event';
    case 'MANUAL':
      return event.adjustment === undefined ? 'by hand' : correction(event.adjustment, known);
  }
};

interface OfReward {
  readonly person: PersonId;
  readonly rewardType: RewardValue['type'];
  readonly amount: number;
  readonly unit: string | null;
}

const rewardOf = (event: OfReward, { nameOf, amountText }: Known): string => {
  const of = `of ${nameOf(event.person)}`;
  switch (event.rewardType) {
    case 'CREDIT':
      return event.amount === 0
        ? `A reward ${of}`
        : `${amountText(event.amount, event.unit)} ${of}`;
    case 'PCT_DISCOUNT':
      return `A discount ${of}`;
    case 'FUELTANK':
      return `A code ${of}`;
  }
};

const STATUS: Readonly<Record<SideStatus, string>> = {
  PENDING: 'waiting',
  APPROVED: 'approved',
  DENIED: 'denied',
};

const SIGNALS = new Map([
  ['name', 'the same name'],
  ['email', 'the same e-mail address'],
  ['ip', 'the same IP address'],
  ['rate', 'many referrals within a short time'],
]);

const FIELDS = new Map([
  ['email', 'e-mail'],
  ['imageUrl', 'picture'],
  ['countryCode', 'country'],
  ['referable', 'whether the user can be referred'],
  ['customFields', 'custom fields'],
]);
/** `first name` of `firstName`. */
const fieldText = (field: string): string =>
  FIELDS.get(field) ??
  field.replaceAll(
    /[A-Z]+/g,
    (capitals) => ` ${capitals.length > 1 ? capitals : capitals.toLowerCase()}`,
  );

const capital = (constant: string): string =>
  constant.slice(0, 1) + constant.slice(1).toLowerCase();

const RESERVED = {
  'referral-code': 'referral code',
  'payment-provider-id': 'link to the payment provider',
  'tank-code': 'code from the pool',
  'imported-row': 'row of an import',
} as const;

const REFUNDED = 'The first invoice was refunded: rewards that are not redeemed end';

const WORDS = {
  rewards: {
    UserEventReceived: ({ person, content, repeated }, known) =>
      `Event ${hidden(content.value?.key ?? null, known)} of ${known.nameOf(person)}` +
      (repeated ? ', sent again: it counts once' : ''),
    ReferrerRewardEarnedByEvent: () => 'An event earned the referrer a reward',
    RefundableEarningNoted: () => 'A refund can take back what the event earned',
    EarningRefunded: () => 'A refund took back what an earlier event earned',
    RewardGranted: (event, known) =>
      `${valueInWords(event.value, known.amountText)} granted to ${known.nameOf(event.person)}, ${grantedFor(event, known)}`,
    RewardWithheld: ({ person, reason }, { nameOf }) =>
      `${nameOf(person)} did not get a reward: ${withheldBecause(reason)}`,
    RewardBecameAvailable: (event, known) => `${rewardOf(event, known)} became available`,
    RewardExpired: (event, known) => `${rewardOf(event, known)} expired`,
    CreditRedeemed: (event, known) =>
      `${rewardOf(event, known)} redeemed${event.adjustment ? `, ${correction(event.adjustment, known)}` : ''}`,
    AccountCreditRedeemed: ({ amount, unit, rewards }, { amountText }) =>
      `${amountText(amount, unit)} redeemed from ${rewards.toLocaleString('en-US')} rewards`,
    RedeemedRewardsListed: ({ lines }) =>
      `${lines.length.toLocaleString('en-US')} rewards of that redemption listed`,
    RewardCancelled: (event, known) =>
      `${rewardOf(event, known)} cancelled${event.by === 'REQUEST' ? '' : ' by moderation'}`,
    RewardRestored: (event, known) => `${rewardOf(event, known)} restored`,
    RewardKept: ({ person, reason }, { nameOf }) =>
      `A reward of ${nameOf(person)} stays after a refund: it is ${reason === 'REDEEMED' ? 'redeemed' : 'not cancellable'}`,
    ImportedRewardLinked: () => 'An imported reward belongs to a referral now',
  },
  referral: {
    AccountAttributed: ({ code }, known) =>
      `The referral code ${hidden(code.value, known)} was applied`,
    ReferralCodeAssigned: ({ person, code, programId }, known) =>
      `${known.nameOf(person)} got the referral code ${hidden(code.value, known)} (program ${programId})`,
    ReferralStarted: ({ referred, code }, known) =>
      `${known.nameOf(referred.person)} signed up with the referral code ${hidden(code.value, known)}`,
    ReferralConverted: () => 'The referral converted',
    ReferralEnded: () => 'The referral ended',
    ReferralRefunded: () => REFUNDED,
    ReferrerSideRefunded: () => `For a referred friend: ${REFUNDED}`,
    ReferralAnnounced: ({ person }, { nameOf }) =>
      `A friend signed up with ${nameOf(person)}'s code`,
    ReferralWithdrawn: () => 'The sign-up of a friend started no referral',
  },
  profile: {
    AccountOpened: ({ accountId }, known) =>
      `The account ${hidden(accountId.value, known)} was opened`,
    UserIdentified: ({ person }, { nameOf }) => `${nameOf(person)} was added`,
    UserProfileChanged: ({ person, changes }, { nameOf }) => {
      const fields = Object.keys(changes.value ?? {}).map(fieldText);
      return `The profile of ${nameOf(person)} changed: ${fields.join(', ') || '(forgotten)'}`;
    },
    MailsUnsubscribed: ({ person }, { nameOf }) => `${nameOf(person)} unsubscribed from mails`,
    ReservationLapsed: ({ kind }) => `A reserved ${RESERVED[kind]} was released`,
    ErasureRequested: ({ persons, account }) =>
      account === null ? `${persons.length} people are forgotten` : 'The account is forgotten',
    ErasureCompleted: () => 'Personal data erased: the keys are destroyed',
  },
  moderation: {
    UserBlocked: ({ person }, { nameOf }) => `${nameOf(person)} was blocked`,
    UserUnblocked: ({ person }, { nameOf }) => `${nameOf(person)} was unblocked`,
    ReferralFlagged: ({ fraudSignals }) =>
      `Signals of fraud: ${Object.keys(fraudSignals)
        .map((signal) => SIGNALS.get(signal) ?? signal)
        .join(', ')}`,
    ModerationPrepared: ({ referralIds: { length } }) =>
      `A decision on ${length === 1 ? 'a referral' : `${length} referrals`} began`,
    ModerationReleased: () => 'The decision on referrals was given up',
    ReferralModerated: ({ referredStatus, referrerStatus }) =>
      referredStatus === referrerStatus
        ? `The referral was decided: ${STATUS[referredStatus]}`
        : `The referral was decided: referred side ${STATUS[referredStatus]}, referrer's side ${STATUS[referrerStatus]}`,
    ReferrerSideModerated: ({ status }) =>
      `The referral of a friend was decided: ${STATUS[status]}`,
  },
  payment: {
    SubscriptionChanged: ({ subscription }) =>
      `The subscription is now ${capital(subscription.status)}`,
    CurrencyChanged: ({ currency }) => `The currency is now ${currency}`,
    PaymentProviderIdSet: () => 'Linked to a customer of the payment provider',
    RewardPushStarted: (event, known) => `${rewardOf(event, known)} sent to the payment provider`,
    RewardPushed: ({ person }, { nameOf }) =>
      `The payment provider accepted a reward of ${nameOf(person)}`,
    RewardPushRefused: ({ person, reason }, { nameOf }) =>
      `The payment provider refused a reward of ${nameOf(person)}: ${reason}`,
  },
} satisfies Readonly<Record<EventKind, Partial<Words>>>;

const ALL: Words = {
  ...WORDS.rewards,
  ...WORDS.referral,
  ...WORDS.profile,
  ...WORDS.moderation,
  ...WORDS.payment,
};
