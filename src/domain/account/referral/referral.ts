import type { Provided } from '../../need.js';
import { personal } from '../../personal.js';
import { REFERRED_RULE, type Program, type RewardTerms, type SideStatus } from '../../program.js';
import type { Decision } from '../../decision.js';
import { refused, type Refusal } from '../../refusal.js';
import type { AccountRef } from '../../scope.js';
import type { AccountEvent, AnnouncedReferral, Party, PersonId } from '../account.events.js';
import type { AccountState, OpenAccount, ReferralState, UserState } from '../account.state.js';
import { newlyAnnounced, tooManyWith } from './announcements.js';
import { Draft } from '../draft.js';
import { downgradeStatus, findSimilarities, signal, type FraudSignals } from './fraud-signals.js';
import type { CodeOwner, Referrer } from './referral-parties.js';
import { grantDueReward, partyIds } from '../rewards/rewards.js';
import { recordCallOrigin, type CallOrigin } from '../users/call-origin.js';
import { ownMember } from '../../own-member.js';

/** Facts of other streams, fetched just before the decision about a referral. */
export interface ReferralContext {
  readonly now: number;
  readonly account: AccountRef;
  /** Owner of the first code that has one. */
  readonly codeOwner: CodeOwner | null;
  /** The code's owner, or the referrer of the existing attribution. Null: no such person. */
  readonly referrer: Referrer | null;
  /** The program of the code, under its current terms. */
  readonly program: Program | null;
  /** Ids for new referrals and rewards. */
  readonly referralId: string;
  readonly rewardIds: { readonly started: string; readonly converted: string };
  readonly provided: Provided;
}

/** Applies a code of another request if possible; otherwise the request continues without it. */
export function attributeIfPossible(draft: Draft, context: ReferralContext): void {
  const { codeOwner, referrer } = context;
  if (!codeOwner || !referrer || reasonAgainstAttribution(draft.state, codeOwner, context)) return;
  draft.emit(attributed(codeOwner, context.now));
}

function attributed({ code, party, programId }: CodeOwner, at: number): AccountEvent {
  return {
    type: 'AccountAttributed',
    at,
    code: personal(party.person, code),
    referrer: party,
    programId,
  };
}

/** With `preferred` or the first referable user; converts it when the account has paid. */
export function startAndConvert(
  draft: Draft,
  context: ReferralContext,
  preferred?: PersonId,
): void {
  start(draft, context, preferred);
  convertWhenPaid(draft, context);
}

function start(draft: Draft, context: ReferralContext, preferred?: PersonId): void {
  const { state } = draft;
  const { program, referrer, now } = context;
  if (!state.attribution || state.referral || !program || !referrer) return;
  const person =
    preferred ?? state.persons.find((candidate) => isReferable(state.users.get(candidate)));
  if (person === undefined || !isReferable(state.users.get(person))) return;
  const announced = ownMember(context.provided.announced, context.referralId);
  if (!announced)
    return draft.need({
      kind: 'announcement',
      referralId: context.referralId,
      referrer: state.attribution.referrer,
    });
  if (isPartyOf(state, context.account, announced.referredBy)) return;
  const others = tooManyWith(announced.announced, context.referralId, program.rateLimit);
  const found = signalsOf(state, person, referrer, others);
  const status = (byDefault: SideStatus): SideStatus =>
    referrer.blocked ? 'DENIED' : downgradeStatus(byDefault, found, program.fraud);
  draft.emit({
    type: 'ReferralStarted',
    at: now,
    referralId: context.referralId,
    programId: program.id,
    programVersion: program.version,
    code: { subject: state.attribution.codeSubject, value: state.attribution.code },
    shareLinkUsed: null,
    referred: { account: context.account, person, ids: personal(person, partyIds(state, person)) },
    referrer: state.attribution.referrer,
    referredStatus: status(program.moderation.referred),
    referrerStatus: status(program.moderation.referrer),
    // Later referrals may have flagged this one before it started: the signals are shown, the
    // statuses stay.
    fraudSignals: { ...state.flagged.get(context.referralId), ...found },
    tooManyWith: others.map(({ referralId, account }) => ({ referralId, account })),
    referredReward: earnedBy(program.referredReward, 'STARTED'),
    referrerReward: earnedBy(program.referrerReward, 'STARTED'),
  });
  grantReferred(draft, program, 'STARTED', context);
}

