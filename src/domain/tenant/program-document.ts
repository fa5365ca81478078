import type { Program, RewardTerms, RewardValue, SideStatus } from '../program.js';
import type { AppliedProgram, OpenTenant, ProgramDocument } from './tenant.decider.js';

/** From a program file, which leaves out what is default, to the terms that deciders use. The file was checked by its schema before. */

/** What a new tenant pays unless told otherwise. */
export const DEFAULT_PROGRAM: ProgramDocument = {
  id: 'default',
  referredReward: { type: 'PCT_DISCOUNT', discountPercent: 10 },
  referrerReward: { type: 'CREDIT', unit: 'CENTS', assignedCredit: 1000 },
};

interface RewardDocument {
  readonly type: RewardValue['type'];
  readonly when?: RewardTerms['when'];
  readonly unit?: string;
  readonly assignedCredit?: number;
  readonly currency?: string | null;
  readonly discountPercent?: number;
  readonly monthsDiscountIsValid?: number | null;
  readonly name?: string | null;
  readonly description?: string | null;
  readonly cancellable?: boolean;
  readonly validDays?: number | null;
  readonly delayDays?: number;
}

export function toProgram({ document, version }: AppliedProgram, isDefault: boolean): Program {
  const moderation = (document['moderation'] ?? {}) as { referred?: SideStatus; referrer?: SideStatus };
  return {
    id: document.id,
    version,
    name: (document['name'] as string | undefined) ?? document.id,
    isDefault,
    landingPage: (document['landingPage'] as string | undefined) ?? null,
    referredReward: toTerms(rewardOf(document, 'referredReward'), 'STARTED'),
    referrerReward: toTerms(rewardOf(document, 'referrerReward'), 'CONVERTED'),
    moderation: { referred: moderation.referred ?? 'APPROVED', referrer: moderation.referrer ?? 'APPROVED' },
  };
}

/** Left out: what the default program pays. Null: nothing. */
function rewardOf(document: ProgramDocument, side: 'referredReward' | 'referrerReward'): RewardDocument | null {
  return (document[side] === undefined ? DEFAULT_PROGRAM[side] : document[side]) as RewardDocument | null;
}

function toTerms(document: RewardDocument | null, when: RewardTerms['when']): RewardTerms | null {
  const value = document && toValue(document);
  if (!value) return null;
  return {
    value,
    when: document.when ?? when,
    name: document.name ?? null,
    description: document.description ?? null,
    cancellable: document.cancellable ?? true,
    validDays: document.validDays ?? null,
    delayDays: document.delayDays ?? 0,
  };
}

function toValue(document: RewardDocument): RewardValue | null {
  switch (document.type) {
    case 'CREDIT':
      return {
        type: 'CREDIT',
        unit: document.unit ?? '',
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
      // A pool hands out its codes one by one; programs with pools are refused when they are applied.
      return null;
  }
}

export function programOf(tenant: OpenTenant, programId: string): Program | null {
  const applied = Object.hasOwn(tenant.programs, programId) ? tenant.programs[programId] : undefined;
  return applied ? toProgram(applied, programId === tenant.defaultProgramId) : null;
}

export const programsOf = (tenant: OpenTenant): Program[] =>
  Object.values(tenant.programs).map((applied) => toProgram(applied, applied.document.id === tenant.defaultProgramId));
