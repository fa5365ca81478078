import { Map } from 'immutable';
import { personal } from '../../personal.js';
import {
  CONVERSION_RULE,
  type EventCondition,
  type EventReward,
  type Program,
} from '../../program.js';
import type { Decision } from '../../decision.js';
import { refused } from '../../refusal.js';
import type {
  AccountEvent,
  PersonId,
  RecalledNumbers,
  RefundableEarning,
  UserEventContent,
  WithheldReason,
} from '../account.events.js';
import type { AccountState, ReferralState } from '../account.state.js';
import { Draft } from '../draft.js';
import {
  batchKey,
  matches,
  hasMatched,
  hasMatchedBefore,
  hasId,
  type NamedNumbers,
} from './events-seen.js';
import { convert, endReferral, type ReferralContext } from '../referral/referral.js';
import { cancelOrKeep, grantDueReward, withhold, type DueReward } from '../rewards/rewards.js';
import { refundedBy, refundValue, type ValueRef } from './refundable.js';
import { recordCallOrigin, type CallOrigin } from './call-origin.js';
import { ownMember } from '../../own-member.js';

/** A user's event and its consequences under the tenant's programs. */

export interface ReceivedEvent {
  /** Generated id of the event; ids of its rewards derive from it. */
  readonly userEventId: string;
  /** Keyed hash of the client's id; null: none given. */
  readonly idRef: string | null;
  readonly content: UserEventContent;
}

export interface ReceiveUserEvents {
  readonly type: 'ReceiveUserEvents';
  readonly userId: string;
  /** The user's address, when the user called. */
  readonly seen?: CallOrigin | undefined;
  readonly events: readonly ReceivedEvent[];
  /** Keyed hash of the batch's idempotency key; null: none. */
  readonly batch: string | null;
  /** How far the test clock is ahead. */
  readonly aheadMs?: number | undefined;
  /** All of the tenant: a user takes part in each. */
  readonly programs: readonly Program[];
  /** About the account's referral; the program is that referral's. */
  readonly context: ReferralContext;
  /** Id of a rule's reward for an event, of this account or the referrer. */
  readonly rewardIdOf: (userEventId: string, programId: string, rule: string) => string;
  readonly valueRef: ValueRef;
}

export function receiveUserEvents(
  state: AccountState,
  command: ReceiveUserEvents,
): Decision<AccountEvent> {
  const person = state.status === 'open' ? state.personsByUserId.get(command.userId) : undefined;
  if (state.status === 'absent' || person === undefined) return refused('USER_NOT_FOUND');
  if (command.batch !== null && state.batches.has(batchKey(person, command.batch)))
    return refused('EVENTS_ALREADY_RECEIVED');
  const draft = new Draft(state, command.context.provided);
  recordCallOrigin(draft, person, command.seen, command.context.now);
  for (const event of command.events) receive(draft, person, event, command);
  return draft.decision();
}

interface Earning {
  readonly person: PersonId;
  readonly received: ReceivedEvent;
  readonly command: ReceiveUserEvents;
}

function receive(
  draft: Draft,
  person: PersonId,
  received: ReceivedEvent,
  command: ReceiveUserEvents,
): void {
  const { userEventId, content, idRef } = received;
  const { programs, context, batch, aheadMs = 0 } = command;
  const event = {
    type: 'UserEventReceived' as const,
    at: context.now,
    userEventId,
    person,
    batch,
    ...(batch !== null && aheadMs > 0 && { aheadMs }),
    content: personal(person, content),
    ...(idRef !== null && { idRef }),
  };
  // Recorded, since its sender gets the usual answer.
  if (idRef !== null && hasId(draft.state.eventsSeen.get(person), idRef))
    return draft.emit({ ...event, repeated: true });
  const earning = { person, received, command };
  const seen = draft.state.eventsSeen.get(person);
  const rules = rulesFor(draft.state, person, command);
  const leftOut = rules.filter(
    (rule) =>
      rule.firstTimeOnly && matches(rule, content) && hasMatchedBefore(rule, seen) === undefined,
  );
  const earlier = leftOut.length > 0 ? earlierEvents(draft, person, rules) : undefined;
  const counts = (rule: EventCondition): boolean =>
    matches(rule, content) &&
    !(
      rule.firstTimeOnly &&
      (hasMatchedBefore(rule, seen) ?? (earlier !== undefined && hasMatched(rule, earlier)))
    );
  draft.emit({
    ...event,
    ...(earlier && { recalled: personal(person, recalledBy(leftOut, earlier)) }),
  });
  for (const refunded of refundedBy(draft.state.refundable, person, content, command.valueRef))
    refund(draft, refunded, earning);
  for (const program of programs) {
    for (const rule of program.eventRewards)
      if (rule.to === 'USER' && counts(rule)) grantToUser(draft, program, rule, earning);
  }
  const { program } = context;
  const { referral } = draft.state;
  if (!program || referral?.referred.person !== person) return;
  const { conversion } = program;
  if (conversion.on === 'EVENT' && referral.datePaid === null && counts(conversion)) {
    convert(draft, program, context);
    const { referralId } = referral;
    noteRefundable(draft, program, { ...conversion, rule: CONVERSION_RULE, referralId }, earning);
  }
  for (const rule of program.eventRewards)
    if (rule.to === 'REFERRER' && counts(rule)) earnForReferrer(draft, program, rule, earning);
}

