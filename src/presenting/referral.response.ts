import type { FraudSignal } from '../domain/account/account.events.js';
import type { ReferralFacts } from '../domain/account/account.facts.js';
import { RewardResponse } from './reward.response.js';
import {
  answer,
  answerOf,
  answers,
  integer,
  mapOf,
  oneOf,
  orNull,
  text,
  time,
} from './answer-members.js';
import { UserResponse } from './user.response.js';

const SIDE_STATUSES = ['PENDING', 'APPROVED', 'DENIED'] as const;

export class ReferralResponse extends answerOf({
  id: text,
  programId: text,
  referralCodeUsed: orNull(text),
  shareLinkUsed: orNull(text),
  referredUser: orNull(answer(UserResponse)),
  referrerUser: orNull(answer(UserResponse)),
  referredReward: orNull(answer(RewardResponse)),
  referrerReward: orNull(answer(RewardResponse)),
  moderationStatus: oneOf(['PENDING', 'ACTIONED']),
  referredModerationStatus: oneOf(SIDE_STATUSES),
  referrerModerationStatus: oneOf(SIDE_STATUSES),
  fraudSignals: mapOf<FraudSignal>({
    type: 'object',
    properties: { message: { type: 'string' }, score: { type: 'number' } },
    required: ['message', 'score'],
  }),
  dateReferralStarted: time,
  dateReferralPaid: orNull(time),
  dateReferralEnded: orNull(time),
  dateModerated: time,
}) {}

export class ReferralListResponse extends answerOf({
  count: integer,
  totalCount: integer,
  referrals: answers(ReferralResponse),
}) {}

/** The people and rewards of a referral; null: deleted, or not granted. */
export type ReferralSides = Pick<
  ReferralResponse,
  'referredUser' | 'referrerUser' | 'referredReward' | 'referrerReward'
>;

export function referralJson(facts: ReferralFacts, sides: ReferralSides): ReferralResponse {
  return {
    id: facts.referralId,
    programId: facts.programId,
    referralCodeUsed: facts.referralCodeUsed,
    shareLinkUsed: facts.shareLinkUsed,
    ...sides,
    moderationStatus:
      facts.referredStatus === 'PENDING' || facts.referrerStatus === 'PENDING'
        ? 'PENDING'
        : 'ACTIONED',
    referredModerationStatus: facts.referredStatus,
    referrerModerationStatus: facts.referrerStatus,
    fraudSignals: Object.fromEntries(
      Object.entries(facts.fraudSignals).map(([name, { message, score }]) => [
        name,
        { message, score },
      ]),
    ),
    dateReferralStarted: facts.dateReferralStarted,
    dateReferralPaid: facts.dateReferralPaid,
    dateReferralEnded: facts.dateReferralEnded,
    dateModerated: facts.dateModerated,
  };
}