/** Compares the current profiles of both people. */
function signalsOf(
  state: OpenAccount,
  person: PersonId,
  referrer: Referrer,
  tooMany: readonly AnnouncedReferral[],
): FraudSignals {
  const profile = state.users.get(person)?.profile;
  return {
    ...(profile ? findSimilarities(profile, referrer.likeness) : {}),
    ...(tooMany.length > 0 ? signal('rate') : {}),
  };
}

/** Unless the program converts on an event. A later user's identification converts then. */
function convertWhenPaid(draft: Draft, context: ReferralContext): void {
  if (draft.state.hasPaid && context.program?.conversion.on === 'PAID')
    convert(draft, context.program, context);
}

/** Converts once, under the current terms. Earns nothing after a refund. */
export function convert(draft: Draft, program: Program, context: ReferralContext): void {
  const { referral } = draft.state;
  if (!referral || referral.datePaid !== null) return;
  const isRefunded = referral.dateRefunded !== undefined;
  const earnsNot = (side: 'referred' | 'referrer'): boolean =>
    referral[`${side}Earned`] !== null || isRefunded || hasNamedReward(referral, side);
  draft.emit({
    type: 'ReferralConverted',
    at: context.now,
    referralId: referral.referralId,
    programId: program.id,
    programVersion: program.version,
    referrer: referral.referrer,
    referredStatus: referral.referredStatus,
    // Denied when the referrer was blocked since the start; rewards of the start stay.
    referrerStatus: context.referrer?.blocked ? 'DENIED' : referral.referrerStatus,
    // A side earns once, also when the program changed the moment of earning.
    referredReward: earnsNot('referred') ? null : earnedBy(program.referredReward, 'CONVERTED'),
    referrerReward: earnsNot('referrer') ? null : earnedBy(program.referrerReward, 'CONVERTED'),
  });
  if (!earnsNot('referred')) grantReferred(draft, program, 'CONVERTED', context);
}

/** An import brought this side's reward, so it earns no other. */
const hasNamedReward = ({ named }: ReferralState, side: 'referred' | 'referrer'): boolean =>
  named !== undefined && named[side] !== null;

export const earnedBy = (
  terms: RewardTerms | null,
  moment: RewardTerms['when'],
): RewardTerms | null => (terms?.when === moment ? terms : null);

function grantReferred(
  draft: Draft,
  program: Program,
  moment: RewardTerms['when'],
  context: ReferralContext,
): void {
  const { referral } = draft.state;
  const terms = earnedBy(program.referredReward, moment);
  if (!referral || !terms || referral.referredStatus !== 'APPROVED') return;
  const rewardId = moment === 'STARTED' ? context.rewardIds.started : context.rewardIds.converted;
  grantDueReward(draft, terms, { rewardId, ...referredReward(referral, program) }, context.now);
}

export const referredReward = (
  { referralId, referred: { person } }: ReferralState,
  program: Pick<Program, 'id' | 'version'>,
) => ({
  person,
  referralId,
  source: 'REFERRED' as const,
  programId: program.id,
  programVersion: program.version,
  rule: REFERRED_RULE,
});

/** CANCELLED ends the running referral. Rewards stay, and a later first PAID still converts. */
export function endReferral(draft: Draft, now: number): void {
  const { referral } = draft.state;
  if (referral && referral.dateEnded === null)
    draft.emit({ type: 'ReferralEnded', at: now, referralId: referral.referralId });
}

export const isReferable = (user: UserState | undefined): boolean =>
  user?.profile?.referable === true;

