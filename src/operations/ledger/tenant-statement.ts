import {
  DailyFigureQueries,
  type CreditOfDays,
  type MovementsOfDay,
} from '../../../projections/daily-figures/queries.js';
import type { Core } from '../../stores/core.js';
import type { Scope } from '../../domain/scope.js';
import { csvLines } from '../../exports/files/csv-lines.js';
import type { RollForward } from '../../bookkeeping/roll-forward.js';
import { digestOf } from '../../foundation/canonical-json.js';
import { LiveReads } from '../../projecting/following/live-reads.js';
import {
  LiveGenerations,
  ReadModelsIncomplete,
} from '../../projecting/generations/live-generations.js';
import type { Projector } from '../../projecting/projector.js';
import type { Done } from '../audited.js';
import { NotDone, type Outcome } from '../outcome.js';
import { DAY, DAY_MS, timeOf } from './ledger-selection.js';
import { movementsAhead } from './movements-ahead.js';

/** As typed; `from` and `to` are days, `YYYY-MM-DD`, inclusive. */
export interface TenantStatementRequest {
  readonly from?: string;
  readonly to?: string;
  readonly unit?: string;
}

/**
 * The available credit of all accounts of a tenant and mode, by days in UTC. A movement belongs to
 * the day on which it took effect. Amounts are integers in the unit.
 */
export interface TenantStatement {
  readonly tenant: string;
  readonly mode: string;
  /** Null: since the first event. */
  readonly from: string | null;
  readonly to: string;
  readonly units: readonly TenantStatementUnit[];
  /** Units with a sum beyond 2^53, which JSON cannot represent exactly. They are not in `units`. */
  readonly tooLarge: readonly string[];
  /** SHA-256 of the rest of the document in canonical JSON, hex. */
  readonly digest: string;
}

export interface TenantStatementUnit {
  readonly unit: string;
  readonly opening: number;
  readonly closing: number;
  /** Days with movements, in order. */
  readonly lines: readonly TenantStatementLine[];
  /** What dates of this period change that no event records yet. Part of the closing. */
  readonly due: number;
}

/** `balance`: at the end of the day. */
export type TenantStatementLine = Readonly<Record<Movement | 'balance', number>> & {
  readonly day: string;
};

export const MOVEMENTS = ['issued', 'redeemed', 'expired', 'cancelled', 'restored'] as const;
type Movement = (typeof MOVEMENTS)[number];

const REDUCES: ReadonlySet<Movement> = new Set(['redeemed', 'expired', 'cancelled']);

/** The amount of a movement in a table or CSV file: what reduces the credit has a minus sign. */
export const signedMovement = (line: Readonly<Record<Movement, number>>, movement: Movement) =>
  REDUCES.has(movement) && line[movement] !== 0 ? -line[movement] : line[movement];

const LINES_MAX = 10_000;

type StatementCore = Pick<Core, 'pool' | 'log' | 'codec' | 'names'>;

/**
 * `ledger tenant-statement`, from the read model `daily-figures`, so its cost does not
 * grow with the ledger.
 */
export async function statementOfTenant(
  core: StatementCore,
  scope: Scope,
  { from, to, unit }: TenantStatementRequest,
  { projectors, now = Date.now() }: { readonly projectors: readonly Projector[]; now?: number },
): Promise<Outcome<TenantStatement>> {
  const today = new Date(now).toISOString().slice(0, 10);
  const period = periodOf(from, to ?? today, now);
  if (period instanceof NotDone) return period;
  const { pool } = core;
  const reads = new LiveReads<never>(pool, new LiveGenerations(pool, projectors), 'daily-figures');
  const found = await new DailyFigureQueries(reads)
    .between(scope, {
      from: from ?? '',
      to: to ?? today,
      unitKey: unit?.toLowerCase(),
      clock: Math.min(now, period.end),
      rowsMax: LINES_MAX,
    })
    .catch((error: unknown): 'incomplete' => {
      if (error instanceof ReadModelsIncomplete) return 'incomplete';
      throw error;
    });
  if (found === 'incomplete') return new NotDone({ code: 'READ_MODELS_BEING_REBUILT' });
  if (found === undefined) return new NotDone({ code: 'STATEMENT_TOO_LONG', lines: LINES_MAX });
  const { end } = period;
  const ahead = end > now ? await movementsAhead(core, scope, { now, end }) : [];
  const upToNow = found.flatMap((one) => without(one, today, ahead));
  const exact = upToNow.filter(isExact);
  const document = {
    ...scope,
    from: from ?? null,
    to: to ?? today,
    units: exact.map(unitOf),
    tooLarge: upToNow.filter((one) => !isExact(one)).map((one) => one.unit),
  };
  return { ...document, digest: digestOf(document) };
}

