import type { OperatorRole } from '../../config/operators.js';
import {
  ALARM_KINDS,
  type AlarmKind,
  type TenantAlarms,
} from '../../operations/tenants/tenant-alarms.js';
import type { TenantCall } from '../console-call.js';
import { canOpen, hasRole } from './navigation.js';

interface AlarmWords {
  readonly one: string;
  readonly many: string;
  /** The page that ends it. */
  readonly section: string;
  /** The one that can end it, where further ones can open the page. */
  readonly role?: OperatorRole;
}

const WORDS: Readonly<Record<AlarmKind, AlarmWords>> = {
  disabledEndpoints: {
    one: 'webhook endpoint is disabled',
    many: 'webhook endpoints are disabled',
    section: '/webhooks',
  },
  failingEndpoints: {
    one: 'webhook endpoint is failing',
    many: 'webhook endpoints are failing',
    section: '/webhooks',
  },
  parkedEvents: {
    one: 'account is parked: one of its events could not be applied',
    many: 'accounts are parked: events could not be applied',
    section: '/console/projections',
  },
  parkedRewards: {
    one: 'reward was refused by the payment provider',
    many: 'rewards were refused by the payment provider',
    section: '/payments',
  },
  waitingCorrections: {
    one: 'correction waits for approval',
    many: 'corrections wait for approval',
    section: '/corrections',
    role: 'finance',
  },
  waitingReferrals: {
    one: 'referral waits for moderation',
    many: 'referrals wait for moderation',
    section: '/moderation',
  },
  staleReadModels: {
    one: 'read model is more than a minute late',
    many: 'read models are more than a minute late',
    section: '/console/projections',
  },
};

/** The alarms of a tenant in words, each with a link for the roles that can end it. */
export function alarmViews(
  alarms: TenantAlarms,
  { operator, tenantPath }: Pick<TenantCall, 'operator' | 'tenantPath'>,
) {
  return ALARM_KINDS.filter((kind) => alarms[kind] > 0).map((kind) => {
    const { one, many, section, role } = WORDS[kind];
    const path = section.startsWith('/console') ? section : tenantPath + section;
    const mayEnd = canOpen(operator, section) && (!role || hasRole(operator, [role]));
    return {
      kind,
      count: alarms[kind],
      words: alarms[kind] === 1 ? one : many,
      path: mayEnd ? path : null,
    };
  });
}
