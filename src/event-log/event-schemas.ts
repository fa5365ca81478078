import type { DomainEvent } from '../domain/events.js';
import { digestOf } from '../foundation/canonical-json.js';

/** The written version per type. A new event compiles only once it is listed. */
export const CURRENT_VERSIONS: Readonly<Record<DomainEvent['type'], number>> = {
  AccountOpened: 1,
  SubscriptionChanged: 1,
  CurrencyChanged: 1,
  AccountAttributed: 1,
  PaymentProviderIdSet: 1,
  UserIdentified: 1,
  UserProfileChanged: 1,
  ReferralCodeAssigned: 1,
  UserBlocked: 1,
  UserUnblocked: 1,
  MailsUnsubscribed: 1,
  ReferralStarted: 2,
  ReferralConverted: 2,
  ReferralEnded: 1,
  ReferralRefunded: 1,
  ReferrerSideRefunded: 1,
  ReferralFlagged: 1,
  ReferralAnnounced: 1,
  ReferralWithdrawn: 1,
  ReservationLapsed: 1,
  UserEventReceived: 1,
  ReferrerRewardEarnedByEvent: 1,
  RefundableEarningNoted: 1,
  EarningRefunded: 1,
  ModerationPrepared: 1,
  ModerationReleased: 1,
  ReferralModerated: 2,
  ReferrerSideModerated: 1,
  RewardGranted: 3,
  RewardWithheld: 2,
  RewardBecameAvailable: 1,
  RewardExpired: 1,
  CreditRedeemed: 1,
  AccountCreditRedeemed: 1,
  RedeemedRewardsListed: 1,
  RewardCancelled: 1,
  RewardRestored: 1,
  RewardKept: 1,
  ImportedRewardLinked: 1,
  RewardPushStarted: 1,
  RewardPushed: 1,
  RewardPushRefused: 1,
  ErasureRequested: 1,
  ErasureCompleted: 1,
  PersonalDataViewed: 1,
  ReservationMade: 2,
  ReservationReleased: 2,
  TenantAliasEntered: 1,
  TenantCreated: 1,
  ApiKeyIssued: 1,
  ApiKeyRetired: 1,
  SigningSecretIssued: 1,
  SigningSecretRetired: 1,
  TenantSuspended: 1,
  TenantResumed: 1,
  TokensNotBeforeChanged: 1,
  OpenEndpointsSwitched: 1,
  OpenRulesChanged: 1,
  MailSettingsChanged: 1,
  UnitSettingsChanged: 1,
  TestClockMoved: 1,
  TestDataRemoved: 1,
  ProgramTypeChanged: 1,
  ProgramApplied: 2,
  WebhookSubscribed: 1,
  WebhookSecretIssued: 1,
  WebhookSecretRetired: 1,
  WebhookDisabled: 1,
  WebhookEnabled: 1,
  WebhookUnsubscribed: 1,
  ProviderEventReceived: 2,
  CustomerReleased: 1,
  PaymentProviderConnected: 1,
  PaymentProviderDisconnected: 1,
  ModerationRequested: 1,
  ModerationAgreed: 1,
  ModerationRefused: 1,
  ModerationCompleted: 1,
  TankCodeReserved: 2,
  TankCodeHandedOut: 1,
  TankCodeReleased: 2,
  ShareLinkFollowed: 1,
  ShareLinkVisitsCounted: 1,
  ImportedRowPlaced: 1,
  ImportedRowGivenUp: 1,
  ImportedRewardNamed: 1,
  PeriodClosed: 1,
  PeriodReopened: 1,
  OperationRecorded: 1,
  ExportRequested: 1,
  ExportCompleted: 1,
  ExportAborted: 1,
  ExportExpired: 1,
  ExportDownloaded: 1,
  CorrectionProposed: 1,
  CorrectionRejected: 1,
  CorrectionWithdrawn: 1,
  ThemePublished: 2,
  ThemeRemoved: 2,
};

/** Stored data as parsed JSON. */
export type EventData = Readonly<Record<string, unknown>>;

/** Converts from one version to the next. Pure; never changed once merged. */
export type Upcaster = (data: EventData) => EventData;

/** Per type, the steps from version 1 on; the first leads from 1 to 2. */
export type Upcasters = Readonly<Record<string, readonly Upcaster[]>>;

