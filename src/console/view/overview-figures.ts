import type { Money } from '../../operations/registry/printing.js';
import type { Compared, TenantOverview } from '../../operations/tenants/tenant-overview.js';
import type { TenantCall } from '../console-call.js';
import { hasRole } from './navigation.js';
import { amountText, numberText } from './templates.js';

interface FigureOptions {
  readonly name: string;
  readonly label: string;
  readonly unit?: string;
  readonly path?: string;
  /** It counts what happened in the range; otherwise it is a figure of now. */
  readonly isOfRange?: true;
}

/**
 * The figures of an overview, each with its change and a link to what it counts.
 * @param partsOf the outstanding credit of a unit by currency, where it has several.
 */
export function overviewFigures(
  { users, referrals, conversions, rewardsGranted, units }: TenantOverview,
  { operator, tenantPath }: Pick<TenantCall, 'operator' | 'tenantPath'>,
  money: Money,
  partsOf: (unit: string) => readonly string[],
) {
  const isStaff = hasRole(operator, ['finance', 'support']);
  const figure = (
    { value, before }: Compared<number | bigint>,
    { path, unit, ...of }: FigureOptions,
  ) => ({
    ...of,
    value,
    unit: unit ?? '',
    change: changeText(BigInt(value) - BigInt(before), unit, money),
    path: isStaff && path !== undefined ? tenantPath + path : null,
    parts: [] as readonly string[],
  });
  const negative = ({ value, before }: Compared<bigint>) => ({ value: -value, before: -before });
  return [
    figure(users, { name: 'users', label: 'Users', path: '/users' }),
    figure(referrals, { name: 'referrals', label: 'Referrals', path: '/referrals' }),
    figure(conversions, {
      name: 'conversions',
      label: 'Conversions',
      path: '/referrals?state=Converted',
      isOfRange: true,
    }),
    figure(rewardsGranted, {
      name: 'rewards',
      label: 'Rewards granted',
      path: '/rewards',
      isOfRange: true,
    }),
    ...units.flatMap(({ unit, redeemed, outstanding }) => [
      {
        ...figure(negative(redeemed), {
          name: `redeemed:${unit}`,
          label: labelOf('Redeemed', unit, money),
          unit,
          path: '/statement',
          isOfRange: true,
        }),
        // As `--json` has it: what was redeemed is a positive number there.
        exact: redeemed.value,
      },
      {
        ...figure(outstanding, {
          name: `outstanding:${unit}`,
          label: labelOf('Outstanding credit', unit, money),
          unit,
          path: '/balances',
        }),
        parts: partsOf(unit),
      },
    ]),
  ].map((one) => ({ exact: one.value, ...one }));
}

function changeText(change: bigint, unit: string | undefined, money: Money): string {
  if (change === 0n) return '±0';
  const size = change < 0n ? -change : change;
  const text = unit === undefined ? numberText(size) : amountText(size, unit, money);
  return (change < 0n ? '−' : '+') + text;
}

/** The unit is named where its amounts are no money. */
const labelOf = (label: string, unit: string, money: Money): string =>
  money(unit) === undefined ? `${label}, ${unit}` : label;

/** Lines by day: conversions and rewards, then the credit of each unit. */
export function overviewCharts(
  { days, conversionsByDay, rewardsByDay, units }: TenantOverview,
  money: Money,
) {
  const ofCredit = units.map(({ unit, redeemedByDay, outstandingByDay }) => {
    const major = majorOf(unit, money);
    return chart(`Credit, ${unit}`, major.unit, days, [
      { label: 'Outstanding', values: outstandingByDay.map(major.of), isStep: true },
      { label: 'Redeemed', values: redeemedByDay.map((amount) => major.of(-amount)) },
    ]);
  });
  return [
    chart('Conversions and rewards granted', 'a day', days, [
      { label: 'Conversions', values: conversionsByDay },
      { label: 'Rewards granted', values: rewardsByDay },
    ]),
    ...ofCredit,
  ];
}

interface Line {
  readonly label: string;
  readonly values: readonly number[];
  readonly isStep?: boolean;
}

const chart = (title: string, unit: string, days: readonly string[], lines: readonly Line[]) => ({
  title,
  unit,
  data: { days, lines },
  heads: lines.map(({ label }) => label),
  rows: days.map((day, at) => ({ day, values: lines.map(({ values }) => values[at] ?? 0) })),
});

/** Amounts of a chart: of the currency where the unit is shown as money. */
function majorOf(unit: string, money: Money) {
  const text = money(unit);
  const [one, hundredth] = [text?.(100), text?.(1)];
  const digits = hundredth?.match(/\.(\d+)/)?.[1]?.length ?? 0;
  const currency = one?.replace(/[\d.,\s]/g, '') ?? unit;
  return { unit: currency, of: (amount: bigint) => Number(amount) / 10 ** digits };
}
