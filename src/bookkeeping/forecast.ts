import { Map as ImmutableMap } from 'immutable';
import type {
  AccountEvent,
  AccountEventOf,
  Party,
  PersonId,
  UserEventContent,
} from '../domain/account/account.events.js';
import { downgradeStatus } from '../domain/account/referral/fraud-signals.js';
import {
  countGranted,
  isLimitReached,
  type Counts,
} from '../domain/account/rewards/rule-counts.js';
import { matches } from '../domain/account/users/events-seen.js';
import { refundValue } from '../domain/account/users/refundable.js';
import type { ModerationEvent, ModerationItem } from '../domain/moderation/moderation.decider.js';
import {
  CONVERSION_RULE,
  REFERRED_RULE,
  REFERRER_RULE,
  type EventCondition,
  type GrantTerms,
  type Program,
  type PromisedValue,
  type RewardTerms,
  type RewardValue,
  type SideStatus,
} from '../domain/program.js';
import type { AccountRef } from '../domain/scope.js';
import { unitKey } from '../domain/units.js';
import { canonicalJson } from '../foundation/canonical-json.js';
import { inTextOrder } from '../foundation/text-order.js';

/**
 * Compares a program's rewards with those of another program for the same facts: referrals,
 * subscriptions, events of users, moderations and blocks, in the order of the log. Rewards of
 * forgotten people, whose facts are unreadable, count for both; those of imported referrals for
 * neither.
 */

/** `amount`: credit in the unit, percents, or the worth of tank codes. */
export interface GrantedRewards {
  readonly count: number;
  readonly amount: bigint;
}
type Side = 'live' | 'candidate';

/** The unit of credit, `%`, or null for a tank code. */
export type ForecastUnit = string | null;
/** The name of a rule in recorded rewards. */
type Rule = string;

/** The events that a forecast reads. */
export const FORECAST_TYPES = [
  'AccountOpened',
  'SubscriptionChanged',
  'UserIdentified',
  'UserBlocked',
  'UserUnblocked',
  'ErasureRequested',
  'ReferralStarted',
  'ReferralConverted',
  'ReferralRefunded',
  'ReferralModerated',
  'UserEventReceived',
  'ReferrerRewardEarnedByEvent',
  'RewardGranted',
  'RewardWithheld',
  'ModerationRequested',
  'ModerationRefused',
  'ModerationCompleted',
] as const satisfies readonly (AccountEvent | ModerationEvent)['type'][];

export type ForecastEvent = Extract<
  AccountEvent | ModerationEvent,
  { readonly type: (typeof FORECAST_TYPES)[number] }
>;

export interface ForecastTerms {
  /** The program of the recorded grants and referrals. */
  readonly liveId: string;
  /** Its current version: every rule has a row, even without rewards. */
  readonly live: Program;
  readonly candidate: Program;
  /** The candidate's number of tank codes for a rule. */
  readonly codesOf: (rule: Rule) => number;
  /** Rewards earned since then count, epoch milliseconds. */
  readonly since: number;
  /** The ledger's id for the reward of an event. */
  readonly eventRewardId: (
    account: AccountRef,
    userEventId: string,
    programId: string,
    rule: string,
  ) => string;
}

interface Account {
  readonly ref: AccountRef;
  /** The client's id; null: forgotten. */
  id: string | null;
  everPaid: boolean;
  referral: Referral | undefined;
  counts: Counts;
  readonly currencies: Map<string, string>;
  readonly persons: Map<PersonId, Person>;
  readonly compared: Rows;
}

type Recipient = Pick<Party, 'account' | 'person'>;

interface Person {
  isBlocked: boolean;
  /** The candidate's rules that an event of the person has already matched. */
  readonly matchedRules: Set<Rule>;
}

