import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import type { Profile } from '../../../src/domain/account/account.events.js';
import type { ExportFilters, ExportType } from '../../../src/exports/export-order.js';
import type { Scope } from '../../../src/domain/scope.js';

/**
 * What files should contain, from whole rows of the read models, which test/projectors compares
 * with events: cells, filters and order share nothing with what writes exports.
 */

type Value = string | number | null;

interface Row {
  readonly created: number;
  readonly changed: number;
  readonly programId: string | null;
  /** Breaks ties of `created`. */
  readonly tie: string;
  readonly cells: Readonly<Record<string, Value>>;
}

interface Stored {
  readonly [column: string]: Value;
}
type StoredUser = Stored & {
  readonly profile: Profile;
  readonly primary_codes: Readonly<Record<string, string>>;
};
interface StoredReward {
  readonly id: string;
  readonly at: number;
}
type StoredReferral = Stored & {
  readonly referral_id: string;
  readonly rewards: Readonly<Record<string, StoredReward>> | null;
};

const SELECTS: Readonly<Record<string, string>> = {
  USER: `select r.*, a.account_id from rm_users_1.users r left join rm_users_1.user_accounts a using (account_ref)`,
  REFERRAL: `select r.*, (
      select json_object_agg(side, json_build_object('id', reward_id, 'at', date_granted))
      from rm_referrals_1.referral_rewards w where w.referral_id = r.referral_id
    ) as rewards from rm_referrals_1.referrals r`,
  REWARD: 'select r.* from rm_rewards_1.rewards r',
  REWARD_BALANCE: 'select r.* from rm_reward_balances_1.reward_balances r',
};

/** Oldest first; the custom fields of these users are the last columns. */
export async function expectedRows(
  pool: Pool,
  type: ExportType,
  { scope, publicUrl }: { readonly scope: Scope; readonly publicUrl: string },
  filters: ExportFilters = {},
): Promise<readonly Row['cells'][]> {
  const name = type.replace('USER_', '');
  const { rows } = await pool.query<{ row: Stored }>(
    `select to_json(s) as row from (${SELECTS[name]} where r.tenant = $1 and r.mode = $2) s`,
    [scope.tenant, scope.mode],
  );
  const rowOf: Readonly<Record<string, (stored: never) => Row>> = {
    USER: (stored: StoredUser) => userRow(stored, `${publicUrl}s/${scope.tenant}/`),
    REFERRAL: referralRow,
    REWARD: rewardRow,
    REWARD_BALANCE: (stored: Stored) => balanceRow(stored, type === 'REWARD_BALANCE'),
  };
  return rows
    .map(({ row }) => rowOf[name]!(row as never))
    .filter((row) => matches(type, row, filters))
    .sort((a, b) => a.created - b.created || (a.tie < b.tie ? -1 : 1))
    .map(({ cells }) => cells);
}

/** @param columns by the name of the cell. */
const cellsOf = (stored: Stored, columns: Readonly<Record<string, string>>): Row['cells'] =>
  Object.fromEntries(Object.entries(columns).map(([name, of]) => [name, stored[of] ?? null]));

const OWNER = { userId: 'user_id', accountId: 'account_id' };

function userRow(stored: StoredUser, shareUrl: string): Row {
  const { profile, primary_codes: codes } = stored;
  const { email } = profile;
  const code = codes['default'] ?? null;
  const link = (medium: string) => code && `${shareUrl}${code}?m=${medium}&e=UNKNOWN`;
  const fixed: Record<string, Value> = {
    id: profile.id,
    accountId: stored['account_id'] ?? null,
    email,
    firstName: profile.firstName,
    lastName: profile.lastName,
    imageUrl: profile.imageUrl,
    firstSeenIP: profile.firstSeenIP,
    lastSeenIP: profile.lastSeenIP,
    dateCreated: Number(stored['date_created']),
    emailHash: email && createHash('md5').update(email.trim().toLowerCase()).digest('hex'),
    referralSource: profile.referralSource,
    locale: profile.locale,
    shareLink: link('DIRECT'),
    facebookShareLink: link('FACEBOOK'),
    twitterShareLink: link('TWITTER'),
    emailShareLink: link('EMAIL'),
    linkedinShareLink: link('LINKEDIN'),
    referralCode: code,
    segments: profile.segments.join(' '),
  };
  const custom = Object.entries(profile.customFields).map(([name, value]) => [
    Object.hasOwn(fixed, name) ? `customFields.${name}` : name,
    typeof value === 'boolean' ? String(value) : value,
  ]);
  return {
    created: Number(stored['date_created']),
    changed: Number(stored['date_changed']),
    programId: null,
    tie: String(stored['person']),
    cells: { ...fixed, ...(Object.fromEntries(custom) as Record<string, Value>) },
  };
}