export const UPCASTERS: Upcasters = {
  ProgramApplied: [withEventRulesByPlace],
  ReferralStarted: [(data) => ({ ...withoutLimits(data), tooManyWith: [] })],
  ReferralConverted: [withoutLimits],
  ReferralModerated: [withoutLimits],
  RewardGranted: [
    (data) => ({
      ...data,
      rule: RULE_OF_SOURCE[String(data['source'])] ?? null,
      redeemsAutomatically: false,
    }),
    withPersonalTexts,
  ],
  ReservationMade: [withoutClaim],
  ReservationReleased: [withoutClaim],
  TankCodeReserved: [withoutClaim],
  TankCodeReleased: [withoutClaim],
  // Events once had values, and the places of a chain of short streams.
  ThemePublished: [(data) => ({ ...withoutPlaces(data), digest: digestOf(data['values']) })],
  ThemeRemoved: [withoutPlaces],
  ProviderEventReceived: [(data) => ({ ...data, refs: null })],
  RewardWithheld: [
    (data) => ({ ...data, rewardId: null, programId: null, programVersion: null, rule: null }),
  ],
};

function withoutPlaces(stored: EventData): EventData {
  const { change: _change, before: _before, opening: _opening, ...others } = stored;
  const { values: _values, bytes: _bytes, ...data } = others;
  return data;
}

/** A reservation had one holder, who released all of it. */
function withoutClaim(data: EventData): EventData {
  return { ...data, claim: null };
}

/** Rules were named by their side, or by their index for equal sides. */
function withEventRulesByPlace(data: EventData): EventData {
  const { eventRewards = [] } = data['document'] as {
    readonly eventRewards?: readonly { readonly to: string; readonly key?: string }[];
  };
  const numbers = new Map<string, number>();
  const eventRules = eventRewards.map(({ to, key = '' }) => {
    const name = `eventRewards/${to}/${key}`;
    const number = (numbers.get(name) ?? 0) + 1;
    numbers.set(name, number);
    return number === 1 ? name : `${name}/${number}`;
  });
  return { ...data, eventRules };
}

/** Programs had neither limits nor automatic redemption. */
function withoutLimits(data: EventData): EventData {
  const sides = ['referredReward', 'referrerReward'].filter(
    (side) => typeof data[side] === 'object' && data[side] !== null,
  );
  const terms = sides.map(
    (side) =>
      [side, { ...(data[side] as object), limit: null, redeemsAutomatically: false }] as const,
  );
  return { ...data, ...Object.fromEntries(terms) };
}

/** Texts were unencrypted; they are hidden once the person's key is erased. */
function withPersonalTexts({ name, description, ...data }: EventData): EventData {
  const isWordless = (name ?? null) === null && (description ?? null) === null;
  return {
    ...data,
    texts: {
      subject: data['person'],
      value: isWordless ? null : { name: name ?? null, description: description ?? null },
    },
  };
}

/** Before rules had names there was one for each side. */
const RULE_OF_SOURCE: Readonly<Record<string, string>> = {
  REFERRED: 'referredReward',
  FRIEND_SIGNUP: 'referrerReward',
};

export interface EventSchemas {
  readonly versions: Readonly<Record<string, number>>;
  readonly upcasters: Upcasters;
}

/** @throws {UnreadableEvent} for an unknown type or a later version. */
export function upcast(
  type: string,
  version: number,
  data: EventData,
  { versions, upcasters }: EventSchemas = { versions: CURRENT_VERSIONS, upcasters: UPCASTERS },
): EventData {
  const unknown = unknownVersionReason(type, version, versions);
  if (unknown !== undefined) throw new UnreadableEvent(unknown);
  return (upcasters[type] ?? [])
    .slice(version - 1, (versions[type] ?? version) - 1)
    .reduce((lifted, step) => step(lifted), data);
}

/** Why this release cannot read events of the type and version. */
export function unknownVersionReason(
  type: string,
  version: number,
  versions: Readonly<Record<string, number>> = CURRENT_VERSIONS,
): string | undefined {
  const current = Object.hasOwn(versions, type) ? versions[type] : undefined;
  if (current === undefined)
    return `events of type ${type} are unknown to this version of the service`;
  if (Number.isInteger(version) && version >= 1 && version <= current) return undefined;
  return `${type} has schema version ${version}; this version of the service reads 1 to ${current}`;
}

/** This release cannot read the event. It is never skipped: its readers stop and report it. */
export class UnreadableEvent extends Error {
  override readonly name = 'UnreadableEvent';
}
