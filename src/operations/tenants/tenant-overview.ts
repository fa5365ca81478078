import type {
  CountsOfDay,
  CreditOfDays,
  DailyFigureQueries,
  MovementsOfDay,
} from '../../../projections/daily-figures/queries.js';
import type { ReferralQueries } from '../../../projections/referrals/queries.js';
import type { UserQueries } from '../../../projections/users/queries.js';
import type { Scope } from '../../domain/scope.js';
import type { CustomerReads } from '../customers/lists/customer-lists.js';

const DAY_MS = 86_400_000;
/** A unit is any text: pages show so many. */
const UNITS_SHOWN = 6;
const ROWS_MAX = 20_000;

/** The read models of an overview. */
export interface OverviewModels {
  readonly users: Pick<UserQueries, 'list'>;
  readonly referrals: Pick<ReferralQueries, 'list'>;
  readonly days: Pick<DailyFigureQueries, 'counts' | 'between'>;
  readonly customers: CustomerReads;
}

/** A figure of events within a number of days, and of as many days before. */
export interface Compared<N extends number | bigint = number> {
  readonly value: N;
  readonly before: N;
}

/** What happened in a ledger within the last days; days are those of UTC. */
export type TenantOverview = Awaited<ReturnType<typeof tenantOverview>>;

/**
 * The figures of a ledger: of now with those at the beginning of the days, and of events within
 * the days with those of as many days before.
 * @param count number of days, today included. @param now of the ledger, epoch milliseconds.
 */
export async function tenantOverview(
  { users, referrals, days, customers }: OverviewModels,
  scope: Scope,
  { count, now }: { readonly count: number; readonly now: number },
) {
  const dayAt = (offset: number) => new Date(now + offset * DAY_MS).toISOString().slice(0, 10);
  const shown = Array.from({ length: count }, (_, at) => dayAt(at - count + 1));
  const [start = dayAt(0)] = shown;
  const asked = { from: dayAt(1 - 2 * count), to: dayAt(0) };
  const since = { from: Date.parse(start) };
  const none = { limit: 0, offset: 0 };
  const first = { descending: true, limit: 1, offset: 0 } as const;
  const [people, newPeople, all, newReferrals, counts, credit] = await Promise.all([
    users.list(scope, none),
    customers.users.page(scope, { filters: since, sort: 'created', ...first }),
    referrals.list(scope, {}, none),
    customers.referrals.page(scope, { filters: since, sort: 'started', ...first }),
    days.counts(scope, asked),
    days.between(scope, { ...asked, unitKey: undefined, clock: now, rowsMax: ROWS_MAX }),
  ]);
  const countsBy = new Map(counts.map((row) => [row.day, row]));
  return {
    days: shown,
    users: { value: people.totalCount, before: people.totalCount - newPeople.total },
    referrals: { value: all.totalCount, before: all.totalCount - newReferrals.total },
    conversions: counted(counts, 'conversions', start),
    rewardsGranted: counted(counts, 'rewardsGranted', start),
    conversionsByDay: shown.map((day) => countsBy.get(day)?.conversions ?? 0),
    rewardsByDay: shown.map((day) => countsBy.get(day)?.rewardsGranted ?? 0),
    units: mostUsed(credit ?? []).map((unit) => unitOverview(unit, shown)),
  };
}

function counted(
  rows: readonly CountsOfDay[],
  of: 'conversions' | 'rewardsGranted',
  start: string,
): Compared {
  const sum = (isWithin: boolean) =>
    rows.filter(({ day }) => day >= start === isWithin).reduce((all, row) => all + row[of], 0);
  return { value: sum(true), before: sum(false) };
}

/** The units that moved on most days, in alphabetical order. */
const mostUsed = (units: readonly CreditOfDays[]): readonly CreditOfDays[] =>
  [...units]
    .sort((a, b) => b.days.length - a.days.length)
    .slice(0, UNITS_SHOWN)
    .sort((a, b) => (a.unitKey < b.unitKey ? -1 : 1));

const grownBy = ({ imported, issued, redeemed, expired, cancelled, restored }: MovementsOfDay) =>
  imported + issued + restored - redeemed - expired - cancelled;

/** The credit of one unit; amounts in the unit, days as those of the overview. */
function unitOverview({ unit, opening, days, due }: CreditOfDays, shown: readonly string[]) {
  const [start = ''] = shown;
  const sum = (of: (row: MovementsOfDay) => bigint, isWithin: boolean) =>
    days.filter(({ day }) => day >= start === isWithin).reduce((all, row) => all + of(row), 0n);
  const byDay = new Map(days.map((row) => [row.day, row]));
  const atStart = opening + sum(grownBy, false);
  let outstanding = atStart;
  const outstandingByDay = shown.map((day) => {
    const row = byDay.get(day);
    return (outstanding += row === undefined ? 0n : grownBy(row));
  });
  return {
    unit,
    redeemed: {
      value: sum(({ redeemed }) => redeemed, true),
      before: sum(({ redeemed }) => redeemed, false),
    },
    /** Now, and at the beginning of the days. */
    outstanding: { value: outstanding + due, before: atStart },
    redeemedByDay: shown.map((day) => byDay.get(day)?.redeemed ?? 0n),
    /** At the end of each day. */
    outstandingByDay,
  };
}
