import { eventRewardId } from '../src/command-handling/event-reward-id.js';
import type { AccountEvent, AccountEventOf, Party } from '../src/domain/account/account.events.js';
import {
  CONVERSION_RULE,
  REFERRED_RULE,
  REFERRER_RULE,
  type GrantTerms,
} from '../src/domain/program.js';
import { idWithin } from '../src/privacy/keyed-names.js';
import type { Decoded } from '../src/event-log/codec.js';

/** The events of one account. */
interface EventsOfAccount {
  readonly account: string;
  readonly events: readonly Decoded[];
}

const eventsOf = (account: EventsOfAccount | undefined): readonly AccountEvent[] =>
  account?.events.map(({ event }) => event as AccountEvent) ?? [];

/** What facts owe and was not paid, and what was paid beyond a limit, in a world at rest. */
export function unpaid(accounts: ReadonlyMap<string, EventsOfAccount>): string[] {
  const limits = new Map<string, GrantTerms['limit']>();
  const broken: string[] = [];
  for (const account of accounts.values()) {
    const events = eventsOf(account);
    for (const event of events)
      for (const [rule, terms] of termsIn(event)) limits.set(rule, terms.limit);
    for (const [referralId, referrer] of earnedByReferrals(events))
      if (!isReferrerPaid(eventsOf(accounts.get(referrer.account)), referralId, referrer))
        broken.push(`${referralId}: its referrer was not rewarded`);
    for (const event of events)
      if (event.type === 'ReferrerRewardEarnedByEvent' && !isEventPaid(event, accounts))
        broken.push(`${event.userEventId}: the referrer was not rewarded for it`);
    for (const event of events)
      if (event.type === 'EarningRefunded' && !isTakenBack(event, account.account, accounts))
        broken.push(`${event.userEventId}: its refund took nothing back`);
  }
  for (const account of accounts.values()) broken.push(...beyondLimits(account, limits));
  return broken;
}

/** The referrers whose side is approved and has earned, by referral. */
function earnedByReferrals(events: readonly AccountEvent[]): ReadonlyMap<string, Party> {
  const owed = new Map<string, Party>();
  for (const event of events) {
    if (
      event.type !== 'ReferralStarted' &&
      event.type !== 'ReferralConverted' &&
      event.type !== 'ReferralModerated'
    )
      continue;
    if (event.referrerStatus !== 'APPROVED') owed.delete(event.referralId);
    else if (event.referrerReward !== null) owed.set(event.referralId, event.referrer);
  }
  return owed;
}

function isReferrerPaid(
  events: readonly AccountEvent[],
  referralId: string,
  referrer: Party,
): boolean {
  const side = events.findLast(
    (event) => event.type === 'ReferrerSideModerated' && event.referralId === referralId,
  );
  if (side?.type === 'ReferrerSideModerated' && side.status !== 'APPROVED') return true;
  return events.some(
    (event) =>
      isGone(event, referrer) ||
      ((event.type === 'RewardGranted' || event.type === 'RewardWithheld') &&
        event.referralId === referralId),
  );
}

function isEventPaid(
  { userEventId, programId, rule, referrer }: AccountEventOf<'ReferrerRewardEarnedByEvent'>,
  accounts: ReadonlyMap<string, EventsOfAccount>,
): boolean {
  const rewardId = eventRewardId(referrer.account, userEventId, programId, rule);
  return eventsOf(accounts.get(referrer.account)).some(
    (event) =>
      isGone(event, referrer) ||
      ((event.type === 'RewardGranted' || event.type === 'RewardWithheld') &&
        event.rewardId === rewardId),
  );
}

/** Whether the reward of a refunded event is cancelled, or stays with a reason. */
function isTakenBack(
  { userEventId, programId, rule, referralId, referrer }: AccountEventOf<'EarningRefunded'>,
  account: string,
  accounts: ReadonlyMap<string, EventsOfAccount>,
): boolean {
  const owner = referrer?.account ?? account;
  const rewardId =
    rule === CONVERSION_RULE
      ? idWithin(owner, `${referralId ?? ''}/referrer`)
      : eventRewardId(owner, userEventId, programId, rule);
  const events = eventsOf(accounts.get(owner));
  const about = events.filter((event) => 'rewardId' in event && event.rewardId === rewardId);
  return (
    !about.some(({ type }) => type === 'RewardGranted') ||
    about.some(({ type }) => type === 'RewardCancelled' || type === 'RewardKept') ||
    events.some((event) => referrer !== null && isGone(event, referrer))
  );
}

/** Who is gone is owed nothing more. */
const isGone = (event: AccountEvent, { person }: Party): boolean =>
  event.type === 'ErasureRequested' && (event.account !== null || event.persons.includes(person));

/** The terms that an event names, by rule. */
function termsIn(event: AccountEvent): readonly (readonly [rule: string, terms: GrantTerms])[] {
  if (event.type === 'ReferrerRewardEarnedByEvent')
    return [[`${event.programId}/${event.rule}`, event.terms]];
  if (event.type !== 'ReferralStarted' && event.type !== 'ReferralConverted') return [];
  const { programId, referredReward, referrerReward } = event;
  return [
    ...(referredReward ? [[`${programId}/${REFERRED_RULE}`, referredReward] as const] : []),
    ...(referrerReward ? [[`${programId}/${REFERRER_RULE}`, referrerReward] as const] : []),
  ];
}

function beyondLimits(
  account: EventsOfAccount,
  limits: ReadonlyMap<string, GrantTerms['limit']>,
): string[] {
  const granted = new Map<string, number>();
  const broken: string[] = [];
  const count = (what: string, most: number | null | undefined): void => {
    const number = (granted.get(what) ?? 0) + 1;
    granted.set(what, number);
    if (number > (most ?? Infinity))
      broken.push(`${account.account}: ${number} rewards by ${what}`);
  };
  for (const event of eventsOf(account)) {
    if (event.type !== 'RewardGranted' || event.rule === null) continue;
    const rule = `${event.programId ?? ''}/${event.rule}`;
    const limit = limits.get(rule);
    count(rule, limit?.total);
    count(`${rule} on ${new Date(event.at).toISOString().slice(0, 10)}`, limit?.perDay);
  }
  return broken;
}
