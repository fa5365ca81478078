import { Map } from 'immutable';
import type { GrantTerms } from '../../program.js';
import { REFERRED_RULE, REFERRER_RULE } from '../../program.js';
import type { AccountEventOf } from '../account.events.js';

/** Number of rewards that a rule granted, cancelled and forgotten ones included. */
export interface GrantedOfRule {
  readonly total: number;
  /** By day in UTC, `2026-01-31`. */
  readonly byDay: Map<string, number>;
}

export type Counts = Map<string, GrantedOfRule>;

const keyOf = (programId: string, rule: string): string => `${programId}/${rule}`;
const dayOf = (at: number): string =>
  Number.isFinite(new Date(at).getTime()) ? new Date(at).toISOString().slice(0, 10) : '';

export function countGranted(
  counts: Counts,
  { programId, rule, at }: Pick<AccountEventOf<'RewardGranted'>, 'programId' | 'rule' | 'at'>,
): Counts {
  if (programId === null || rule === null) return counts;
  const [key, day] = [keyOf(programId, rule), dayOf(at)];
  const { total = 0, byDay = Map<string, number>() } = counts.get(key) ?? {};
  return counts.set(key, { total: total + 1, byDay: byDay.set(day, (byDay.get(day) ?? 0) + 1) });
}

/** Whether one more reward would exceed the rule's limit. */
export function isLimitReached(
  counts: Counts,
  { programId, rule }: { readonly programId: string; readonly rule: string },
  limit: GrantTerms['limit'],
  at: number,
): boolean {
  const granted = limit && counts.get(keyOf(programId, rule));
  if (!granted) return false;
  return (
    granted.total >= (limit.total ?? Infinity) ||
    (granted.byDay.get(dayOf(at)) ?? 0) >= (limit.perDay ?? Infinity)
  );
}

/** Identifies a side of a referral, which earns once under any reward id, or else the reward. */
export function withheldKey({
  rewardId,
  referralId,
  rule,
}: Pick<AccountEventOf<'RewardWithheld'>, 'rewardId' | 'referralId' | 'rule'>): string {
  return referralId !== null && (rule === REFERRED_RULE || rule === REFERRER_RULE)
    ? `${referralId}/${rule}`
    : (rewardId ?? '');
}
