import type { MoneyFormat } from '../money.js';
import { unitKey } from '../units.js';

/** How people see a unit. */
export type UnitFormat = MoneyFormat & { readonly unit: string };

/** Integer that one operator of support may grant to an account in 24 hours. */
export interface GrantLimit {
  readonly unit: string;
  readonly amount: number;
}

/** Each list is sorted by unit and has each unit once, compared without case. */
export interface UnitSettings {
  readonly formats: readonly UnitFormat[];
  readonly grantLimits: readonly GrantLimit[];
}

/** All settings after the change. */
export interface UnitSettingsChanged extends UnitSettings {
  readonly type: 'UnitSettingsChanged';
  readonly at: number;
}

/** Missing members keep their value. */
export interface ChangeUnitSettings extends Partial<UnitSettings> {
  readonly type: 'ChangeUnitSettings';
  readonly now: number;
}

export const NO_UNIT_SETTINGS: UnitSettings = { formats: [], grantLimits: [] };

export function changeUnitSettings(
  before: UnitSettings,
  { formats = before.formats, grantLimits = before.grantLimits, now: at }: ChangeUnitSettings,
): readonly UnitSettingsChanged[] {
  const after = { formats, grantLimits };
  return JSON.stringify(after) === JSON.stringify(before)
    ? []
    : [{ type: 'UnitSettingsChanged', at, ...after }];
}

/** 100.00 of a unit with a currency, otherwise 10,000. */
const DEFAULT_GRANT_LIMIT = 10_000;

/** What one operator of support may grant to an account in 24 hours, in the unit. */
export function grantLimitOf({ formats, grantLimits }: UnitSettings, unit: string): number {
  const own = grantLimits.find((limit) => unitKey(limit.unit) === unitKey(unit));
  const format = formats.find((one) => unitKey(one.unit) === unitKey(unit));
  return own?.amount ?? (format ? 100 * 10 ** format.digits : DEFAULT_GRANT_LIMIT);
}

export const CENTS = 'CENTS';
export const CENTS_DIGITS = 2;

/**
 * The unit's format for people. CENTS without its own format has the currency of the credit.
 * Undefined: a number with the unit.
 * @param currency of the reward, else of the account.
 */
export function formatOf(
  formats: readonly UnitFormat[],
  unit: string,
  currency: string | null,
): MoneyFormat | undefined {
  const own = formats.find((format) => unitKey(format.unit) === unitKey(unit));
  if (own !== undefined) return own;
  return unitKey(unit) === unitKey(CENTS) && currency !== null
    ? { currency, digits: CENTS_DIGITS }
    : undefined;
}

/** Its own formats and that of CENTS, sorted by unit; null: the currency of the credit. */
export function shownFormats(
  formats: readonly UnitFormat[],
): readonly { readonly unit: string; readonly currency: string | null; readonly digits: number }[] {
  const own = formats.map(({ unit, currency, digits }) => ({ unit, currency, digits }));
  return own.some(({ unit }) => unit === CENTS)
    ? own
    : sortedByUnit([...own, { unit: CENTS, currency: null, digits: CENTS_DIGITS }]);
}

export const sortedByUnit = <T extends { readonly unit: string }>(list: readonly T[]): T[] =>
  [...list].sort((a, b) => (a.unit < b.unit ? -1 : a.unit > b.unit ? 1 : 0));
