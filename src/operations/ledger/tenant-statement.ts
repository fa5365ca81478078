import {
  DailyFigureQueries,
  type CreditOfDays,
} from '../../../projections/daily-figures/queries.js';
import type { Core } from '../../stores/core.js';
import { scopeOfMode, type Scope } from '../../domain/scope.js';
import type { RollForward } from '../../bookkeeping/roll-forward.js';
import { digestOf } from '../../foundation/canonical-json.js';
import { readFrom } from '../rebuilt-read-models.js';
import { movementsAhead } from './later-entries.js';
import { refusedTime, DAY, DAY_MS, select } from './ledger-selection.js';
import { NotDone, notDoneAbout } from '../outcome.js';

/**
 * The available credit of all accounts of a tenant and mode, by days in UTC. A movement belongs to
 * the same day as in the statement of its account. Amounts are integers in the unit.
 */
export type TenantStatement = Awaited<ReturnType<typeof statementOfTenant>>['result'];
type TenantStatementUnit = ReturnType<typeof unitOf>;
/** `balance`: at the end of the day. */
export type TenantStatementLine = TenantStatementUnit['lines'][number];

export const MOVEMENTS = [
  'issued',
  'redeemed',
  'expired',
  'cancelled',
  'restored',
  'imported',
] as const;
export type Movement = (typeof MOVEMENTS)[number];

const REDUCES: ReadonlySet<Movement> = new Set(['redeemed', 'expired', 'cancelled']);

/** The amount of a movement in a table or CSV file: what reduces the credit has a minus sign. */
export const signedMovement = (line: Readonly<Record<Movement, number>>, movement: Movement) =>
  REDUCES.has(movement) && line[movement] !== 0 ? -line[movement] : line[movement];

const LINES_MAX = 10_000;

/**
 * `ledger tenant-statement`, from the read model `daily-figures`, so its cost does not grow with
 * the ledger; with what its audit event contains.
 * @param days of both ends, `YYYY-MM-DD`, inclusive.
 */
export async function statementOfTenant(
  core: Pick<Core, 'pool' | 'log' | 'codec' | 'names' | 'tenants'>,
  scope: Scope,
  { from, to, unit }: { readonly from?: string; readonly to?: string; readonly unit?: string },
) {
  const now = await core.tenants.now(scope);
  const today = new Date(now).toISOString().slice(0, 10);
  for (const [argument, day] of Object.entries({ from, to }))
    if (day !== undefined && !DAY.test(day))
      throw refusedTime(argument, 'takes a day such as 2026-10-31');
  await select(core.log, { from, to: to ?? today }, now);
  const end = Date.parse(to ?? today) + DAY_MS - 1;
  const found = await readFrom(core, 'daily-figures', DailyFigureQueries, (days) =>
    days.between(scope, {
      from: from ?? '',
      to: to ?? today,
      unitKey: unit?.toLowerCase(),
      clock: Math.min(now, end),
      rowsMax: LINES_MAX,
    }),
  );
  if (found === undefined)
    throw new NotDone('STATEMENT_TOO_LONG', [
      `these are more than ${LINES_MAX} lines: name a unit or a shorter period`,
    ]);
  const ahead = end > now ? await movementsAhead(core, scope, { now, end }) : [];
  const upToNow = found.flatMap((one) => without(one, today, ahead));
  const exact = upToNow.filter(isExact);
  const document = {
    ...scopeOfMode(scope),
    /** Null: since the first event. */
    from: from ?? null,
    to: to ?? today,
    units: exact.map(unitOf),
    /** Units with a sum beyond 2^53, which JSON cannot represent exactly; not in `units`. */
    tooLarge: upToNow.filter((one) => !isExact(one)).map((one) => one.unit),
  };
  const digest = digestOf(document);
  return { result: { ...document, digest }, parameters: { from, to, unit }, digest };
}

/** Refused with a time or a position, which need an account. */
export const statementIsByDays = (): NotDone =>
  notDoneAbout(
    ['asOf', 'position'],
    (word) =>
      `${word('asOf')} and ${word('position')} need an account: name one, or a span of days`,
  );

/** Without what entries ahead of the clock moved today; none: the unit has nothing else. */
function without(
  credit: CreditOfDays,
  today: string,
  ahead: readonly RollForward[],
): readonly CreditOfDays[] {
  const moved = ahead.find(({ unit }) => unit.toLowerCase() === credit.unitKey);
  if (moved === undefined) return [credit];
  const days = credit.days
    .map((of) => ({
      day: of.day,
      ...each((movement) => of[movement] - BigInt(of.day === today ? moved[movement] : 0)),
    }))
    .filter((day) => MOVEMENTS.some((movement) => day[movement] !== 0n));
  const isEmpty = days.length === 0 && credit.opening === 0n && credit.due === 0n;
  return isEmpty ? [] : [{ ...credit, days }];
}

/** A figure for each movement. */
export const each = <T>(figure: (movement: Movement) => T) =>
  Object.fromEntries(MOVEMENTS.map((one) => [one, figure(one)])) as Record<Movement, T>;

/** No figure of a statement is larger than the sum of all amounts. */
function isExact({ opening, days, due }: CreditOfDays): boolean {
  const size = (amount: bigint): bigint => (amount < 0n ? -amount : amount);
  const sum = days
    .flatMap((day) => MOVEMENTS.map((movement) => day[movement]))
    .reduce((all, amount) => all + size(amount), size(opening) + size(due));
  return sum <= BigInt(Number.MAX_SAFE_INTEGER);
}

function unitOf({ unit, opening, days, due }: CreditOfDays) {
  let balance = opening;
  const lines = days.map((day) => {
    const movements = each((movement) => Number(day[movement]));
    for (const movement of MOVEMENTS) balance += BigInt(signedMovement(movements, movement));
    return { day: day.day, ...movements, balance: Number(balance) };
  });
  return {
    unit,
    opening: Number(opening),
    closing: Number(balance + due),
    /** Days with movements, in order. */
    lines,
    /** What dates of this period change that no event records yet. Part of the closing. */
    due: Number(due),
  };
}
