import { ASSISTANT, fieldsFor, type ProgramTexts } from '../../operations/tenants/program-form.js';
import type { ProgramForecast } from '../../operations/tenants/program-forecast.js';
import { accountPath } from '../pages/customer-columns.js';
import { amountCell, countCell, textCell } from './cells.js';
import type { ShownAmount } from './shown-amounts.js';
import type { TableColumn } from './table.js';
import { numberText } from './templates.js';

/** The fields of the form for a program: those of the rewards that are chosen. */
export const fieldGroups = (texts: ProgramTexts, amount: ShownAmount) =>
  fieldsFor(texts).map(({ title, fields }) => ({
    title,
    fields: fields.map(({ name, label, options, isNumber = false }) => ({
      name,
      label,
      value: texts[name] ?? '',
      inputMode: isNumber ? 'numeric' : null,
      options: options?.map(([value, words]) => ({ value, words })) ?? null,
      hint: name.endsWith('.assignedCredit') ? creditHint(name, texts, amount) : null,
    })),
  }));

/** `1000 CENTS is $10.00`. */
function creditHint(name: string, texts: ProgramTexts, amount: ShownAmount): string | null {
  const [value, unit] = [texts[name] ?? '', texts[name.replace('assignedCredit', 'unit')] ?? ''];
  return /^\d{1,15}$/.test(value) && unit !== ''
    ? `${value} ${unit} is ${amount(Number(value), unit, null)}`
    : 'A whole number in the unit';
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

/** A program of a tenant. */
export interface ListedProgram {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly isDefault: boolean;
  readonly path: string;
}

export const PROGRAM_COLUMNS: readonly TableColumn<ListedProgram>[] = [
  { key: 'program', label: 'Program', cell: ({ name, path }) => textCell(name, { path }) },
  { key: 'id', label: 'Id', cell: ({ id }) => textCell(id), isMinor: true },
  { key: 'version', label: 'Version', cell: ({ version }) => countCell(version) },
  { key: 'default', label: 'Default', cell: ({ isDefault }) => textCell(isDefault ? 'Yes' : 'No') },
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
    { key: 'rule', label: 'Rule', cell: ({ rule }) => textCell(RULES[rule] ?? `Event: ${rule}`) },
    { key: 'unit', label: 'Unit', cell: ({ unit }) => textCell(ofUnit(unit)), isMinor: true },
    {
      key: 'liveRewards',
      label: 'Live, rewards',
      cell: ({ live }) => countCell(live.count),
      isMinor: true,
    },
    {
      key: 'live',
      label: 'Live',
      cell: ({ rule, unit, live }) =>
        sum(live.amount, unit, `forecast.live:${rule}:${ofUnit(unit)}`),
    },
    {
      key: 'candidateRewards',
      label: 'Forecast, rewards',
      cell: ({ candidate }) => countCell(candidate.count),
      isMinor: true,
    },
    {
      key: 'candidate',
      label: 'Forecast',
      cell: ({ rule, unit, candidate }) =>
        sum(candidate.amount, unit, `forecast.candidate:${rule}:${ofUnit(unit)}`),
    },
    {
      key: 'difference',
      label: 'Difference',
      cell: ({ unit, live, candidate }) =>
        sum(String(BigInt(candidate.amount) - BigInt(live.amount)), unit),
    },
  ];
  const accounts: readonly TableColumn<AccountRow>[] = [
    {
      key: 'account',
      label: 'Account',
      cell: ({ account, person }) =>
        textCell(person ?? account, { path: accountPath(path, account) }),
    },
    { key: 'live', label: 'Live', cell: ({ live, unit }) => sum(live, unit) },
    { key: 'candidate', label: 'Forecast', cell: ({ candidate, unit }) => sum(candidate, unit) },
    {
      key: 'difference',
      label: 'Difference',
      cell: ({ live, candidate, unit }) => sum(String(BigInt(candidate) - BigInt(live)), unit),
    },
  ];
  return { rules, accounts };
};
