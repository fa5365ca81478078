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
