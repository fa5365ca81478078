import type { NeededTankCode } from '../need.js';
import {
  REFERRED_RULE,
  REFERRER_RULE,
  type Conversion,
  type EventCondition,
  type FraudCriterion,
  type FraudHandling,
  type GrantTerms,
  type PayTo,
  type Program,
  type PromisedTank,
  type PromisedValue,
  type RateLimit,
  type RewardTerms,
  type RewardType,
  type SideStatus,
} from '../program.js';
import type { ConditionDocument, EventRuleDocument } from './event-rules.js';
import type { AppliedProgram, OpenTenant, ProgramDocument } from './tenant.decider.js';
import { ownMember } from '../own-member.js';
import { trimmedUnit } from '../units.js';

/** Of a new tenant. */
export const DEFAULT_PROGRAM: ProgramDocument = {
  id: 'default',
  referredReward: { type: 'PCT_DISCOUNT', discountPercent: 10 },
  referrerReward: { type: 'CREDIT', unit: 'CENTS', assignedCredit: 1000 },
};

interface RewardDocument {
  readonly type: RewardType;
  readonly when?: RewardTerms['when'];
  readonly unit?: string | null;
  readonly assignedCredit?: number;
  readonly currency?: string | null;
  readonly discountPercent?: number;
  readonly monthsDiscountIsValid?: number | null;
  readonly fuelTankCodes?: readonly string[];
  readonly fuelTankType?: PromisedTank['fuelTankType'];
  readonly amount?: number;
  readonly name?: string | null;
  readonly description?: string | null;
  readonly cancellable?: boolean;
  readonly validDays?: number | null;
  readonly delayDays?: number;
  readonly limit?: { readonly total?: number; readonly perDay?: number };
  readonly payTo?: 'ledger' | PayTo;
}

interface EventRewardDocument extends EventRuleDocument {
  readonly reward: RewardDocument;
}

/** A validated program file, which omits defaults. */
interface ProgramMembers {
  readonly id: string;
  readonly name?: string;
  readonly landingPage?: string;
  readonly conversion?: { readonly on: Conversion['on'] } & ConditionDocument;
  readonly eventRewards?: readonly EventRewardDocument[];
  readonly moderation?: { readonly referred?: SideStatus; readonly referrer?: SideStatus };
  readonly fraud?: Readonly<Partial<Record<FraudCriterion, FraudHandling>>>;
  readonly rateLimit?: Partial<RateLimit>;
  readonly refundDays?: number;
  readonly automaticRedemption?: readonly RewardType[];
}

export function toProgram(
  applied: Pick<AppliedProgram, 'document' | 'version' | 'eventRules'>,
  isDefault: boolean,
): Program {
  const { document, version } = applied;
  const members: ProgramMembers = document;
  const automatic = members.automaticRedemption ?? [];
  const side = (
    name: typeof REFERRED_RULE | typeof REFERRER_RULE,
    when: RewardTerms['when'],
  ): RewardTerms | null => {
    const reward = rewardOf(document, name);
    return reward && { ...toTerms(reward, automatic), when: reward.when ?? when };
  };
  return {
    id: document.id,
    version,
    name: members.name ?? document.id,
    isDefault,
    landingPage: members.landingPage ?? null,
    conversion:
      members.conversion?.on === 'EVENT'
        ? { on: 'EVENT', ...toCondition(members.conversion) }
        : { on: 'PAID' },
    referredReward: side(REFERRED_RULE, 'STARTED'),
    referrerReward: side(REFERRER_RULE, 'CONVERTED'),
    eventRewards: eventRewardsOf(applied).map(({ rule, document: reward }) => ({
      rule,
      to: reward.to,
      ...toCondition(reward),
      terms: toTerms(reward.reward, automatic),
    })),
    moderation: {
      referred: members.moderation?.referred ?? 'APPROVED',
      referrer: members.moderation?.referrer ?? 'APPROVED',
    },
    fraud: { name: 'ignore', email: 'ignore', ip: 'ignore', rate: 'ignore', ...members.fraud },
    rateLimit: { referrals: 3, minutes: 30, ...members.rateLimit },
    refundDays: members.refundDays ?? null,
    automaticRedemption: automatic,
  };
}