function referralRow(stored: StoredReferral): Row {
  const { rewards } = stored;
  const side = (name: string) => ({
    ...cellsOf(stored, {
      [`${name}User`]: `${name}_user_id`,
      [`${name}Account`]: `${name}_account_id`,
    }),
    [`${name}Reward`]: rewards?.[name]?.id ?? null,
    ...cellsOf(stored, { [`${name}ModerationStatus`]: `${name}_status` }),
  });
  const granted = Object.values(rewards ?? {}).map(({ at }) => at);
  return {
    created: Number(stored['date_started']),
    changed: Math.max(Number(stored['date_changed']), ...granted),
    programId: stored['program_id'] as string,
    tie: stored.referral_id,
    cells: {
      ...cellsOf(stored, { id: 'referral_id', programId: 'program_id' }),
      ...side('referred'),
      ...side('referrer'),
      ...cellsOf(stored, {
        dateReferralStarted: 'date_started',
        dateConverted: 'date_paid',
        dateReferralPaid: 'date_paid',
        dateReferralEnded: 'date_ended',
        dateModerated: 'date_moderated',
      }),
    },
  };
}

const rewardRow = (stored: Stored): Row => ({
  created: Number(stored['date_given']),
  changed: Number(stored['date_changed']),
  programId: stored['program_id'] as string | null,
  tie: String(stored['reward_id']),
  cells: {
    ...cellsOf(stored, { id: 'reward_id', type: 'type', ...OWNER, unit: 'unit' }),
    amount: stored['assigned_credit'] ?? stored['discount_percent'] ?? stored['amount'] ?? null,
    ...cellsOf(stored, {
      rewardSource: 'source',
      dateGiven: 'date_given',
      dateExpires: 'date_expires',
      dateCancelled: 'date_cancelled',
      redeemedCredit: 'redeemed_credit',
    }),
    availableCredit: stored['type'] === 'CREDIT' ? availableOf(stored) : null,
    ...cellsOf(stored, {
      currency: 'currency',
      name: 'name',
      programId: 'program_id',
      dateScheduledFor: 'date_scheduled_for',
    }),
  },
});

function availableOf(stored: Stored): number {
  const now = Date.now();
  const isSpendable =
    stored['date_cancelled'] === null &&
    String(stored['redeems_automatically']) === 'false' &&
    Number(stored['date_scheduled_for'] ?? -Infinity) <= now &&
    Number(stored['date_expires'] ?? Infinity) > now;
  return isSpendable ? Number(stored['assigned_credit']) - Number(stored['redeemed_credit']) : 0;
}

const AVAILABLE: Readonly<Record<string, string>> = {
  CREDIT: 'available_credit',
  PCT_DISCOUNT: 'discount_percent',
  FUELTANK: 'fuel_tank_codes',
};

const balanceRow = (stored: Stored, hasPending: boolean): Row => ({
  created: Number(stored['date_created']),
  changed: Number(stored['date_created']),
  programId: null,
  tie: ['account_ref', 'person', 'type', 'unit_key'].map((name) => stored[name]).join('\u0000'),
  cells: cellsOf(stored, {
    ...OWNER,
    type: 'type',
    amount: AVAILABLE[String(stored['type'])] ?? '',
    unit: 'unit',
    ...(hasPending ? { pending: stored['type'] === 'CREDIT' ? 'pending_credit' : '' } : {}),
  }),
});

function matches(type: ExportType, row: Row, filters: ExportFilters): boolean {
  if (type === 'REWARD_BALANCE' || type === 'USER_REWARD_BALANCE') return true;
  const isIn = (time: number, since = -Infinity, before = Infinity): boolean =>
    time >= since && time < before;
  const { createdOrUpdatedSince: since, createdOrUpdatedBefore: before } = filters;
  return (
    isIn(row.created, filters.createdSince, filters.createdBefore) &&
    isIn(row.changed, filters.updatedSince, filters.updatedBefore) &&
    (isIn(row.created, since, before) || isIn(row.changed, since, before)) &&
    (type === 'USER' || filters.programId === undefined || row.programId === filters.programId)
  );
}
