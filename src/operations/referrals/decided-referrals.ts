import { ActivityQueries } from '../../../projections/activity/queries.js';
import {
  DecidedReferralQueries,
  type DecidedReferral,
} from '../../../projections/referrals/decided-queries.js';
import type { ModerationDecision } from '../../command-handling/commands.js';
import type { ReferralFacts } from '../../domain/account/account.facts.js';
import type { SideStatus } from '../../domain/program.js';
import type { Scope } from '../../domain/scope.js';
import type { Core } from '../../stores/core.js';
import { readFrom } from '../rebuilt-read-models.js';

/** Decided referrals are shown, and undone, for so long. */
export const DECIDED_SHOWN_MS = 90 * 24 * 60 * 60 * 1000;

export type ShownDecision = ReturnType<typeof shown>;

/** The decisions of the last 90 days, newest first. */
export async function decidedReferrals(
  core: Pick<Core, 'pool' | 'tenants'>,
  scope: Scope,
  page: { readonly limit: number; readonly offset: number },
) {
  const since = (await core.tenants.now(scope)) - DECIDED_SHOWN_MS;
  const found = await readFrom(core, 'referrals', DecidedReferralQueries, (queries) =>
    queries.list(scope, since, page),
  );
  const staff = found.items.flatMap(({ decision }) => decision.staff ?? []);
  const names = await readFrom(core, 'activity', ActivityQueries, (queries) =>
    queries.namesOf(staff),
  );
  return { total: found.totalCount, decisions: found.items.map((item) => shown(item, names)) };
}

const shown = ({ referral, decision }: DecidedReferral, names: ReadonlyMap<string, string>) => ({
  referral,
  decidedAt: new Date(decision.at).toISOString(),
  /** The operator's name; null: a client, or an operator who is forgotten. */
  operator: decision.staff === null ? null : (names.get(decision.staff) ?? null),
  isByOperator: decision.actor_kind === 'operator' || decision.actor_kind === 'cli',
  reason: decision.reason,
});

/**
 * The actions that undo the newest decision on a referral: the sides that it changed are denied
 * where they were approved, and approved where they were denied. Null: it is not decided, or not
 * in the last 90 days.
 */
export async function undoOf(
  core: Pick<Core, 'pool' | 'tenants'>,
  scope: Scope,
  referralId: string,
): Promise<readonly ModerationDecision[] | null> {
  const since = (await core.tenants.now(scope)) - DECIDED_SHOWN_MS;
  const found = await readFrom(core, 'referrals', DecidedReferralQueries, (queries) =>
    queries.byId(scope, referralId),
  );
  return found && found.decision.at >= since ? undoing(found) : null;
}

/** @param decided without a changed side both are undone. */
export function undoing({
  referral: { referralId, referredStatus, referrerStatus },
  decision: { sides },
}: Pick<DecidedReferral, 'decision'> & {
  readonly referral: Pick<ReferralFacts, 'referralId' | 'referredStatus' | 'referrerStatus'>;
}): readonly ModerationDecision[] {
  const seen = { referred: referredStatus, referrer: referrerStatus };
  const isOf = (side: 'referred' | 'referrer'): boolean => sides !== otherOf(side);
  return [
    ...(isOf('referred') ? opposite('REFERRED', referredStatus) : []),
    ...(isOf('referrer') ? opposite('REFERRER', referrerStatus) : []),
  ].map((action) => ({ referralId, action, seen }));
}

const otherOf = (side: 'referred' | 'referrer') => (side === 'referred' ? 'referrer' : 'referred');

function opposite<S extends 'REFERRED' | 'REFERRER'>(side: S, status: SideStatus) {
  if (status === 'PENDING') return [];
  return [status === 'APPROVED' ? (`${side}_DENIED` as const) : (`${side}_APPROVED` as const)];
}
