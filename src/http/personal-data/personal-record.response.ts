import { IntersectionType, OmitType } from '@nestjs/swagger';
import type { UserFacts } from '../../domain/account/account.facts.js';
import { ReferralResponse } from '../../presenting/referral.response.js';
import { RewardBalanceResponse, RewardResponse } from '../../presenting/reward.response.js';
import {
  answer,
  answerOf,
  answers,
  described,
  integer,
  orNull,
  text,
} from '../../presenting/answer-members.js';
import { initialOf, UserResponse } from '../../presenting/user.response.js';

class LocationResponse extends answerOf({
  lat: described<number>({ type: Number }),
  lon: described<number>({ type: Number }),
}) {}

class RewardsOfPersonResponse extends answerOf({
  totalCount: integer,
  data: answers(RewardResponse),
}) {}

class ReferralsOfPersonResponse extends answerOf({
  totalCount: integer,
  data: answers(ReferralResponse),
}) {}

/** Members of a user with another form in the record. */
const LEFT_OUT = ['programShareLinks', 'referralCodes', 'referredBy', 'referredByCodes'] as const;

export class PersonalRecordResponse extends IntersectionType(
  OmitType(UserResponse, LEFT_OUT),
  answerOf({
    lastInitial: orNull(text),
    firstSeenIPLocation: orNull(answer(LocationResponse)),
    lastSeenIPLocation: orNull(answer(LocationResponse)),
    firstSeenUserAgent: orNull(text),
    lastSeenUserAgent: orNull(text),
    referredByReferral: orNull(answer(ReferralResponse)),
    rewards: answer(RewardsOfPersonResponse),
    rewardBalances: answers(RewardBalanceResponse),
    referrals: answer(ReferralsOfPersonResponse),
  }),
) {}

/** A person's record without rewards and referrals. Addresses are never geolocated: always null. */
export function personalRecordJson(
  facts: UserFacts,
  user: UserResponse,
  others: Pick<PersonalRecordResponse, 'referredByReferral' | 'rewardBalances'>,
): Omit<PersonalRecordResponse, 'rewards' | 'referrals'> {
  const { programShareLinks: _links, referralCodes: _own, ...ofUser } = user;
  const { referredBy: _referrer, referredByCodes: _codes, ...shown } = ofUser;
  return {
    ...shown,
    lastInitial: initialOf(facts.lastName),
    firstSeenIPLocation: null,
    lastSeenIPLocation: null,
    firstSeenUserAgent: facts.firstSeenUserAgent,
    lastSeenUserAgent: facts.lastSeenUserAgent,
    ...others,
  };
}
