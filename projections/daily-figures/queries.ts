import { sql, type Expression } from 'kysely';
import { jsonArrayFrom, jsonBuildObject } from 'kysely/helpers/postgres';
import type { Scope } from '../../src/domain/scope.js';
import type { LiveReads } from '../../src/projecting/following/live-reads.js';
import type { CreditItemRow, DailyCountRow, DailyCreditRow } from './table.js';

/** Postgres sums up earlier days: an answer has a row for each of these and unit. */
export const DAYS_MAX = 91;
const DAY_MS = 86_400_000;

/** Clients choose units: thousands of them would delay the page for everyone. */
export const UNITS_MAX = 50;

interface Tables {
  readonly daily_counts: DailyCountRow;
  readonly daily_credit: DailyCreditRow;
  readonly credit_items: CreditItemRow;
}

/** The credit of one unit, as first spelled. Exact, also beyond 2^53. */
export interface UnitFigures {
  readonly unit: string;
  /** Credit that became available since the first day, and its redeemed part. */
  readonly issued: bigint;
  readonly redeemed: bigint;
  /** What all accounts could spend at the given time. */
  readonly outstanding: bigint;
  /** By changed day, `YYYY-MM-DD`, UTC; earlier than `DAYS_MAX` days as the day before them. */
  readonly days: readonly { readonly day: string; readonly outstanding: bigint }[];
}

export interface DailyFigures {
  readonly conversions: number;
  readonly rewardsGranted: number;
  /** The units with the most days of movements, at most `UNITS_MAX`, in order. */
  readonly units: readonly UnitFigures[];
}

type CreditOfDay = Omit<DailyCreditRow, 'tenant' | 'mode'>;

/** The credit of all accounts in one unit, day by day. */
export interface CreditOfDays {
  readonly unitKey: string;
  /** As first spelled. */
  readonly unit: string;
  readonly opening: bigint;
  readonly days: readonly MovementsOfDay[];
  /** Changes of dates within these days that no event records yet. */
  readonly due: bigint;
}

export type MovementsOfDay = Readonly<Record<(typeof AMOUNTS)[number], bigint>> & {
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string;
};

/** A day in UTC. */
export interface CountsOfDay {
  readonly day: string;
  readonly conversions: number;
  readonly rewardsGranted: number;
}

export interface AskedDays {
  /** `YYYY-MM-DD`, inclusive; empty: the first. */
  readonly from: string;
  /** Inclusive. */
  readonly to: string;
  /** In lower case; undefined: all. */
  readonly unitKey: string | undefined;
  /** Epoch milliseconds; up to here dates have passed. */
  readonly clock: number;
  readonly rowsMax: number;
}

export class DailyFigureQueries {
  constructor(private readonly reads: LiveReads<Tables>) {}

