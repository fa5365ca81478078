import { isImported, type AccountEventOf } from '../domain/account/account.events.js';
import type { DomainEvent } from '../domain/events.js';
import type { LedgerEvent } from '../projecting/projector.js';
import type { Policy, Reaction } from '../reacting/policy.js';

type MailReaction = Extract<Reaction, { kind: 'mail' }>;

const SOON_MS = 7 * 24 * 3_600_000;

/** Plans mails. Whether one is sent is decided again at its time. */
export const announceByMail: Policy = {
  name: 'announce-by-mail',
  handles: new Set(['ReferralStarted', 'ReferralConverted', 'RewardGranted', 'RewardWithheld']),
  react: (ledgerEvent) => {
    const { event, accountRef } = ledgerEvent;
    if (isImported(event) && event.type !== 'RewardGranted') return [];
    switch (event.type) {
      case 'ReferralStarted':
        return [
          ...(event.referrerStatus === 'DENIED' ? [] : [toReferrer('REFERRAL_STARTED', event)]),
          ...(event.referredStatus === 'DENIED'
            ? []
            : [mail('WELCOME', accountRef, event.referred.person)]),
        ];
      case 'ReferralConverted':
        return event.referrerStatus === 'DENIED' ? [] : [toReferrer('REFERRAL_CONVERTED', event)];
      case 'RewardGranted':
        return ofReward(ledgerEvent, event);
      case 'RewardWithheld':
        return isReferrersLimit(accountRef, event)
          ? [mail('REFERRER_REWARD_LIMIT_REACHED', accountRef, event.person)]
          : [];
      default:
        return [];
    }
  },
};

/** A referral's id begins with the referred account; a referrer's reward is in another one. */
const isReferrersLimit = (
  accountRef: string,
  { reason, referralId }: AccountEventOf<'RewardWithheld'>,
): boolean =>
  reason === 'LIMIT_REACHED' && referralId !== null && !referralId.startsWith(accountRef);

function ofReward(
  { accountRef }: LedgerEvent<DomainEvent>,
  { rewardId, person, dateExpires, imported }: AccountEventOf<'RewardGranted'>,
): MailReaction[] {
  const earned = { ...mail('REWARD_EARNED', accountRef, person), about: rewardId };
  const announced = imported === undefined ? [earned] : [];
  const dueAt = (dateExpires ?? -Infinity) - SOON_MS;
  // Of an imported reward, only after the import.
  if (dateExpires === null || dueAt <= (imported?.at ?? -Infinity)) return announced;
  const soon = mail('REWARD_EXPIRES_SOON', accountRef, person);
  return [...announced, { ...soon, about: rewardId, dueAt }];
}

const toReferrer = (
  type: MailReaction['type'],
  { referrer }: Pick<AccountEventOf<'ReferralStarted'>, 'referrer'>,
): MailReaction => mail(type, referrer.account, referrer.person);

const mail = (type: MailReaction['type'], account: string, person: string): MailReaction => ({
  kind: 'mail',
  type,
  account,
  person,
  about: null,
  dueAt: null,
});
