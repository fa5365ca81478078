import * as z from 'zod';
import { isCurrency } from '../../domain/currencies.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import {
  CENTS,
  UNITS_MAX,
  shownFormats,
  sortedByUnit,
  type UnitFormat,
} from '../../domain/tenant/unit-settings.js';
import type { MoneyFormat } from '../../domain/money.js';
import { isUnit, trimmedUnit, unitKey } from '../../domain/units.js';
import { digestOf } from '../../foundation/canonical-json.js';
import { timeNow } from '../../foundation/world.js';
import type { Core } from '../../stores/core.js';
import type { Done } from '../audited.js';
import { settingsRefused, type Outcome } from '../outcome.js';
import { changedBefore, refusedSettings } from './tenant-settings.js';

/** The settings of a tenant's units, as operators name them. */

/** Of one unit; null: as without a setting. */
export interface UnitChange<T> {
  readonly unit: string;
  readonly value: T | null;
}

const DIGITS_MAX = 4;

const unitIn = (text: string): string | undefined => {
  const unit = trimmedUnit(text);
  if (!isUnit(unit)) return undefined;
  return unitKey(unit) === unitKey(CENTS) ? CENTS : unit;
};

const namesEachOnce = (changes: readonly { readonly unit: string }[]): boolean =>
  new Set(changes.map(({ unit }) => unitKey(unit))).size === changes.length;
const TWICE = 'names a unit twice';

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
    .max(UNITS_MAX, `takes at most ${UNITS_MAX} units`)
    .refine(namesEachOnce, TWICE);

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

/** All formats of a tenant, as `tenant units` shows them. */
export const formatList = z
  .array(
    z
      .strictObject({
        unit: z
          .string()
          .refine((text) => unitIn(text) !== undefined, 'must be a unit of 1 to 64 characters')
          .transform((text) => unitIn(text) ?? text),
        currency: z.string().nullable(),
        digits: z.int('must be a whole number').min(0).max(DIGITS_MAX),
      })
      .refine(
        ({ unit, currency, digits }) =>
          currency === null ? unit === CENTS && digits === 2 : isCurrency(currency),
        'the currency must be one of ISO 4217; null only for CENTS, with 2 digits',
      )
      .transform(({ unit, currency, digits }): UnitChange<MoneyFormat> => ({
        unit,
        value: currency === null ? null : { currency, digits },
      })),
  )
  .max(UNITS_MAX, `takes at most ${UNITS_MAX} units`)
  .refine(namesEachOnce, TWICE);

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

/** Changes the formats of a tenant. @param keepsOthers formats that are not named stay. */
export async function changeFormats(
  core: Pick<Core, 'tenantCommands'>,
  { alias, units: { formats: before } }: OpenTenant,
  { changes, keepsOthers }: FormatChanges,
): Promise<Outcome<Done<ReturnType<typeof shownFormats>>>> {
  const formats = changedUnits<UnitFormat>(keepsOthers ? before : [], changes);
  if (formats.length > UNITS_MAX) return settingsRefused(`formats: up to ${UNITS_MAX} units`);
  const command = { type: 'ChangeUnitSettings', formats, now: timeNow() } as const;
  const changed = await core.tenantCommands.execute(alias, command, (current) =>
    Promise.resolve(
      digestOf(current.units.formats) === digestOf(before)
        ? undefined
        : changedBefore('the formats'),
    ),
  );
  if ('refused' in changed) return refusedSettings(changed);
  const result = shownFormats(changed.units.formats);
  const set = changes.map(({ unit, value }) => `${unit}=${value ? textOf(value) : 'none'}`);
  return {
    result,
    parameters: { set: set.join(', ') },
    completed: 'the formats of units are changed',
  };
}

export interface FormatChanges {
  readonly changes: readonly UnitChange<MoneyFormat>[];
  readonly keepsOthers: boolean;
}

const textOf = ({ currency, digits }: MoneyFormat): string => `${currency}:${digits}`;