/** Missing: the default program's reward. Null: none. */
function rewardOf(
  document: ProgramDocument,
  side: typeof REFERRED_RULE | typeof REFERRER_RULE,
): RewardDocument | null {
  return (
    document[side] === undefined ? DEFAULT_PROGRAM[side] : document[side]
  ) as RewardDocument | null;
}

function eventRewardsOf({
  document,
  eventRules,
}: NamedRules): { readonly rule: string; readonly document: EventRewardDocument }[] {
  const members: ProgramMembers = document;
  return (members.eventRewards ?? []).map((reward, index) => ({
    rule: eventRules[index] ?? '',
    document: reward,
  }));
}

function toCondition({
  key = '',
  firstTimeOnly = false,
  minimum,
  refund,
}: ConditionDocument): EventCondition {
  return { key, firstTimeOnly, minimum: minimum ?? null, ...(refund && { refund }) };
}

function toTerms(document: RewardDocument, automatic: readonly RewardType[]): GrantTerms {
  const { limit } = document;
  const isPaidByProvider = document.payTo === 'provider';
  return {
    value: toValue(document),
    name: document.name ?? null,
    description: document.description ?? null,
    cancellable: document.cancellable ?? true,
    validDays: document.validDays ?? null,
    delayDays: document.delayDays ?? 0,
    limit: limit ? { total: limit.total ?? null, perDay: limit.perDay ?? null } : null,
    // The provider's payment redeems it.
    redeemsAutomatically: !isPaidByProvider && automatic.includes(document.type),
    ...(isPaidByProvider ? { payTo: 'provider' } : {}),
  };
}

function toValue(document: RewardDocument): PromisedValue {
  switch (document.type) {
    case 'CREDIT':
      return {
        type: 'CREDIT',
        unit: trimmedUnit(document.unit ?? ''),
        assignedCredit: document.assignedCredit ?? 0,
        currency: document.currency ?? null,
      };
    case 'PCT_DISCOUNT':
      return {
        type: 'PCT_DISCOUNT',
        discountPercent: document.discountPercent ?? 0,
        monthsDiscountIsValid: document.monthsDiscountIsValid ?? null,
      };
    case 'FUELTANK':
      return {
        type: 'FUELTANK',
        fuelTankType: document.fuelTankType ?? 'CREDIT',
        amount: document.amount ?? 0,
        unit: document.unit ? trimmedUnit(document.unit) : null,
      };
  }
}

/** A version of a program, with the names of its event rules. */
export type NamedRules = Pick<AppliedProgram, 'document' | 'eventRules'>;

/**
 * The codes that a rule may hand out under a version: the current ones, so that pools can be
 * refilled and codes removed, as long as their value is the same. Undefined: the version's own
 * codes apply.
 */
export function currentTankCodes(
  tenant: OpenTenant,
  { programId, rule, value }: Pick<NeededTankCode, 'programId' | 'rule' | 'value'>,
): readonly string[] | undefined {
  const applied = ownMember(tenant.programs, programId);
  if (!applied) return undefined;
  const today = rewardOfRule(applied, rule);
  return today && isSameTank(toValue(today), value) ? (today.fuelTankCodes ?? []) : undefined;
}

/** The codes of a rule in a version of a program. */
export function tankCodesOf(version: NamedRules, rule: string): readonly string[] {
  return rewardOfRule(version, rule)?.fuelTankCodes ?? [];
}

function rewardOfRule(version: NamedRules, rule: string): RewardDocument | null | undefined {
  if (rule === REFERRED_RULE || rule === REFERRER_RULE) return rewardOf(version.document, rule);
  return eventRewardsOf(version).find((candidate) => candidate.rule === rule)?.document.reward;
}

const isSameTank = (a: PromisedValue, b: PromisedTank): boolean =>
  a.type === 'FUELTANK' &&
  a.fuelTankType === b.fuelTankType &&
  a.amount === b.amount &&
  a.unit === b.unit;

export function programOf(tenant: OpenTenant, programId: string): Program | null {
  const applied = ownMember(tenant.programs, programId);
  return applied ? toProgram(applied, programId === tenant.defaultProgramId) : null;
}

export const programsOf = (tenant: OpenTenant): Program[] =>
  Object.values(tenant.programs).map((applied) =>
    toProgram(applied, applied.document.id === tenant.defaultProgramId),
  );