function grantToUser(draft: Draft, program: Program, rule: EventReward, earning: Earning): void {
  const due = dueOf(program, rule, earning.person, earning);
  grantDueReward(draft, rule.terms, due, earning.command.context.now);
  if (draft.state.rewards.has(due.rewardId))
    noteRefundable(draft, program, { ...rule, referralId: null }, earning);
}

/** Notes earnings that a later event may refund. */
function noteRefundable(
  draft: Draft,
  { id: programId, version: programVersion }: Program,
  {
    rule,
    referralId,
    refund: by,
  }: Pick<EventCondition, 'refund'> & Pick<RefundableEarning, 'rule' | 'referralId'>,
  { person, received: { userEventId, content }, command: { valueRef, context } }: Earning,
): void {
  const value = by && refundValue(content, by.field);
  if (by === undefined || value === undefined) return;
  draft.emit({
    type: 'RefundableEarningNoted',
    at: context.now,
    userEventId,
    person,
    programId,
    programVersion,
    rule,
    referralId,
    refund: by,
    value: personal(person, valueRef(person, value)),
  });
}

/** Takes back what an earlier event earned; a policy takes back the referrer's reward. */
function refund(
  draft: Draft,
  refunded: RefundableEarning,
  { received, command: { context, rewardIdOf } }: Earning,
): void {
  const { now } = context;
  const { userEventId, programId, rule, referralId } = refunded;
  const { referral } = draft.state;
  if (referralId !== null && referral?.referralId !== referralId) return;
  const isConversion = rule === CONVERSION_RULE;
  const isReferrers = !isConversion || referral?.referrerEarned?.when === 'CONVERTED';
  draft.emit({
    ...refunded,
    type: 'EarningRefunded',
    at: now,
    refundedBy: received.userEventId,
    referrer: (referralId !== null && isReferrers && referral?.referrer) || null,
  });
  if (referralId === null) cancelOrKeep(draft, rewardIdOf(userEventId, programId, rule), now);
  if (!isConversion) return;
  endReferral(draft, now);
  if (referral?.referredEarned?.when !== 'CONVERTED') return;
  for (const rewardId of draft.state.rewardsByReferral.get(referral.referralId) ?? [])
    cancelOrKeep(draft, rewardId, now);
}

/** The rules that an event of the person may match. */
function rulesFor(
  { referral }: AccountState & { readonly status: 'open' },
  person: PersonId,
  { programs, context: { program } }: ReceiveUserEvents,
): readonly EventCondition[] {
  const forUser = programs.flatMap(({ eventRewards }) =>
    eventRewards.filter(({ to }) => to === 'USER'),
  );
  if (!program || referral?.referred.person !== person) return forUser;
  const forReferrer = program.eventRewards.filter(({ to }) => to === 'REFERRER');
  return program.conversion.on === 'EVENT'
    ? [...forUser, program.conversion, ...forReferrer]
    : [...forUser, ...forReferrer];
}

/** The person's earlier events, read once for all rules. */
function earlierEvents(
  draft: Draft,
  person: PersonId,
  rules: readonly EventCondition[],
): NamedNumbers {
  const found = ownMember(draft.provided.earlierEvents, person);
  const conditions = rules.filter(({ firstTimeOnly }) => firstTimeOnly);
  if (!found) draft.need({ kind: 'earlier-events', person, conditions });
  return found ?? Map();
}

const recalledBy = (rules: readonly EventCondition[], earlier: NamedNumbers): RecalledNumbers =>
  rules.flatMap(({ key, minimum }) =>
    minimum === null
      ? []
      : [[minimum.field, earlier.get(key)?.get(minimum.field) ?? null] as const],
  );

function dueOf(
  program: Program,
  { rule }: EventReward,
  person: PersonId,
  { received: { userEventId }, command: { rewardIdOf } }: Earning,
): DueReward {
  const rewardId = rewardIdOf(userEventId, program.id, rule);
  // Moderating the referral does not affect rewards of events.
  return {
    rewardId,
    person,
    source: 'EVENT',
    referralId: null,
    programId: program.id,
    programVersion: program.version,
    rule,
  };
}

/** Checks this side's obstacles; a policy grants the reward in the referrer's account. */
function earnForReferrer(
  draft: Draft,
  program: Program,
  rule: EventReward,
  earning: Earning,
): void {
  const { referral } = draft.state;
  if (!referral) return;
  const { received, command } = earning;
  const { context } = command;
  // A reward lost for want of approval is lost finally: a running moderation must end first.
  draft.dependOn(referral.referralId);
  const reason = lossReason(referral, context);
  if (reason)
    return withhold(
      draft,
      dueOf(program, rule, referral.referrer.person, earning),
      reason,
      context.now,
    );
  draft.emit({
    type: 'ReferrerRewardEarnedByEvent',
    at: context.now,
    referralId: referral.referralId,
    userEventId: received.userEventId,
    referrer: referral.referrer,
    programId: program.id,
    programVersion: program.version,
    rule: rule.rule,
    terms: rule.terms,
  });
  noteRefundable(draft, program, { ...rule, referralId: referral.referralId }, earning);
}

function lossReason(
  { referrerStatus, dateRefunded }: ReferralState,
  { referrer }: ReferralContext,
): WithheldReason | undefined {
  if (!referrer) return 'REFERRER_GONE';
  if (referrer.blocked) return 'REFERRER_BLOCKED';
  // Like its conversion, its events pay nothing after a refund.
  if (dateRefunded !== undefined) return 'REFERRAL_REFUNDED';
  return referrerStatus === 'APPROVED' ? undefined : 'SIDE_NOT_APPROVED';
}
