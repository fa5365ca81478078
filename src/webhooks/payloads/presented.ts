import type { FraudSignal, PartyIds } from '../../domain/account/account.events.js';
import type { RewardFacts, UserFacts } from '../../domain/account/account.facts.js';
import type { ShownExport } from '../../exports/shown-export.js';
import { rewards, type RewardContent } from '../../../projections/rewards/table.js';
import { rewardJson } from '../../presenting/reward.response.js';
import { userJson, type UserSurroundings } from '../../presenting/user.response.js';
import type { ReferralAt } from './account-history.js';

/** The `data` of a webhook. Members without a value are missing, unless the contract says null. */
export type WebhookData = Readonly<Record<string, unknown>>;

export function userCreatedData(facts: UserFacts, surroundings: UserSurroundings): WebhookData {
  const { referredBy: _, ...user } = userJson(facts, surroundings);
  return present(user);
}

/** Members of other reward types are null in an API answer, and missing here. */
export function rewardCreatedData(facts: RewardFacts): WebhookData {
  const { fueltankType, ...reward } = rewardJson({
    ...rewards.rowOf<RewardContent>(facts),
    redemptions: facts.redemptions,
  });
  return present({ ...reward, dateCreated: facts.dateGiven, fuelTankType: fueltankType });
}

/** The names and rewards of a referral; a forgotten side has none. */
export interface ReferralNames {
  readonly referrer: PartyIds | null;
  readonly referred: PartyIds | null;
  readonly referralCodeUsed: string | null;
  readonly shareLinkUsed: string | null;
  readonly referrerReward: string | null;
  readonly referredReward: string | null;
}

export function referralData(
  { state, dateModified, dateUserModified }: ReferralAt,
  names: ReferralNames,
): WebhookData {
  const { referredStatus, referrerStatus } = state;
  return {
    ...present({
      id: state.referralId,
      programId: state.programId,
      referrer: names.referrer && participant(names.referrer),
      referred: names.referred && participant(names.referred),
      referrerUser: names.referrer && names.referrer.userId,
      referredUser: names.referred && names.referred.userId,
      referralCodeUsed: names.referralCodeUsed,
      shareLinkUsed: names.shareLinkUsed,
      moderationStatus:
        referredStatus === 'PENDING' || referrerStatus === 'PENDING' ? 'PENDING' : 'ACTIONED',
      referredModerationStatus: referredStatus,
      referrerModerationStatus: referrerStatus,
      dateModerated: state.dateModerated,
      fraudSignals: signals(state.fraudSignals),
      dateReferralStarted: state.dateStarted,
      dateReferralPaid: state.datePaid,
      dateReferralEnded: state.dateEnded,
      dateConverted: state.datePaid,
      dateModified,
      dateUserModified,
    }),
    referredReward: names.referredReward,
    referrerReward: names.referrerReward,
  };
}

const participant = ({ userId, accountId }: PartyIds): WebhookData => ({ id: userId, accountId });

const signals = (found: Readonly<Record<string, FraudSignal>>): WebhookData =>
  Object.fromEntries(
    Object.entries(found).map(([name, { message, score }]) => [name, { message, score }]),
  );

const present = (members: object): WebhookData =>
  Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== null && value !== undefined),
  );

/** For `export.created` and `export.completed`. */
export const exportData = ({
  format,
  type,
  params,
  stats,
  ...shown
}: ShownExport): WebhookData => ({
  id: shown.id,
  name: shown.name,
  requester: shown.requester,
  status: shown.status,
  dateCreated: shown.dateCreated,
  dateCompleted: shown.dateCompleted,
  dateExpires: shown.dateExpires,
  mailtoEmail: null,
  outputFormat: format,
  task: type,
  operation: 'QUERY',
  params,
  stats,
  fileRef: null,
});

/** @param locale null: the default one. */
export const themePublishFinishedData = (locale: string | null): WebhookData => ({ locale });

export const testData = (endpointUrl: string, name: string | null): WebhookData =>
  present({ endpointUrl, name });