  /** @param now epoch milliseconds: a date that has passed counts, also before its event. */
  // eslint-disable-next-line max-lines-per-function -- one statement
  async upTo({ tenant, mode }: Scope, now: number): Promise<DailyFigures> {
    const found = await this.reads.first({
      name: 'daily-figures',
      prepared: true,
      values: { tenant, mode, now, before: dayOf(now, -DAYS_MAX - 1) },
      build: (rm, given, gone) =>
        rm.selectNoFrom((eb) => {
          const counts = eb
            .selectFrom('daily_counts')
            .select(({ fn }) => [
              fn.coalesce(fn.sum<number>('conversions'), sql<number>`0`).as('conversions'),
              fn.coalesce(fn.sum<number>('rewards_granted'), sql<number>`0`).as('rewardsGranted'),
            ])
            .where('tenant', '=', given.tenant)
            .where('mode', '=', given.mode);
          const mostUsed = eb
            .selectFrom('daily_credit')
            .select('unit_key')
            .where('tenant', '=', given.tenant)
            .where('mode', '=', given.mode)
            .groupBy('unit_key')
            .orderBy(({ fn }) => fn.countAll(), 'desc')
            .orderBy('unit_key')
            .limit(UNITS_MAX);
          const credit = eb
            .selectFrom('daily_credit')
            .select((row) => [
              sql<string>`greatest(${row.ref('day')}, ${given.before})`.as('day'),
              'unit_key',
              sql<string>`(array_agg(${row.ref('unit')} order by ${row.ref('day')}))[1]`.as('unit'),
            ])
            .select((row) => AMOUNTS.map((column) => sumOf(row.ref(column)).as(column)))
            .where('tenant', '=', given.tenant)
            .where('mode', '=', given.mode)
            .where('unit_key', 'in', mostUsed)
            .groupBy([sql`1`, 'unit_key'])
            .orderBy(sql`1`);
          // Of a date that no event records yet, and only of people who are not forgotten.
          const due = eb
            .selectFrom('credit_items')
            .select('unit_key')
            .select(dueAmount(given.now).as('amount'))
            .where('due_at', '<=', given.now)
            .where('tenant', '=', given.tenant)
            .where('mode', '=', given.mode)
            .where((row) => row.not(gone.is(row.ref('person'))))
            .groupBy('unit_key');
          return jsonBuildObject({
            counts: jsonArrayFrom(counts),
            credit: jsonArrayFrom(credit),
            due: jsonArrayFrom(due),
          }).as('json');
        }),
    });
    const [counts] = found?.counts ?? [];
    const due = new Map(found?.due.map(({ unit_key: key, amount }) => [key, BigInt(amount)]));
    return {
      conversions: counts?.conversions ?? 0,
      rewardsGranted: counts?.rewardsGranted ?? 0,
      units: unitsOf(found?.credit ?? [], due),
    };
  }

  /** Conversions and granted rewards of each day that has some, in order. */
  async counts(
    { tenant, mode }: Scope,
    { from, to }: Pick<AskedDays, 'from' | 'to'>,
  ): Promise<readonly CountsOfDay[]> {
    return this.reads.all({
      name: 'daily-counts',
      prepared: false,
      values: { tenant, mode, from, to },
      build: (rm, given) =>
        rm
          .selectFrom('daily_counts')
          .select((eb) =>
            jsonBuildObject({
              day: eb.ref('day'),
              conversions: eb.ref('conversions'),
              rewardsGranted: eb.ref('rewards_granted'),
            }).as('json'),
          )
          .where('tenant', '=', given.tenant)
          .where('mode', '=', given.mode)
          .where('day', '>=', given.from)
          .where('day', '<=', given.to)
          .orderBy('day'),
    });
  }

  /** Undefined: more than `rowsMax` rows. */
  async between(
    { tenant, mode }: Scope,
    { from, to, unitKey, clock, rowsMax }: AskedDays,
  ): Promise<readonly CreditOfDays[] | undefined> {
    const before = from === '' ? 0 : Date.parse(from);
    const found = await this.reads.first({
      name: 'daily-figures-between',
      prepared: false,
      values: { tenant, mode, from, to, unitKey, clock, before, limit: rowsMax + 1 },
      build: (rm, given, gone) =>
        rm.selectNoFrom((eb) => {
          const credit = eb
            .selectFrom('daily_credit')
            .select((row) => [
              sql<string>`case when ${row.ref('day')} < ${given.from} then '' else ${row.ref('day')} end`.as(
                'day',
              ),
              'unit_key',
              sql<string>`(array_agg(${row.ref('unit')} order by ${row.ref('day')}))[1]`.as('unit'),
            ])
            .select((row) => AMOUNTS.map((column) => sumOf(row.ref(column)).as(column)))
            .where('tenant', '=', given.tenant)
            .where('mode', '=', given.mode)
            .where('day', '<=', given.to)
            .where('unit_key', '=', given.unitKey ?? sql<string>`unit_key`)
            .groupBy([sql`1`, 'unit_key'])
            .orderBy('unit_key')
            .orderBy(sql`1`)
            .limit(given.limit);
          const due = eb
            .selectFrom('credit_items')
            .select('unit_key')
            .select((row) => [
              sql<boolean>`${row.ref('due_at')} < ${given.before}`.as('is_before'),
              dueAmount(given.clock).as('amount'),
            ])
            .where('due_at', '<=', given.clock)
            .where('tenant', '=', given.tenant)
            .where('mode', '=', given.mode)
            .where((row) => row.not(gone.is(row.ref('person'))))
            .where('unit_key', '=', given.unitKey ?? sql<string>`unit_key`)
            .groupBy(['unit_key', sql`2`]);
          return jsonBuildObject({
            credit: jsonArrayFrom(credit),
            due: jsonArrayFrom(due),
          }).as('json');
        }),
    });
    if (found !== undefined && found.credit.length > rowsMax) return undefined;
    return creditOfDays(found?.credit ?? [], found?.due ?? []);
  }
}

