import { ASSISTANT, fieldsFor, type ProgramTexts } from '../../operations/tenants/program-form.js';
import type { ProgramForecast } from '../../operations/tenants/program-forecast.js';
import type { programsOf } from '../../domain/tenant/program-document.js';
import { formatOf, type UnitFormat } from '../../domain/tenant/unit-settings.js';
import { accountPath } from '../pages/customer-columns.js';
import { amountCell, countCell, textCell } from './cells.js';
import { faultAt, type Faults } from './faults.js';
import type { ShownAmount } from './shown-amounts.js';
import { column, type TableColumn } from './table.js';
import { numberText } from './templates.js';
import { typedAmount } from './typed-amount.js';

/** The fields of the form for a program: those of the rewards that are chosen. */
export const fieldGroups = (texts: ProgramTexts, { typed, formats, amount }: ShownProgram) =>
  fieldsFor(texts).map(({ title, fields }) => ({
    title,
    fields: fields.map(({ name, label, options, isNumber = false }) => {
      const value = texts[name] ?? '';
      const credit = isCredit(name) ? creditOf(name, texts, formats) : undefined;
      return {
        name,
        label,
        value: credit === undefined ? value : typed(name) || credit.text,
        inputMode: isNumber ? (credit?.format ? 'decimal' : 'numeric') : null,
        options: options?.map(([one, words]) => ({ value: one, words })) ?? null,
        hint: credit === undefined ? null : creditHint(credit, amount),
      };
    }),
  }));

interface ShownProgram {
  /** What the form sent for a field; empty: nothing. */
  readonly typed: (name: string) => string;
  readonly formats: readonly UnitFormat[];
  readonly amount: ShownAmount;
}

const isCredit = (name: string): boolean => name.endsWith('.assignedCredit');

/** CENTS of any currency have its decimals. */
const formatIn = (formats: readonly UnitFormat[], unit: string) => formatOf(formats, unit, unit);

/** An amount of a program as its field has it: of the currency, where the unit has one. */
function creditOf(name: string, texts: ProgramTexts, formats: readonly UnitFormat[]) {
  const [value = '', unit = ''] = [texts[name], texts[name.replace('assignedCredit', 'unit')]];
  const format = formatIn(formats, unit);
  const digits = format?.digits ?? 0;
  const whole = value.padStart(digits + 1, '0');
  const isMoney = digits > 0 && /^\d{1,15}$/.test(value);
  const text = isMoney ? `${whole.slice(0, -digits)}.${whole.slice(-digits)}` : value;
  return { value, unit, format, text };
}

/** `$10.00 = 1,000 CENTS` */
function creditHint({ value, unit, format }: ReturnType<typeof creditOf>, amount: ShownAmount) {
  if (!/^\d{1,15}$/.test(value) || unit === '')
    return format ? 'An amount such as 12.50' : 'A whole number in the unit';
  const [money, exact] = [
    amount(Number(value), unit, null),
    `${numberText(Number(value))} ${unit}`,
  ];
  return money === exact ? exact : `${money} = ${exact}`;
}

/** What the fields of a form say, with amounts in their units, or what is wrong with an amount. */
export function programTexts(
  typed: ProgramTexts,
  formats: readonly UnitFormat[],
): { readonly texts: ProgramTexts } | { readonly faults: Faults } {
  const texts: Record<string, string> = { ...typed };
  for (const [name, text] of Object.entries(typed)) {
    if (!isCredit(name) || text === '') continue;
    const read = typedAmount(
      text,
      formatIn(formats, typed[name.replace('assignedCredit', 'unit')] ?? ''),
    );
    if ('problem' in read) return { faults: faultAt(name, read.problem) };
    texts[name] = String(read.amount);
  }
  return { texts };
}

const LEGENDS = {
  friend: 'What does the invited friend get?',
  referrer: 'What does the referrer get?',
  when: 'When does the referrer get it?',
} as const;

/** The questions of the assistant. */
export const questions = (choices: Readonly<Record<string, string>>) =>
  (['friend', 'referrer', 'when'] as const).map((name) => ({
    name,
    legend: LEGENDS[name],
    options: ASSISTANT[name].map(([value, words]) => ({
      value,
      words,
      isChosen: value === (choices[name] || ASSISTANT[name][0][0]),
    })),
  }));

export const SPANS = [
  { value: '30d', words: 'over 30 days' },
  { value: '90d', words: 'over 90 days' },
  { value: '365d', words: 'over 365 days' },
];

type ListedProgram = Pick<ReturnType<typeof programsOf>[number], 'id' | 'version' | 'isDefault'> &
  Readonly<Record<'name' | 'path', string>>;

export const PROGRAM_COLUMNS: readonly TableColumn<ListedProgram>[] = [
  column('program', ({ name, path }) => textCell(name, { path })),
  column(['id', 'minor'], ({ id }) => textCell(id)),
  column('version', ({ version }) => countCell(version)),
  column('default', ({ isDefault }) => textCell(isDefault ? 'Yes' : 'No')),
];

type RuleRow = ProgramForecast['rules'][number];
type AccountRow = ProgramForecast['accounts'][number] & { readonly person: string | null };
type Sum = RuleRow['live']['amount'];

const RULES: Readonly<Record<string, string>> = {
  referredReward: 'Reward of the friend',
  referrerReward: 'Reward of the referrer',
};

const ofUnit = (unit: string | null): string => unit ?? 'codes';

/** @param amount as the tenant shows sums over accounts. */
export const forecastColumns = (amount: ShownAmount, path: string) => {
  // The number of rewards, in a column of its own, says more than a sum of percents.
  const shown = (value: bigint, unit: string | null) =>
    unit === '%' ? `${numberText(value)} percentage points` : amount(value, ofUnit(unit), null);
  const sum = (value: Sum, unit: string | null, figure: string | null = null) =>
    amountCell(BigInt(value), shown(BigInt(value), unit), figure);
  const rules: readonly TableColumn<RuleRow>[] = [
    column('rule', ({ rule }) => textCell(RULES[rule] ?? `Event: ${rule}`)),
    column(['unit', 'minor'], ({ unit }) => textCell(ofUnit(unit))),
    column(['liveRewards', 'Live, rewards', 'minor'], ({ live }) => countCell(live.count)),
    column('live', ({ rule, unit, live }) =>
      sum(live.amount, unit, `forecast.live:${rule}:${ofUnit(unit)}`),
    ),
    column(['candidateRewards', 'Forecast, rewards', 'minor'], ({ candidate }) =>
      countCell(candidate.count),
    ),
    column(['candidate', 'Forecast'], ({ rule, unit, candidate }) =>
      sum(candidate.amount, unit, `forecast.candidate:${rule}:${ofUnit(unit)}`),
    ),
    column('difference', ({ unit, live, candidate }) =>
      sum(String(BigInt(candidate.amount) - BigInt(live.amount)), unit),
    ),
  ];
  const accounts: readonly TableColumn<AccountRow>[] = [
    column('account', ({ account, person }) =>
      textCell(person ?? account, { path: accountPath(path, account) }),
    ),
    column('live', ({ live, unit }) => sum(live, unit)),
    column(['candidate', 'Forecast'], ({ candidate, unit }) => sum(candidate, unit)),
    column('difference', ({ live, candidate, unit }) =>
      sum(String(BigInt(candidate) - BigInt(live)), unit),
    ),
  ];
  return { rules, accounts };
};
