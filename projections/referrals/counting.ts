import type { SideStatus } from '../../src/domain/program.js';
import type { RowKey, Rows } from '../../src/projecting/projector.js';
import { COUNTED_BY, referralCounts, type CountedBy, type ReferralRow } from './table.js';

/** Counters of referrals by party and by the statuses of both sides. */

type Counted = Pick<
  ReferralRow,
  | 'tenant'
  | 'mode'
  | 'referrer_account_ref'
  | 'referrer_user_id'
  | 'referred_user_id'
  | 'referred_status'
  | 'referrer_status'
>;

/** Undefined: the person is forgotten. */
export function partyOf(
  countedBy: CountedBy,
  {
    referrerAccountRef,
    referrerUserId,
    referredUserId,
  }: {
    referrerAccountRef?: string;
    referrerUserId?: string | null;
    referredUserId?: string | null;
  },
): string | undefined {
  switch (countedBy) {
    case 'all':
      return '';
    case 'referrer-account':
      return referrerAccountRef;
    case 'referrer-user':
      return referrerUserId ?? undefined;
    case 'referrer-account-user':
      return referrerAccountRef === undefined || referrerUserId == null
        ? undefined
        : `${referrerAccountRef}/${referrerUserId}`;
    case 'referred-user':
      return referredUserId ?? undefined;
  }
}

export function countKeys(
  referral: Omit<Counted, 'referred_status' | 'referrer_status'>,
): RowKey[] {
  return partiesOf(referral).map(([countedBy, party]) =>
    referralCounts.key(referral.tenant, referral.mode, countedBy, party),
  );
}

/** Moves a referral from its old counters (undefined: none) to its new ones, except common ones. */
export function recount(rows: Rows, before: Counted | undefined, after: Counted): void {
  const { left, entered } = moves(before, after);
  for (const place of left) add(rows, after, place, -1);
  for (const place of entered) add(rows, after, place, 1);
}

export function recountKeys(before: Counted, after: Counted): RowKey[] {
  const { left, entered } = moves(before, after);
  return [...left, ...entered].map(({ countedBy, party }) =>
    referralCounts.key(after.tenant, after.mode, countedBy, party),
  );
}

function moves(
  before: Counted | undefined,
  after: Counted,
): { readonly left: readonly Place[]; readonly entered: readonly Place[] } {
  const [from, to] = [before ? placesOf(before) : [], placesOf(after)];
  return {
    left: from.filter((place) => !to.some((other) => isSame(place, other))),
    entered: to.filter((place) => !from.some((other) => isSame(place, other))),
  };
}

export const statusKey = (referred: SideStatus, referrer: SideStatus): string =>
  `${referred} ${referrer}`;

interface Place {
  readonly countedBy: CountedBy;
  readonly party: string;
  readonly status: string;
}

const isSame = (a: Place, b: Place): boolean =>
  a.countedBy === b.countedBy && a.party === b.party && a.status === b.status;

function placesOf(referral: Counted): Place[] {
  const status = statusKey(referral.referred_status, referral.referrer_status);
  return partiesOf(referral).map(([countedBy, party]) => ({ countedBy, party, status }));
}

function add(
  rows: Rows,
  { tenant, mode }: Counted,
  { countedBy, party, status }: Place,
  step: 1 | -1,
): void {
  const counted = referralCounts.get(rows, tenant, mode, countedBy, party)?.referrals ?? {};
  const { [status]: number = 0, ...others } = counted;
  const left = number + step > 0 ? { ...others, [status]: number + step } : others;
  if (Object.keys(left).length === 0) referralCounts.delete(rows, tenant, mode, countedBy, party);
  else referralCounts.put(rows, { tenant, mode, counted_by: countedBy, party, referrals: left });
}

function partiesOf(
  referral: Pick<Counted, 'referrer_account_ref' | 'referrer_user_id' | 'referred_user_id'>,
): [CountedBy, string][] {
  const parties = {
    referrerAccountRef: referral.referrer_account_ref,
    referrerUserId: referral.referrer_user_id,
    referredUserId: referral.referred_user_id,
  };
  return COUNTED_BY.flatMap((countedBy): [CountedBy, string][] => {
    const party = partyOf(countedBy, parties);
    return party === undefined ? [] : [[countedBy, party]];
  });
}
