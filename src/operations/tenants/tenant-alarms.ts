import { accountProjectors } from '../../../projections/account-projectors.js';
import type { ReferralQueries } from '../../../projections/referrals/queries.js';
import { scopeOfMode, type Scope } from '../../domain/scope.js';
import { projectionStatus } from '../../projecting/following/projection-status.js';
import type { Core } from '../../stores/core.js';
import { listProposals } from '../ledger/ledger-proposals.js';
import { pushesOf } from '../payments/payment-commands.js';
import { showEndpoints } from '../webhooks/endpoints.js';

/** What needs a person, by kind: the number of it. */
export type TenantAlarms = Readonly<Record<AlarmKind, number>>;

export const ALARM_KINDS = [
  'disabledEndpoints',
  'failingEndpoints',
  'parkedEvents',
  'parkedRewards',
  'waitingCorrections',
  'waitingReferrals',
  'staleReadModels',
] as const;
export type AlarmKind = (typeof ALARM_KINDS)[number];

/** A read model that is further behind is stale. */
const STALE_SECONDS = 60;
const COUNTED_MAX = 200;

interface AlarmModels {
  readonly referrals: Pick<ReferralQueries, 'list'>;
}

/** @throws when the database or the log is unavailable. */
export async function tenantAlarms(
  core: Core,
  { referrals }: AlarmModels,
  scope: Scope,
): Promise<TenantAlarms> {
  const now = Date.now();
  const [endpoints, projections, parked, proposals, waiting] = await Promise.all([
    showEndpoints(core, scopeOfMode(scope)),
    projectionStatus(core.pool, core.log, accountProjectors, now),
    pushesOf(core).parked(scope, COUNTED_MAX),
    listProposals(core, scope, { state: 'waiting', limit: COUNTED_MAX, now }),
    waitingReferrals(referrals, scope),
  ]);
  const inState = (state: string) => endpoints.filter((one) => one.state === state).length;
  return {
    disabledEndpoints: inState('DISABLED'),
    failingEndpoints: inState('FAILING'),
    parkedEvents: projections.reduce((sum, { parkedStreams }) => sum + parkedStreams, 0),
    parkedRewards: parked.length,
    waitingCorrections: proposals.length,
    waitingReferrals: waiting,
    staleReadModels: projections.filter((one) => one.lagSeconds > STALE_SECONDS).length,
  };
}

/** The number of referrals with a side that waits for a decision. */
export async function waitingReferrals(
  referrals: Pick<ReferralQueries, 'list'>,
  scope: Scope,
): Promise<number> {
  const none = { limit: 0, offset: 0 };
  const [referred, referrer, both] = await Promise.all([
    referrals.list(scope, { referredStatus: 'PENDING' }, none),
    referrals.list(scope, { referrerStatus: 'PENDING' }, none),
    referrals.list(scope, { referredStatus: 'PENDING', referrerStatus: 'PENDING' }, none),
  ]);
  return referred.totalCount + referrer.totalCount - both.totalCount;
}