interface DueRow {
  readonly unit_key: string;
  readonly is_before: boolean;
  readonly amount: string;
}

/** Of credit whose date has passed, which no event records yet. */
const dueAmount = (clock: Expression<number>) =>
  sql<string>`sum(case when phase = 'AVAILABLE' then redeemed - assigned
    when date_expires <= ${clock} or redeems_automatically then 0
    else assigned - redeemed end)::text`;

/** @param rows in the order of their days; the one without a day is before the first. */
function creditOfDays(
  rows: readonly CreditOfDay[],
  due: readonly DueRow[],
): readonly CreditOfDays[] {
  const dueOf = (key: string, before: boolean): bigint =>
    due
      .filter((row) => row.unit_key === key && row.is_before === before)
      .reduce((sum, { amount }) => sum + BigInt(amount), 0n);
  const byUnit = new Map<string, CreditOfDay[]>();
  for (const row of rows) byUnit.set(row.unit_key, [...(byUnit.get(row.unit_key) ?? []), row]);
  for (const { unit_key: key } of due) if (!byUnit.has(key)) byUnit.set(key, []);
  return [...byUnit].map(([key, ofUnit]): CreditOfDays => {
    const before = ofUnit.filter(({ day }) => day === '');
    return {
      unitKey: key,
      unit: ofUnit[0]?.unit ?? key,
      opening: before.reduce((sum, row) => sum + grownBy(row), dueOf(key, true)),
      days: ofUnit.filter(({ day }) => day !== '').map(movementsOf),
      due: dueOf(key, false),
    };
  });
}

const movementsOf = ({ day, ...of }: CreditOfDay): MovementsOfDay => ({
  day,
  issued: BigInt(of.issued),
  redeemed: BigInt(of.redeemed),
  expired: BigInt(of.expired),
  cancelled: BigInt(of.cancelled),
  restored: BigInt(of.restored),
  imported: BigInt(of.imported),
});

/** @param rows in the order of their days. */
function unitsOf(
  rows: readonly CreditOfDay[],
  due: ReadonlyMap<string, bigint>,
): readonly UnitFigures[] {
  const byUnit = new Map<string, CreditOfDay[]>();
  for (const row of rows) {
    const ofUnit = byUnit.get(row.unit_key);
    if (ofUnit === undefined) byUnit.set(row.unit_key, [row]);
    else ofUnit.push(row);
  }
  const keys = [...new Set([...byUnit.keys(), ...due.keys()])].slice(0, UNITS_MAX);
  return keys.sort().map((key) => {
    const ofUnit = byUnit.get(key) ?? [];
    let [issued, redeemed, outstanding] = [0n, 0n, 0n];
    const days = ofUnit.map((row) => {
      issued += BigInt(row.issued);
      redeemed += BigInt(row.redeemed);
      outstanding += grownBy(row);
      return { day: row.day, outstanding };
    });
    outstanding += due.get(key) ?? 0n;
    return { unit: ofUnit[0]?.unit ?? key, issued, redeemed, outstanding, days };
  });
}

const AMOUNTS = ['issued', 'redeemed', 'expired', 'cancelled', 'restored', 'imported'] as const;

/** Of amounts beyond 2^53. */
const sumOf = (amount: Expression<string>) => sql<string>`sum(${amount}::numeric)::text`;

const dayOf = (now: number, days: number): string =>
  new Date(now + days * DAY_MS).toISOString().slice(0, 10);

const grownBy = (of: CreditOfDay): bigint => {
  const { imported, issued, redeemed, expired, cancelled, restored } = movementsOf(of);
  return imported + issued - redeemed - expired - cancelled + restored;
};