/** A referral of the live program under the candidate's rules. */
interface Referral {
  readonly account: AccountRef;
  readonly person: PersonId;
  readonly referrer: Party;
  readonly isForgotten: boolean;
  referredStatus: SideStatus;
  referrerStatus: SideStatus;
  referredEarned: RewardTerms | null;
  referrerEarned: RewardTerms | null;
  isConverted: boolean;
  /** The field's value as canonical JSON by which an event refunds the conversion. */
  refundedWith: string | undefined;
  isRefunded: boolean;
  isConversionRefunded: boolean;
}

const NOTHING: GrantedRewards = { count: 0, amount: 0n };

export class Forecast {
  /** Number of referrals started, conversions and events of users since `since`. */
  facts = 0;
  private readonly accounts = new Map<AccountRef, Account>();
  private readonly referrals = new Map<string, Referral>();
  /** Rewards that an event earned the referrer and that are not granted yet, by id. */
  private readonly earnedByEvent = new Map<string, Referral | undefined>();
  private readonly moderations = new Map<string, readonly ModerationItem[]>();
  private readonly rules = new Map<Rule, Rows>();
  private readonly codesUsed = new Map<Rule, number>();

  constructor(private readonly terms: ForecastTerms) {
    for (const program of [terms.live, terms.candidate])
      for (const [rule, { value }] of rulesOf(program)) this.row(rule, value);
  }

  /** A row per rule and unit; rules of the programs come first. */
  byRule(): readonly ({ readonly rule: Rule } & Readonly<Row>)[] {
    return [...this.rules].flatMap(([rule, units]) =>
      [...units.values()].map((row) => ({ rule, ...row })),
    );
  }

  /** The accounts with the largest differences; equal ones are omitted. */
  byAccount(max: number) {
    const differences = [...this.accounts.values()].flatMap(({ id: account, compared }) =>
      [...compared.values()].flatMap(({ unit, live: { amount: live }, candidate: { amount } }) => {
        const size = amount > live ? amount - live : live - amount;
        return account === null || size === 0n
          ? []
          : [{ account, unit, live, candidate: amount, size }];
      }),
    );
    return differences
      .sort(
        (a, b) =>
          (a.size === b.size ? 0 : a.size > b.size ? -1 : 1) ||
          inTextOrder(a.account, b.account) ||
          inTextOrder(a.unit ?? '', b.unit ?? ''),
      )
      .slice(0, max)
      .map(({ size: _, ...account }) => account);
  }

  /** Takes the next event of the log. @param ref the account of the event's stream. */
  add(ref: AccountRef, event: ForecastEvent): void {
    if (event.type === 'ModerationRequested') this.moderations.set(event.moderationId, event.items);
    else if (event.type === 'ModerationRefused' || event.type === 'ModerationCompleted')
      this.moderations.delete(event.moderationId);
    else this.addOfAccount(this.accountOf(ref), event);
  }

  private addOfAccount(account: Account, event: Exclude<ForecastEvent, ModerationEvent>): void {
    switch (event.type) {
      case 'AccountOpened':
        account.id = event.accountId.value;
        return;
      case 'SubscriptionChanged':
        account.everPaid ||= event.subscription.status === 'PAID' && !event.imported;
        return this.convertWhenPaid(account, event.at);
      case 'UserIdentified':
        return void account.persons.set(event.person, {
          isBlocked: false,
          matchedRules: new Set(),
        });
      case 'UserBlocked':
      case 'UserUnblocked': {
        const person = account.persons.get(event.person);
        if (person) person.isBlocked = event.type === 'UserBlocked';
        return;
      }
      case 'ErasureRequested':
        return erase(account, event);
      case 'ReferralStarted':
        return this.start(account, event);
      case 'ReferralConverted':
        if (this.referrals.has(event.referralId)) this.countFact(event);
        return;
      case 'ReferralRefunded':
        return this.changeReferral(event.referralId, (referral) => (referral.isRefunded = true));
      case 'ReferralModerated':
        return this.changeReferral(event.referralId, (referral) => this.moderate(referral, event));
      case 'UserEventReceived':
        return this.receive(account, event);
      case 'ReferrerRewardEarnedByEvent':
        if (event.programId === this.terms.liveId)
          this.earnedByEvent.set(
            this.terms.eventRewardId(
              event.referrer.account,
              event.userEventId,
              event.programId,
              event.rule,
            ),
            this.referrals.get(event.referralId),
          );
        return;
      case 'RewardGranted':
        return this.addGranted(account, event);
      case 'RewardWithheld':
        return void this.earnedByEvent.delete(event.rewardId ?? '');
    }
  }

