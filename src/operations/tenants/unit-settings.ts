import * as z from 'zod';
import { CURRENCIES, isCurrency } from '../../domain/currencies.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import {
  CENTS,
  shownFormats,
  sortedByUnit,
  type UnitFormat,
} from '../../domain/tenant/unit-settings.js';
import type { MoneyFormat } from '../../domain/money.js';
import { isUnit, trimmedUnit, UNIT_LENGTH_MAX, unitKey } from '../../domain/units.js';
import { trimmedPattern } from '../../foundation/outside-text.js';
import { timeNow } from '../../foundation/world.js';
import type { Core } from '../../stores/core.js';
import type { Done } from '../audited.js';
import { decided } from '../outcome.js';

/** The settings of a tenant's units, as operators name them. */

/** Of one unit; null: as without a setting. */
export interface UnitChange<T> {
  readonly unit: string;
  readonly value: T | null;
}

const DIGITS_MAX = 4;
const UNIT_RULE = `takes 1 to ${UNIT_LENGTH_MAX} characters without control characters`;

const unitIn = (text: string): string | undefined => {
  const unit = trimmedUnit(text);
  if (!isUnit(unit)) return undefined;
  return unitKey(unit) === unitKey(CENTS) ? CENTS : unit;
};

/** Words `unit=value`, or `unit=none`. @param form of such a word, for people. */
const wordsPerUnit = <T>(form: string, valueIn: (text: string) => T | undefined) =>
  z
    .array(
      z.string().transform((word, context): UnitChange<T> => {
        const [, name = '', text = ''] = /^(.+)=([^=]*)$/s.exec(word) ?? [];
        const [unit, value] = [unitIn(name), text === 'none' ? null : valueIn(text)];
        if (unit !== undefined && value !== undefined) return { unit, value };
        context.addIssue(`takes ${form}, or unit=none, not ${word}`);
        return z.NEVER;
      }),
    )
    .refine(
      (changes) => new Set(changes.map(({ unit }) => unitKey(unit))).size === changes.length,
      'names a unit twice',
    );

export const formatWords = wordsPerUnit(
  `unit=currency:digits with a currency of ISO 4217 and 0 to ${DIGITS_MAX} digits`,
  (text): MoneyFormat | undefined => {
    const [, currency = '', digits] = /^(\w+):(\d)$/.exec(text) ?? [];
    return isCurrency(currency) && Number(digits) <= DIGITS_MAX
      ? { currency, digits: Number(digits) }
      : undefined;
  },
);

export const grantLimitWords = wordsPerUnit('unit=n with a whole number', (text) =>
  /^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text))
    ? { amount: Number(text) }
    : undefined,
);

/**
 * All formats of a tenant, as `tenant units` shows them; without a currency a unit has none. Of a
 * unit that is named twice the last one counts.
 */
export const formatList = z
  .array(
    z.strictObject({
      unit: z
        .string()
        .refine((unit) => unitIn(unit) !== undefined, UNIT_RULE)
        .meta({ pattern: trimmedPattern(UNIT_LENGTH_MAX) }),
      currency: z.enum(CURRENCIES, 'takes a currency of ISO 4217').nullable(),
      digits: z.int().min(0).max(DIGITS_MAX),
    }),
  )
  .transform((list): readonly UnitChange<MoneyFormat>[] => {
    const changes = list.map(({ unit: name, currency, digits }) => {
      const unit = unitIn(name) ?? name;
      return { unit, value: currency === null ? null : { currency, digits } };
    });
    return [...new Map(changes.map((change) => [unitKey(change.unit), change])).values()];
  });

/** The list with the changes, sorted by unit. */
export function changedUnits<T extends { readonly unit: string }>(
  before: readonly T[],
  changes: readonly UnitChange<Omit<T, 'unit'>>[],
): readonly T[] {
  const changed = new Set(changes.map(({ unit }) => unitKey(unit)));
  return sortedByUnit([
    ...before.filter(({ unit }) => !changed.has(unitKey(unit))),
    ...changes.flatMap(({ unit, value }) => (value === null ? [] : [{ unit, ...value } as T])),
  ]);
}

/** Replaces the formats of a tenant. @returns those of the units that people see in one. */
export async function changeFormats(
  core: Pick<Core, 'tenantCommands'>,
  { alias }: OpenTenant,
  formats: readonly UnitFormat[],
): Promise<Done<ReturnType<typeof shownFormats>>> {
  const command = { type: 'ChangeUnitSettings', formats, now: timeNow() } as const;
  const changed = decided(await core.tenantCommands.execute(alias, command));
  const words = formats.map(({ unit, currency, digits }) => `${unit}=${currency}:${digits}`);
  const parameters = { formats: words.join(', ') };
  const completed = 'the formats of units are changed';
  return { result: shownFormats(changed.units.formats), parameters, completed };
}