/** As `statementOfTenant`, with what its audit event contains. */
export async function tenantStatementOnRecord(
  core: StatementCore,
  scope: Scope,
  request: TenantStatementRequest,
  projectors: readonly Projector[],
): Promise<Outcome<Done<TenantStatement>>> {
  const result = await statementOfTenant(core, scope, request, { projectors });
  if (result instanceof NotDone) return result;
  return { result, parameters: { ...request }, digest: result.digest };
}

function periodOf(
  from: string | undefined,
  to: string,
  now: number,
): Outcome<{ readonly end: number }> {
  for (const [argument, day] of [
    ['from', from],
    ['to', to],
  ] as const) {
    if (day !== undefined && !DAY.test(day))
      return new NotDone({ code: 'DAY_MALFORMED', argument });
    const time = timeOf(argument, day, now);
    if (time instanceof NotDone) return time;
  }
  if (from !== undefined && from > to)
    return new NotDone({ code: 'TIMES_REVERSED', argument: 'from', after: 'to' });
  return { end: Date.parse(to) + DAY_MS - 1 };
}

/** Without what entries ahead of the clock moved today; none: the unit has nothing else. */
function without(
  credit: CreditOfDays,
  today: string,
  ahead: readonly RollForward[],
): readonly CreditOfDays[] {
  const moved = ahead.find(({ unit }) => unit.toLowerCase() === credit.unitKey);
  if (moved === undefined) return [credit];
  const left = (day: MovementsOfDay, movement: Movement): bigint =>
    day[movement] - BigInt(day.day === today ? moved[movement] : 0);
  const days = credit.days
    .map((day) => ({
      day: day.day,
      issued: left(day, 'issued'),
      redeemed: left(day, 'redeemed'),
      expired: left(day, 'expired'),
      cancelled: left(day, 'cancelled'),
      restored: left(day, 'restored'),
    }))
    .filter((day) => MOVEMENTS.some((movement) => day[movement] !== 0n));
  const isEmpty = days.length === 0 && credit.opening === 0n && credit.due === 0n;
  return isEmpty ? [] : [{ ...credit, days }];
}

const grownBy = ({ issued, redeemed, expired, cancelled, restored }: MovementsOfDay): bigint =>
  issued - redeemed - expired - cancelled + restored;

/** No figure of a statement is larger than the sum of all amounts. */
function isExact({ opening, days, due }: CreditOfDays): boolean {
  const size = (amount: bigint): bigint => (amount < 0n ? -amount : amount);
  const sum = days
    .flatMap((day) => MOVEMENTS.map((movement) => day[movement]))
    .reduce((all, amount) => all + size(amount), size(opening) + size(due));
  return sum <= BigInt(Number.MAX_SAFE_INTEGER);
}

function unitOf({ unit, opening, days, due }: CreditOfDays): TenantStatementUnit {
  let balance = opening;
  const lines = days.map((day) => {
    balance += grownBy(day);
    return {
      day: day.day,
      issued: Number(day.issued),
      redeemed: Number(day.redeemed),
      expired: Number(day.expired),
      cancelled: Number(day.cancelled),
      restored: Number(day.restored),
      balance: Number(balance),
    };
  });
  return {
    unit,
    opening: Number(opening),
    closing: Number(balance + due),
    lines,
    due: Number(due),
  };
}

/** A row for the opening and the closing of each unit, and one for each day between them. */
export function tenantStatementCsv({ units }: TenantStatement): string {
  const rows = units.flatMap(({ unit, opening, closing, lines, due }) => [
    [unit, 'opening', ...MOVEMENTS.map(() => ''), opening],
    ...lines.map((line) => [
      unit,
      line.day,
      ...MOVEMENTS.map((movement) => signedMovement(line, movement)),
      line.balance,
    ]),
    ...(due === 0 ? [] : [[unit, 'due', ...MOVEMENTS.map(() => ''), closing]]),
    [unit, 'closing', ...MOVEMENTS.map(() => ''), closing],
  ]);
  return csvLines([['unit', 'day', ...MOVEMENTS, 'balance'], ...rows], '\r\n');
}
