import type { Program, RewardTerms, SideStatus } from '../program.js';
import { personal } from '../personal.js';
import { refused, type Decision } from '../refusal.js';
import type { AccountRef } from '../scope.js';
import type { AccountEvent, Party, PersonId } from './account.events.js';
import { Draft, type AccountState, type OpenAccount, type UserState } from './account.state.js';
import { grantUnderTerms, partyIds } from './rewards.js';
import { noteSeen, type Seen } from './seen.js';

/** How a referral of this account begins, converts and ends. At most one per account; this account is the referred party. */

/** A code that resolved: whose it is, in the owner's spelling. */
export interface CodeOwner {
  readonly code: string;
  readonly programId: string;
  readonly party: Party;
}

/** What a decision about a referral must know from outside the account's own stream, looked up just before it is made. */
export interface ReferralContext {
  readonly now: number;
  readonly account: AccountRef;
  /** The first given code that resolves; null: none was given or none is known. */
  readonly codeOwner: CodeOwner | null;
  /** The referrer as of now: of the code owner, or of the attribution that stands already. Null: no such person (any more). */
  readonly referrer: { readonly blocked: boolean } | null;
  /** The program of the code, under its terms of this moment. */
  readonly program: Program | null;
  /** Ids for what may come into being. */
  readonly referralId: string;
  readonly rewardIds: { readonly started: string; readonly converted: string };
}

/** A code that came in passing: takes effect if it can, else nothing is recorded and the call goes on. */
export function attributeInPassing(draft: Draft, context: ReferralContext): void {
  const { codeOwner, referrer } = context;
  if (!codeOwner || !referrer || draft.state.attribution || draft.state.everPaid || codeOwner.party.account === context.account) return;
  draft.emit(attributed(codeOwner, context.now));
}

function attributed({ code, party, programId }: CodeOwner, at: number): AccountEvent {
  return { type: 'AccountAttributed', at, code: personal(party.person, code), referrer: party, programId };
}

/** Starts the referral of an attributed account, with `preferred` if given, else with its first referable user; converts it when the account has paid. */
export function startAndConvert(draft: Draft, context: ReferralContext, preferred?: PersonId): void {
  start(draft, context, preferred);
  convert(draft, context);
}

function start(draft: Draft, context: ReferralContext, preferred?: PersonId): void {
  const { state } = draft;
  const { program, referrer, now } = context;
  if (!state.attribution || state.referral || !program || !referrer) return;
  const person = preferred ?? state.persons.find((candidate) => isReferable(state.users.get(candidate)));
  if (person === undefined || !isReferable(state.users.get(person))) return;
  const status = (byDefault: SideStatus): SideStatus => (referrer.blocked ? 'DENIED' : byDefault);
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
    fraudSignals: {},
    referredReward: earnedBy(program.referredReward, 'STARTED'),
    referrerReward: earnedBy(program.referrerReward, 'STARTED'),
  });
  grantReferred(draft, program, 'STARTED', context);
}

/** The first PAID of an account converts its referral; when the user comes later, the user's coming does. */
function convert(draft: Draft, context: ReferralContext): void {
  const { referral, everPaid } = draft.state;
  const { program, now } = context;
  if (!referral || referral.datePaid !== null || !everPaid || !program) return;
  draft.emit({
    type: 'ReferralConverted',
    at: now,
    referralId: referral.referralId,
    programId: program.id,
    programVersion: program.version,
    referrer: referral.referrer,
    referredStatus: referral.referredStatus,
    // Blocked between start and conversion: the referrer's side is denied; what it earned at the start stays.
    referrerStatus: context.referrer?.blocked ? 'DENIED' : referral.referrerStatus,
    // A side earns once: a program that changed its mind about the moment does not pay twice.
    referredReward: referral.referredEarned ? null : earnedBy(program.referredReward, 'CONVERTED'),
    referrerReward: referral.referrerEarned ? null : earnedBy(program.referrerReward, 'CONVERTED'),
  });
  if (!referral.referredEarned) grantReferred(draft, program, 'CONVERTED', context);
}

const earnedBy = (terms: RewardTerms | null, moment: RewardTerms['when']): RewardTerms | null => (terms?.when === moment ? terms : null);

function grantReferred(draft: Draft, program: Program, moment: RewardTerms['when'], context: ReferralContext): void {
  const { referral } = draft.state;
  const terms = earnedBy(program.referredReward, moment);
  if (!referral || !terms || referral.referredStatus !== 'APPROVED') return;
  const rewardId = moment === 'STARTED' ? context.rewardIds.started : context.rewardIds.converted;
  grantUnderTerms(draft, terms, { rewardId, ...referredReward(referral.referred.person, referral.referralId, program) }, context.now);
}

const referredReward = (person: PersonId, referralId: string, program: { readonly id: string; readonly version: number }) => ({
  ...{ person, referralId, source: 'REFERRED' as const, programId: program.id, programVersion: program.version },
});

/** CANCELLED ends the running referral, once. Rewards stay, and a first PAID after it still converts. */
export function end(draft: Draft, now: number): void {
  const { referral } = draft.state;
  if (referral && referral.dateEnded === null) draft.emit({ type: 'ReferralEnded', at: now, referralId: referral.referralId });
}

export const isReferable = (user: UserState | undefined): boolean => user?.profile?.referable === true;

/** Applying a code by name: unlike a code in passing, what stands against it is said. */
export interface ApplyCode {
  readonly type: 'ApplyCode';
  readonly userId: string;
  /** From where the user called, when the user did. */
  readonly seen?: Seen | undefined;
  readonly context: ReferralContext;
}

export function applyCode(state: AccountState, { userId, seen, context }: ApplyCode): Decision<AccountEvent> {
  const { codeOwner, referrer, now } = context;
  if (!codeOwner || !referrer || referrer.blocked) return refused('REFERRAL_CODE_NOT_FOUND');
  const person = state.status === 'open' ? state.personsByUserId.get(userId) : undefined;
  if (state.status === 'absent' || person === undefined) return refused('USER_NOT_FOUND');
  const against = whyNot(state, codeOwner, context.account, person);
  if (against) return refused(against);
  const draft = new Draft(state);
  noteSeen(draft, person, seen, now);
  draft.emit(attributed(codeOwner, now));
  startAndConvert(draft, context, person);
  return { events: draft.events };
}

function whyNot(state: OpenAccount, owner: CodeOwner, account: AccountRef, person: PersonId) {
  if (owner.party.account === account) return 'SELF_REFERRAL';
  if (state.attribution) return 'ALREADY_REFERRED';
  if (state.everPaid) return 'NOT_ATTRIBUTABLE';
  if (!isReferable(state.users.get(person))) return 'NOT_REFERABLE';
  return undefined;
}