/** Applies a code that is the subject of the request: refused with a reason. */
export interface ApplyCode {
  readonly type: 'ApplyCode';
  readonly userId: string;
  /** The user's address, when the user called. */
  readonly seen?: CallOrigin | undefined;
  readonly context: ReferralContext;
}

export function applyCode(
  state: AccountState,
  { userId, seen, context }: ApplyCode,
): Decision<AccountEvent> {
  const { codeOwner, referrer, now } = context;
  if (!codeOwner || !referrer || referrer.blocked) return refused('REFERRAL_CODE_NOT_FOUND');
  const person = state.status === 'open' ? state.personsByUserId.get(userId) : undefined;
  if (state.status === 'absent' || person === undefined) return refused('USER_NOT_FOUND');
  const against = reasonAgainst(state, codeOwner, context, person);
  if (against) return refused(against);
  const draft = new Draft(state, context.provided);
  recordCallOrigin(draft, person, seen, now);
  attributeByCode(draft, codeOwner, context, person);
  return draft.decision();
}

/** @param person the referred user; undefined: the first referable one, now or later. */
export function attributeByCode(
  draft: Draft,
  codeOwner: CodeOwner,
  context: ReferralContext,
  person?: PersonId,
): void {
  draft.emit(attributed(codeOwner, context.now));
  startAndConvert(draft, context, person);
}

type ReasonAgainst = Extract<
  Refusal,
  'SELF_REFERRAL' | 'ALREADY_REFERRED' | 'NOT_ATTRIBUTABLE' | 'NOT_REFERABLE'
>;

/** The account that a code is to refer. */
export type AttributionTarget = Pick<
  ReferralContext,
  'now' | 'account' | 'referralId' | 'provided'
>;

/** Why this owner cannot refer the account. */
export function reasonAgainstAccount(
  state: OpenAccount,
  owner: CodeOwner,
  attributing: AttributionTarget,
): ReasonAgainst | undefined {
  const { users } = state;
  const against = reasonAgainstAttribution(state, owner, attributing);
  if (against) return against;
  const isAnyReferable = state.persons.some((person) => isReferable(users.get(person)));
  return users.size === 0 || isAnyReferable ? undefined : 'NOT_REFERABLE';
}

function reasonAgainst(
  state: OpenAccount,
  owner: CodeOwner,
  attributing: AttributionTarget,
  person: PersonId,
): ReasonAgainst | undefined {
  const against = reasonAgainstAttribution(state, owner, attributing);
  return against ?? (isReferable(state.users.get(person)) ? undefined : 'NOT_REFERABLE');
}

function reasonAgainstAttribution(
  state: OpenAccount,
  owner: CodeOwner,
  attributing: AttributionTarget,
): ReasonAgainst | undefined {
  if (owner.party.account === attributing.account || isMutual(state, owner, attributing))
    return 'SELF_REFERRAL';
  if (state.attribution) return 'ALREADY_REFERRED';
  return state.everPaid ? 'NOT_ATTRIBUTABLE' : undefined;
}

/** Each side is announced in the other account, so of two at least one sees the other. */
export function isMutual(
  state: OpenAccount,
  {
    party,
    referredBy,
    formerReferrals,
  }: Pick<CodeOwner, 'party' | 'referredBy' | 'formerReferrals'>,
  { now, account, referralId, provided }: AttributionTarget,
): boolean {
  const announced = ownMember(provided.announced, referralId);
  if (isPartyOf(state, account, referredBy)) return true;
  if (isPartyOf(state, account, announced?.referredBy ?? null)) return true;
  // The other one refuses; otherwise neither would be referred.
  const isFirst = announced !== undefined && account > party.account;
  return (
    !isFirst &&
    newlyAnnounced(state.announced, now).some(
      (earlier) =>
        earlier.account === party.account && !formerReferrals.includes(earlier.referralId),
    )
  );
}

/** An account made again after a deletion is another account. */
const isPartyOf = (
  { users, forgottenPersons }: OpenAccount,
  account: AccountRef,
  party: Party | null,
): boolean =>
  party?.account === account && (users.has(party.person) || forgottenPersons.has(party.person));
