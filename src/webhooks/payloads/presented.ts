import type { FraudSignal, PartyIds } from '../../domain/account/account.events.js';
import type { RewardFacts, UserFacts } from '../../domain/account/account.facts.js';
import { rewards, type RewardContent } from '../../../projections/rewards/table.js';
import { rewardJson } from '../../presenting/reward.response.js';
import { userJson, type UserSurroundings } from '../../presenting/user.response.js';
import type { ReferralAt } from './account-history.js';

/**
 * The `data` of each type, from facts. Members without a value are left out, unless the contract
 * says null.
 */
export type WebhookData = Readonly<Record<string, unknown>>;

export function userCreatedData(facts: UserFacts, surroundings: UserSurroundings): WebhookData {
  const { referredBy: _, ...user } = userJson(facts, surroundings);
  return present(user);
}

export interface CodeFacts {
  readonly code: string;
  readonly dateCreated: number;
  readonly programId: string;
}

export const couponCreatedData = ({ code, dateCreated, programId }: CodeFacts): WebhookData => ({
  code,
  dateCreated,
  programId,
});

/** Members of other types than the reward's own are null in an answer, and so left out here. */
export function rewardCreatedData(facts: RewardFacts): WebhookData {
  const { fueltankType, ...reward } = rewardJson({
    ...rewards.rowOf<RewardContent>(facts),
    redemptions: facts.redemptions,
  });
  return present({ ...reward, dateCreated: facts.dateGiven, fuelTankType: fueltankType });
}

export interface BalanceFactsOfUnit extends PartyIds {
  readonly unit: string;
  readonly availableValue: number;
  readonly resourceVersion: number;
}

export const balanceChangedData = (facts: BalanceFactsOfUnit): WebhookData => ({
  userId: facts.userId,
  accountId: facts.accountId,
  unit: facts.unit,
  availableValue: facts.availableValue,
  resourceVersion: facts.resourceVersion,
});

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

/** An export, at its request or its completion. Times are epoch milliseconds. */
export interface ExportFacts {
  readonly id: string;
  readonly name: string | null;
  readonly requester: string;
  readonly status: 'PENDING' | 'COMPLETED' | 'ABORTED' | 'EXPIRED';
  readonly dateCreated: number;
  readonly dateCompleted: number | null;
  readonly dateExpires: number | null;
  readonly mailtoEmail: string | null;
  readonly format: 'CSV' | 'XLSX';
  /** The export's type, `REFERRAL` for one. */
  readonly type: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly stats: Readonly<Record<string, unknown>> | null;
  readonly fileRef: string | null;
}

/** Of `export.created` and `export.completed`; null where there is no value. */
export const exportData = (facts: ExportFacts): WebhookData => ({
  id: facts.id,
  name: facts.name,
  requester: facts.requester,
  status: facts.status,
  dateCreated: facts.dateCreated,
  dateCompleted: facts.dateCompleted,
  dateExpires: facts.dateExpires,
  mailtoEmail: facts.mailtoEmail,
  outputFormat: facts.format,
  task: facts.type,
  operation: 'QUERY',
  params: facts.params,
  stats: facts.stats,
  fileRef: facts.fileRef,
});

/** @param locale null: the default one. */
export const themePublishFinishedData = (locale: string | null): WebhookData => ({ locale });

/** @param name of the subscription; null: it has none. */
export const testData = (endpointUrl: string, name: string | null): WebhookData =>
  present({ endpointUrl, name });
