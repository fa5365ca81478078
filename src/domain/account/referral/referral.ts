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
import { downgraded, likenesses, signal, type FraudSignals } from './fraud-signals.js';
import type { CodeOwner, Referrer } from './referral-parties.js';
import { grantUnderTerms, partyIds } from '../rewards/rewards.js';
import { noteSeen, type Seen } from '../users/seen.js';
import { ownMember } from '../../own-member.js';

/**
 * Starts, converts and ends a referral of this account, which is the referred party. At most one
 * per account.
 */

/** The facts of other streams for a decision about a referral, looked up just before it. */
export interface ReferralContext {
  readonly now: number;
  readonly account: AccountRef;
  /** The owner of the first code that has one; null: no code, or no owner. */
  readonly codeOwner: CodeOwner | null;
  /**
   * The newest state of the referrer: the code's owner, or the one of the existing attribution.
   * Null: no such person.
   */
  readonly referrer: Referrer | null;
  /** The program of the code, under its current terms. */
  readonly program: Program | null;
  /** Ids for new referrals and rewards. */
  readonly referralId: string;
  readonly rewardIds: { readonly started: string; readonly converted: string };
  readonly provided: Provided;
}

/**
 * A code inside of another request: takes effect if possible; otherwise nothing is recorded and the
 * request continues.
 */
export function attributeInPassing(draft: Draft, context: ReferralContext): void {
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

/**
 * Starts the referral of an attributed account, with `preferred` if present, otherwise with its
 * first referable user; converts it when the account has paid.
 */
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
    referrer.blocked ? 'DENIED' : downgraded(byDefault, found, program.fraud);
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
    ...(profile ? likenesses(profile, referrer.likeness) : {}),
    ...(tooMany.length > 0 ? signal('rate') : {}),
  };
}

/**
 * The first PAID of an account converts its referral, unless its program converts on an event; for
 * a later user, the identification converts.
 */
function convertWhenPaid(draft: Draft, context: ReferralContext): void {
  if (draft.state.hasPaid && context.program?.conversion.on === 'PAID')
    convert(draft, context.program, context);
}

/**
 * Converts the referral under the program's current terms. Once; a referral whose first invoice was
 * refunded earns nothing by it.
 */
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
    // Blocked between start and conversion: the referrer's side is denied; rewards earned at the
    // start stay.
    referrerStatus: context.referrer?.blocked ? 'DENIED' : referral.referrerStatus,
    // A side earns once: a program that has changed the moment of earning does not pay twice.
    referredReward: earnsNot('referred') ? null : earnedBy(program.referredReward, 'CONVERTED'),
    referrerReward: earnsNot('referrer') ? null : earnedBy(program.referrerReward, 'CONVERTED'),
  });
  if (!earnsNot('referred')) grantReferred(draft, program, 'CONVERTED', context);
}

/** Whether the side came with its reward, by an import: it earns once. */
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
  grantUnderTerms(draft, terms, { rewardId, ...referredReward(referral, program) }, context.now);
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

/**
 * CANCELLED ends the running referral, once. Rewards stay, and a later first PAID still converts.
 */
export function end(draft: Draft, now: number): void {
  const { referral } = draft.state;
  if (referral && referral.dateEnded === null)
    draft.emit({ type: 'ReferralEnded', at: now, referralId: referral.referralId });
}

export const isReferable = (user: UserState | undefined): boolean =>
  user?.profile?.referable === true;

/**
 * Applies a code by name: unlike a code inside of another request, it is refused with the reason.
 */
export interface ApplyCode {
  readonly type: 'ApplyCode';
  readonly userId: string;
  /** The user's address, when the user called. */
  readonly seen?: Seen | undefined;
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
  noteSeen(draft, person, seen, now);
  attributeByName(draft, codeOwner, context, person);
  return draft.decision();
}

/**
 * Attributes the account to the owner of the code, after every reason against it was checked.
 * @param person the referred user; undefined: the first referable one, now or later.
 */
export function attributeByName(
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
export type Attributing = Pick<ReferralContext, 'now' | 'account' | 'referralId' | 'provided'>;

/** Why this owner cannot refer the account; undefined: the account can be attributed. */
export function reasonAgainstAccount(
  state: OpenAccount,
  owner: CodeOwner,
  attributing: Attributing,
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
  attributing: Attributing,
  person: PersonId,
): ReasonAgainst | undefined {
  const against = reasonAgainstAttribution(state, owner, attributing);
  return against ?? (isReferable(state.users.get(person)) ? undefined : 'NOT_REFERABLE');
}

function reasonAgainstAttribution(
  state: OpenAccount,
  owner: CodeOwner,
  attributing: Attributing,
): ReasonAgainst | undefined {
  if (owner.party.account === attributing.account || isMutual(state, owner, attributing))
    return 'SELF_REFERRAL';
  if (state.attribution) return 'ALREADY_REFERRED';
  return state.everPaid ? 'NOT_ATTRIBUTABLE' : undefined;
}

/**
 * Whether this account refers the owner's. Both may begin at the same moment: each announces its
 * referral in the account of the other before it is decided, so of two at least one sees the other.
 */
export function isMutual(
  state: OpenAccount,
  {
    party,
    referredBy,
    formerReferrals,
  }: Pick<CodeOwner, 'party' | 'referredBy' | 'formerReferrals'>,
  { now, account, referralId, provided }: Attributing,
): boolean {
  const announced = ownMember(provided.announced, referralId);
  if (isPartyOf(state, account, referredBy)) return true;
  if (isPartyOf(state, account, announced?.referredBy ?? null)) return true;
  // Of two that have announced, the other one refuses: else neither would be referred.
  const isFirst = announced !== undefined && account > party.account;
  return (
    !isFirst &&
    newlyAnnounced(state.announced, now).some(
      (earlier) =>
        earlier.account === party.account && !formerReferrals.includes(earlier.referralId),
    )
  );
}

/** An account that was deleted and made again is another account: its people are others. */
const isPartyOf = (
  { users, forgottenPersons }: OpenAccount,
  account: AccountRef,
  party: Party | null,
): boolean =>
  party?.account === account && (users.has(party.person) || forgottenPersons.has(party.person));