  private accountOf(ref: AccountRef): Account {
    const known = this.accounts.get(ref);
    if (known) return known;
    const account: Account = {
      ref,
      id: null,
      everPaid: false,
      referral: undefined,
      counts: ImmutableMap(),
      currencies: new Map(),
      persons: new Map(),
      compared: new Map(),
    };
    this.accounts.set(ref, account);
    return account;
  }

  private countFact({ at }: { readonly at: number }): void {
    if (at >= this.terms.since) this.facts++;
  }

  private start(account: Account, event: AccountEventOf<'ReferralStarted'>): void {
    const { candidate, liveId } = this.terms;
    if (event.programId !== liveId || event.imported) return;
    this.countFact(event);
    const { referralId, referred, referrer, at } = event;
    // The signal `rate` may have been added before the start; it changed no status.
    const { rate, ...likenesses } = event.fraudSignals;
    const signals = event.tooManyWith.length > 0 ? { rate, ...likenesses } : likenesses;
    const isBlocked = this.personOf(referrer)?.isBlocked === true;
    const status = (side: SideStatus): SideStatus =>
      isBlocked ? 'DENIED' : downgradeStatus(side, signals, candidate.fraud);
    const referral: Referral = {
      account: account.ref,
      person: referred.person,
      referrer,
      isForgotten: referred.ids.value === null,
      referredStatus: status(candidate.moderation.referred),
      referrerStatus: status(candidate.moderation.referrer),
      referredEarned: null,
      referrerEarned: null,
      isConverted: false,
      refundedWith: undefined,
      isRefunded: false,
      isConversionRefunded: false,
    };
    this.referrals.set(referralId, referral);
    account.referral = referral;
    if (referral.isForgotten) return;
    this.earn(referral, 'STARTED', at);
    this.convertWhenPaid(account, at);
  }

  private personOf({ account, person }: Party): Person | undefined {
    return this.accounts.get(account)?.persons.get(person);
  }

  private changeReferral(referralId: string, change: (referral: Referral) => void): void {
    const referral = this.referrals.get(referralId);
    if (referral && !referral.isForgotten) change(referral);
  }

  private convertWhenPaid({ everPaid, referral }: Account, at: number): void {
    if (everPaid && referral && this.terms.candidate.conversion.on === 'PAID')
      this.convert(referral, at);
  }

  private convert(referral: Referral, at: number): void {
    if (referral.isConverted || referral.isForgotten) return;
    referral.isConverted = true;
    if (this.personOf(referral.referrer)?.isBlocked) referral.referrerStatus = 'DENIED';
    if (!referral.isRefunded) this.earn(referral, 'CONVERTED', at);
  }

  /** The rewards that both sides earn now; a side that is not approved keeps them for later. */
  private earn(referral: Referral, when: RewardTerms['when'], at: number): void {
    const { referredReward, referrerReward } = this.terms.candidate;
    if (referredReward?.when === when) referral.referredEarned = referredReward;
    if (referrerReward?.when === when) referral.referrerEarned = referrerReward;
    this.grantEarned(referral, at);
  }

  /** Once per side. */
  private grantEarned(referral: Referral, at: number): void {
    const { account, person, referrer, referredStatus, referrerStatus } = referral;
    const { referredEarned, referrerEarned, isRefunded, isConversionRefunded } = referral;
    const isDue = (terms: RewardTerms | null, status: SideStatus): terms is RewardTerms =>
      terms !== null &&
      status === 'APPROVED' &&
      !isRefunded &&
      !(isConversionRefunded && terms.when === 'CONVERTED');
    if (isDue(referredEarned, referredStatus)) {
      referral.referredEarned = null;
      this.grant({ account, person }, REFERRED_RULE, referredEarned, at);
    }
    if (isDue(referrerEarned, referrerStatus)) {
      referral.referrerEarned = null;
      this.grant(referrer, REFERRER_RULE, referrerEarned, at);
    }
  }

