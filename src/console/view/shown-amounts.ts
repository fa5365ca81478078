import { moneyText } from '../../domain/money.js';
import type { Scope } from '../../domain/scope.js';
import { formatOf } from '../../domain/tenant/unit-settings.js';
import type { TenantDirectory } from '../../tenants/tenant-directory.js';
import { amountText } from './templates.js';

/**
 * An amount as a tenant shows its unit: `$12.50`, `1,250 POINTS`.
 * @param currency of the reward, otherwise of its account: CENTS without a format of its own have
 * the currency of whom they belong to. Null: none, or several.
 */
export type ShownAmount = (
  value: number | bigint | null,
  unit: string | null,
  currency: string | null,
) => string;

/** How a tenant shows amounts. */
export async function shownAmounts(
  tenants: Pick<TenantDirectory, 'find'>,
  { tenant }: Pick<Scope, 'tenant'>,
): Promise<ShownAmount> {
  const formats = (await tenants.find(tenant))?.units.formats ?? [];
  return (value, unit, currency) => {
    const format = unit === null ? undefined : formatOf(formats, unit, currency);
    return amountText(value, unit, () => format && moneyText(format));
  };
}

interface Amount {
  readonly unit: string;
  readonly currency: string | null;
  readonly value: number | bigint;
}

/**
 * The sum of each unit: money where all amounts have one currency, otherwise a number with the unit
 * and `parts`, a line for each currency.
 */
export function sumsByUnit(amounts: readonly Amount[], shown: ShownAmount) {
  const units = new Map<string, { unit: string; currencies: Map<string | null, bigint> }>();
  for (const { unit, currency, value } of amounts) {
    const key = unit.toLowerCase();
    const sums = units.get(key) ?? { unit, currencies: new Map<string | null, bigint>() };
    sums.currencies.set(currency, (sums.currencies.get(currency) ?? 0n) + BigInt(value));
    units.set(key, sums);
  }
  return [...units.values()].map(({ unit, currencies }) => {
    const value = [...currencies.values()].reduce((sum, one) => sum + one, 0n);
    const isOne = new Set([...currencies.keys()].map((one) => shown(0, unit, one))).size === 1;
    const [currency = null] = currencies.keys();
    return {
      unit,
      value,
      text: isOne ? shown(value, unit, currency) : shown(value, unit, null),
      parts: isOne ? [] : [...currencies].map(([one, sum]) => shown(sum, unit, one)),
    };
  });
}
