import type { Statement, StatementLine } from '../../bookkeeping/statement.js';
import type { Printer, ShownColumn } from '../registry/operation.js';
import type { Reconciliation, ReconciliationDifference } from './ledger-reconciliation.js';
import type { Difference } from './replay/comparison.js';
import {
  MOVEMENTS,
  signedMovement,
  type TenantStatement,
  type TenantStatementLine,
} from './tenant-statement.js';

/** The ledger's figures as tables for people. */

type Line = Partial<Omit<StatementLine, 'type'>> & { readonly type: string };

function correctionText({ reason, proposedBy, approvedBy }: Line): string | undefined {
  if (proposedBy === undefined) return undefined;
  const named = (name: string | null | undefined): string => name ?? 'a forgotten person';
  const people = `proposed by ${named(proposedBy)}, approved by ${named(approvedBy)}`;
  return `${reason ?? 'a forgotten reason'} (${people})`;
}

/** @param only the requested unit; without it all of them. */
export function printStatement(
  { account, position, units, rewards = [], digest }: Statement,
  { line, table }: Printer,
  { unit: only }: { readonly unit?: string | undefined },
): void {
  line(`account ${account}, position ${position ?? 'none'}`);
  if (units.length === 0) line(noCredit(only));
  for (const { unit, opening, closing, lines } of units)
    table<Line>(
      [
        [unit, 'type'],
        ['recorded', 'recordedAt'],
        ['effective', 'effectiveAt'],
        ['who', 'actor'],
        ['reward', 'rewardId'],
        ['amount', 'amount', 'amount'],
        ['balance', 'balance', 'amount'],
        ['event', 'eventId'],
        ['correction', correctionText],
      ],
      [
        { type: 'opening', balance: opening },
        ...lines,
        { type: 'closing', balance: closing },
        {
          type: 'total',
          amount: lines.reduce((sum, { amount }) => sum + amount, 0),
          balance: closing,
        },
      ],
      { unit, account },
    );
  if (rewards.length > 0)
    table(
      [
        ['paid by the payment provider', 'paidAt'],
        ['reward', 'rewardId'],
        ['external reference', 'externalReference'],
      ],
      rewards,
    );
  line(`digest ${digest}`);
}

type DayLine = TenantStatementLine | { readonly day: string; readonly balance: number };

const MOVEMENT_COLUMNS = MOVEMENTS.map((movement): ShownColumn<DayLine> => [
  movement,
  (line) => ('issued' in line ? signedMovement(line, movement) : undefined),
  'amount',
]);

const totalOf = (lines: readonly TenantStatementLine[], balance: number): TenantStatementLine =>
  lines.reduce(
    (total, line) => ({
      ...total,
      ...Object.fromEntries(MOVEMENTS.map((one) => [one, total[one] + line[one]])),
    }),
    { day: 'total', issued: 0, redeemed: 0, expired: 0, cancelled: 0, restored: 0, balance },
  );

export function printTenantStatement(
  { tenant, from, to, units, tooLarge, digest }: TenantStatement,
  { line, table, note }: Printer,
  { unit: only }: { readonly unit?: string | undefined },
): void {
  line(`${tenant}, ${from ?? 'since the first event'} to ${to}`);
  if (units.length === 0) line(noCredit(only));
  for (const { unit, opening, closing, lines, due } of units)
    table<DayLine>(
      [[unit, 'day'], ...MOVEMENT_COLUMNS, ['balance', 'balance', 'amount']],
      [
        { day: 'opening', balance: opening },
        ...lines,
        ...(due === 0 ? [] : [{ day: 'due', balance: closing }]),
        { day: 'closing', balance: closing },
        totalOf(lines, closing),
      ],
      { unit },
    );
  if (tooLarge.length > 0) note(`sums beyond 2^53, not shown: ${tooLarge.join(', ')}`);
  line(`digest ${digest}`);
}

const noCredit = (only: string | undefined): string =>
  only === undefined ? 'no credit' : `no credit in ${only}; without --unit all units are shown`;

type RolledForward = Reconciliation['units'][number];

const ROLL_FORWARD: readonly ShownColumn<RolledForward>[] = [
  'unit',
  ['opening', 'opening', 'amount'],
  ...MOVEMENTS.map((movement): ShownColumn<RolledForward> => [
    movement,
    (unit) => signedMovement(unit, movement),
    'amount',
  ]),
  ...(['closing', 'scheduled', 'debits', 'credits'] as const).map(
    (sum): ShownColumn<RolledForward> => [sum, sum, 'amount'],
  ),
];

const DIFFERENCES: readonly ShownColumn<ReconciliationDifference>[] = [
  ['difference', 'kind'],
  'account',
  'unit',
  ['ledger', ({ ledger }) => ledger ?? 'none', 'amount'],
  ['against', ({ against }) => against ?? 'none', 'amount'],
];

export function printReconciliation(
  { units, differences }: Reconciliation,
  { line, table }: Printer,
): void {
  table(ROLL_FORWARD, units);
  if (differences.length > 0) table(DIFFERENCES, differences);
  else line('OK');
}

/** Items of a list that a cell names. */
const NAMED_MAX = 5;

/** The first items of a list, a line each, and the number of the others. */
export function firstOf(items: readonly string[]): string {
  const more = items.length - NAMED_MAX;
  return [...items.slice(0, NAMED_MAX), ...(more > 0 ? [`and ${more} more`] : [])].join('\n');
}

export const REPLAY_DIFFERENCES: readonly ShownColumn<Difference>[] = [
  'account',
  ['read model', 'readModel'],
  'field',
  ['ledger', ({ ledger }) => JSON.stringify(ledger)],
  ['live', ({ live }) => JSON.stringify(live)],
  ['events', ({ eventIds }) => firstOf(eventIds)],
];