  private moderate(
    referral: Referral,
    { referralId, moderationId, at }: AccountEventOf<'ReferralModerated'>,
  ): void {
    const items = this.moderations.get(moderationId);
    const item = items?.find((one) => one.referralId === referralId);
    referral.referredStatus = item?.referred ?? referral.referredStatus;
    referral.referrerStatus = item?.referrer ?? referral.referrerStatus;
    this.grantEarned(referral, at);
  }

  private receive(account: Account, event: AccountEventOf<'UserEventReceived'>): void {
    const { person: id, content, repeated, at } = event;
    if (repeated) return;
    this.countFact(event);
    const person = account.persons.get(id);
    if (content.value === null || person === undefined) return;
    const { value } = content;
    const { conversion, eventRewards } = this.terms.candidate;
    const earns = (rule: Rule, condition: EventCondition): boolean => {
      if (!matches(condition, value)) return false;
      const isFirst = !person.matchedRules.has(rule);
      if (condition.firstTimeOnly) person.matchedRules.add(rule);
      return isFirst || !condition.firstTimeOnly;
    };
    const earned = eventRewards.filter((reward) => earns(reward.rule, reward));
    const converts = conversion.on === 'EVENT' && earns(CONVERSION_RULE, conversion);
    const referral = account.referral?.person === id ? account.referral : undefined;
    if (referral) this.refundConversion(referral, value);
    for (const { to, rule, terms } of earned)
      if (to === 'USER') this.grant({ account: account.ref, person: id }, rule, terms, at);
    if (!referral) return;
    if (converts && !referral.isConverted) {
      this.convert(referral, at);
      referral.refundedWith = conversion.refund && comparedValue(value, conversion.refund.field);
    }
    for (const { to, rule, terms } of earned)
      if (to === 'REFERRER' && this.isReferrerPaid(referral))
        this.grant(referral.referrer, rule, terms, at);
  }

  private refundConversion(referral: Referral, content: UserEventContent): void {
    const { conversion } = this.terms.candidate;
    if (conversion.on !== 'EVENT' || conversion.refund?.key !== content.key) return;
    const value = comparedValue(content, conversion.refund.field);
    if (value === undefined) return;
    if (value === referral.refundedWith) referral.isConversionRefunded = true;
  }

  /** Whether an event of the referred user rewards the referrer; otherwise the reward is lost. */
  private isReferrerPaid({ referrer, referrerStatus, isRefunded }: Referral): boolean {
    const person = this.personOf(referrer);
    return person?.isBlocked === false && !isRefunded && referrerStatus === 'APPROVED';
  }

  /** Grants the candidate's reward unless a limit, a currency or an empty pool prevents it. */
  private grant(to: Recipient, rule: Rule, { value, limit }: GrantTerms, at: number): void {
    const account = this.accountOf(to.account);
    if (!account.persons.has(to.person)) return;
    const { liveId: programId, since, codesOf } = this.terms;
    if (isLimitReached(account.counts, { programId, rule }, limit, at)) return;
    if (value.type === 'CREDIT' && value.currency !== null) {
      const currency = account.currencies.get(unitKey(value.unit));
      if (currency !== undefined && currency !== value.currency) return;
    }
    if (value.type === 'FUELTANK' && at >= since) {
      const used = this.codesUsed.get(rule) ?? 0;
      if (used >= codesOf(rule)) return;
      this.codesUsed.set(rule, used + 1);
    }
    this.recordGranted(account, { programId, rule, value, at }, ['candidate']);
  }

  /** Adds a recorded reward. */
  private addGranted(account: Account, event: AccountEventOf<'RewardGranted'>): void {
    const { rewardId, programId, referralId, rule, value, owner, at } = event;
    if (programId !== this.terms.liveId || rule === null) return setCurrency(account, value);
    const isReferrers = this.earnedByEvent.has(rewardId);
    const ofReferral = referralId !== null || isReferrers;
    const referral =
      referralId === null ? this.earnedByEvent.get(rewardId) : this.referrals.get(referralId);
    this.earnedByEvent.delete(rewardId);
    // Of an imported referral.
    if (ofReferral && referral === undefined) return setCurrency(account, value);
    const isTakenOver = referral ? referral.isForgotten : owner.value === null;
    const granted = { programId, rule, value, at };
    this.recordGranted(account, granted, isTakenOver ? ['live', 'candidate'] : ['live']);
  }

  private recordGranted(
    account: Account,
    granted: Pick<AccountEventOf<'RewardGranted'>, 'programId' | 'at'> & {
      readonly rule: Rule;
      readonly value: RewardValue | PromisedValue;
    },
    sides: readonly Side[],
  ): void {
    const { rule, value, at } = granted;
    if (sides.includes('candidate')) {
      account.counts = countGranted(account.counts, granted);
      setCurrency(account, value);
    }
    if (at < this.terms.since) return;
    const row = this.row(rule, value);
    const amount = BigInt(amountOf(value));
    for (const side of sides)
      for (const compared of [row, rowOf(account.compared, value, row.unit)]) {
        const { count, amount: before } = compared[side];
        compared[side] = { count: count + 1, amount: before + amount };
      }
  }

  private row(rule: Rule, value: RewardValue | PromisedValue): Row {
    const units = this.rules.get(rule) ?? new Map<string, Row>();
    this.rules.set(rule, units);
    return rowOf(units, value, unitOf(value));
  }
}

type Rows = Map<string, Row>;
interface Row extends Record<Side, GrantedRewards> {
  /** In its first spelling. */
  readonly unit: ForecastUnit;
}

function rowOf(rows: Rows, value: RewardValue | PromisedValue, unit: ForecastUnit): Row {
  // A unit of credit may be named `%`.
  const key = `${value.type} ${unit === null ? '' : unitKey(unit)}`;
  const row = rows.get(key) ?? { unit, live: NOTHING, candidate: NOTHING };
  rows.set(key, row);
  return row;
}

const rulesOf = (program: Program): readonly (readonly [Rule, GrantTerms])[] =>
  [
    [REFERRED_RULE, program.referredReward] as const,
    [REFERRER_RULE, program.referrerReward] as const,
    ...program.eventRewards.map(({ rule, terms }) => [rule, terms] as const),
  ].flatMap(([rule, terms]) => (terms === null ? [] : [[rule, terms] as const]));

const unitOf = (value: RewardValue | PromisedValue): ForecastUnit =>
  value.type === 'CREDIT' ? value.unit : value.type === 'PCT_DISCOUNT' ? '%' : null;

function amountOf(value: RewardValue | PromisedValue): number {
  if (value.type === 'CREDIT') return value.assignedCredit;
  return value.type === 'PCT_DISCOUNT' ? value.discountPercent : value.amount;
}

/** The currency of an account's credit in a unit is the first one. */
function setCurrency({ currencies }: Account, value: RewardValue | PromisedValue): void {
  if (value.type !== 'CREDIT' || value.currency === null) return;
  const key = unitKey(value.unit);
  if (!currencies.has(key)) currencies.set(key, value.currency);
}

function erase(
  account: Account,
  { persons, account: deleted }: AccountEventOf<'ErasureRequested'>,
): void {
  for (const person of persons) account.persons.delete(person);
  if (deleted === null) return;
  account.id = null;
  account.compared.clear();
  account.everPaid = false;
  account.referral = undefined;
  account.currencies.clear();
  account.persons.clear();
}

/** As canonical JSON, so that equal values have equal texts. Undefined: nothing to compare. */
function comparedValue(content: UserEventContent, field: string): string | undefined {
  const value = refundValue(content, field);
  return value === undefined ? undefined : canonicalJson(value);
}
