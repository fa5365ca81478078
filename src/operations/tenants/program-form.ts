import { DEFAULT_PROGRAM } from '../../domain/tenant/program-document.js';
import type { ProgramDocument } from '../../domain/tenant/tenant.decider.js';
import { ownMember } from '../../domain/own-member.js';

/**
 * The members of a program that a form has fields for. A field is a text; empty: the member is left
 * out. What no field is for stays as it is in the document.
 */
export interface ProgramField {
  /** `referredReward.discountPercent`; that of a reward alone stands for its type. */
  readonly name: string;
  readonly label: string;
  /** Where the value is in the document: `/referredReward/discountPercent`. */
  readonly path: string;
  /** The values to choose from, with their words; undefined: any text. */
  readonly options?: readonly (readonly [value: string, words: string])[];
  readonly isNumber?: boolean;
}

export interface FieldGroup {
  readonly title: string;
  readonly fields: readonly ProgramField[];
}

/** The texts of the fields, by their names. */
export type ProgramTexts = Readonly<Record<string, string>>;

const NO_REWARD = 'NONE';
const SIDES = ['referredReward', 'referrerReward'] as const;
type Side = (typeof SIDES)[number];

const HANDLING = [
  ['', 'ignore (default)'],
  ['ignore', 'ignore'],
  ['pending', 'a person decides'],
  ['deny', 'deny'],
] as const;
const DECISION = [
  ['', 'automatically (default)'],
  ['APPROVED', 'automatically'],
  ['PENDING', 'a person decides'],
] as const;

const field = (
  name: string,
  label: string,
  more: Pick<ProgramField, 'options' | 'isNumber'> = {},
): ProgramField => {
  const path = SIDES.some((side) => side === name) ? `${name}.type` : name;
  return { name, label, path: `/${path.replace('.', '/')}`, ...more };
};
const number = (name: string, label: string) => field(name, label, { isNumber: true });
const choice = (name: string, label: string, ...options: NonNullable<ProgramField['options']>) =>
  field(name, label, { options });

const rewardFields = (side: Side, when: string): readonly ProgramField[] => [
  choice(
    side,
    'Reward',
    ['', 'that of the default program'],
    [NO_REWARD, 'none'],
    ['PCT_DISCOUNT', 'percent off'],
    ['CREDIT', 'credit'],
    ['FUELTANK', 'codes of a pool (in the JSON)'],
  ),
  number(`${side}.discountPercent`, 'Percent off'),
  number(`${side}.monthsDiscountIsValid`, 'Months of the discount'),
  number(`${side}.assignedCredit`, 'Amount of the credit'),
  field(`${side}.unit`, 'Unit of the credit'),
  choice(
    `${side}.when`,
    'Given when',
    ['', `${when} (default)`],
    ['STARTED', 'the referral starts'],
    ['CONVERTED', 'it converts'],
  ),
  number(`${side}.delayDays`, 'Usable after days'),
  number(`${side}.validDays`, 'Expires after days'),
];

export const PROGRAM_FORM: readonly FieldGroup[] = [
  {
    title: 'Program',
    fields: [
      field('name', 'Program name'),
      field('landingPage', 'Landing page'),
      choice(
        'conversion.on',
        'Converts with',
        ['', 'the first payment (default)'],
        ['PAID', 'the first payment'],
        ['EVENT', 'an event'],
      ),
      field('conversion.key', 'Key of the event'),
      number('refundDays', 'Days for refunds'),
    ],
  },
  {
    title: 'The friend who was invited',
    fields: rewardFields('referredReward', 'the referral starts'),
  },
  { title: 'The referrer', fields: rewardFields('referrerReward', 'it converts') },
  {
    title: 'Decisions and fraud',
    fields: [
      choice('moderation.referred', 'Friend approved', ...DECISION),
      choice('moderation.referrer', 'Referrer approved', ...DECISION),
      ...['name', 'email', 'ip'].map((one) => choice(`fraud.${one}`, `Same ${one}`, ...HANDLING)),
      choice('fraud.rate', 'Same moment, too many', ...HANDLING),
    ],
  },
];

/** The groups with the fields that apply to what is chosen. */
export const fieldsFor = (texts: ProgramTexts): readonly FieldGroup[] =>
  PROGRAM_FORM.map(({ title, fields }) => ({
    title,
    fields: fields.filter(({ name }) => applies(name, texts)),
  }));

function applies(name: string, texts: ProgramTexts): boolean {
  if (name === 'conversion.key') return texts['conversion.on'] === 'EVENT';
  const [side = '', member] = name.split('.');
  if (member === undefined || !SIDES.some((one) => one === side)) return true;
  const type = texts[side] ?? '';
  if (type === '' || type === NO_REWARD) return false;
  if (TERMS.some((term) => term === member)) return true;
  return type !== 'FUELTANK' && ownMember(VALUE_MEMBERS, type)?.includes(member) === true;
}

const FIELDS = PROGRAM_FORM.flatMap(({ fields }) => fields);

/** What the fields show of a document, also of one that its schema refuses. */
export function textsOf(document: unknown): ProgramTexts {
  return Object.fromEntries(
    FIELDS.map(({ name, path }) => {
      const side = SIDES.find((one) => one === name);
      if (side !== undefined && memberOf(document, [side]) === null) return [name, NO_REWARD];
      const value = memberOf(document, path.slice(1).split('/'));
      return [name, typeof value === 'string' || typeof value === 'number' ? String(value) : ''];
    }),
  );
}

/**
 * The document with what the fields say. A number that is none stays a text, which the schema
 * refuses at its path.
 */
export function documentWith(document: unknown, texts: ProgramTexts): Record<string, unknown> {
  const made: Record<string, unknown> = { ...membersOf(document) };
  for (const side of SIDES) setMember(made, side, rewardWith(made[side], side, texts));
  for (const { name, path, isNumber } of FIELDS) {
    const [group = '', member] = path.slice(1).split('/');
    if (SIDES.some((side) => side === group)) continue;
    const value = valueOf(texts[name] ?? '', isNumber);
    if (member === undefined) setMember(made, group, value);
    else {
      const of = { ...membersOf(made[group]) };
      setMember(of, member, value);
      setMember(made, group, Object.keys(of).length === 0 ? undefined : of);
    }
  }
  return made;
}

/** The members of a reward's value: those of another type do not stay. */
const VALUE_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  PCT_DISCOUNT: ['discountPercent', 'monthsDiscountIsValid'],
  CREDIT: ['assignedCredit', 'unit', 'currency'],
  FUELTANK: ['fuelTankCodes', 'fuelTankType', 'amount', 'unit'],
};
const TERMS = ['when', 'delayDays', 'validDays'] as const;

function rewardWith(before: unknown, side: Side, texts: ProgramTexts): unknown {
  const type = texts[side] ?? '';
  if (type === '') return undefined;
  if (type === NO_REWARD) return null;
  const reward: Record<string, unknown> = { ...membersOf(before) };
  if (reward['type'] !== type)
    for (const member of [...Object.values(VALUE_MEMBERS).flat(), 'payTo'])
      setMember(reward, member, undefined);
  reward['type'] = type;
  for (const { path, name, isNumber } of FIELDS) {
    const [group, member = ''] = path.slice(1).split('/');
    if (group !== side || member === 'type') continue;
    const isOfType =
      ownMember(VALUE_MEMBERS, type)?.includes(member) || TERMS.some((term) => term === member);
    if (isOfType && (type !== 'FUELTANK' || member !== 'unit'))
      setMember(reward, member, valueOf(texts[name] ?? '', isNumber));
  }
  return reward;
}

/** Names of fields by how a line of the schema about one begins. */
export const FIELDS_BY_LINES: Readonly<Record<string, string>> = Object.fromEntries(
  FIELDS.flatMap(({ name, path }) => {
    const [, parent = '', member = ''] = /^(.*)\/([^/]+)$/.exec(path) ?? [];
    return [
      [`${path} `, name],
      [`${parent} lacks ${member}`, name],
    ];
  }),
);

/** The answers to the assistant's three questions. */
export const ASSISTANT = {
  friend: [
    ['discount', '10 % off for three months'],
    ['credit', '10.00 of credit'],
    ['nothing', 'nothing'],
  ],
  referrer: [
    ['credit', '10.00 of credit'],
    ['discount', '10 % off for three months'],
    ['nothing', 'nothing'],
  ],
  when: [
    ['paid', 'when the friend has paid'],
    ['started', 'when the friend has signed up'],
  ],
} as const satisfies Readonly<Record<string, readonly (readonly [string, string])[]>>;

export type AssistantChoices = Readonly<Record<keyof typeof ASSISTANT, string>>;

/** A working program; undefined: a question has no answer, or one that is none. */
export function assistedProgram(
  id: string,
  { friend, referrer, when }: AssistantChoices,
): ProgramDocument | undefined {
  const [referredReward, given] = [ownMember(GIFTS, friend), ownMember(GIFTS, referrer)];
  const moment = ownMember(MOMENTS, when);
  if (referredReward === undefined || given === undefined || moment === undefined) return undefined;
  const referrerReward = given && { ...given, when: moment };
  return { id, referredReward, referrerReward };
}

const GIFTS: Readonly<Record<string, object | null>> = {
  discount: { type: 'PCT_DISCOUNT', discountPercent: 10, monthsDiscountIsValid: 3 },
  credit: DEFAULT_PROGRAM['referrerReward'] as object,
  nothing: null,
};
const MOMENTS: Readonly<Record<string, string>> = { paid: 'CONVERTED', started: 'STARTED' };

function memberOf(document: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return document;
  const members = membersOf(document);
  return Object.hasOwn(members, name) ? memberOf(members[name], rest) : undefined;
}

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};

function setMember(of: Record<string, unknown>, name: string, value: unknown): void {
  if (value === undefined) Reflect.deleteProperty(of, name);
  else of[name] = value;
}

function valueOf(text: string, isNumber = false): unknown {
  if (text === '') return undefined;
  return isNumber && /^-?\d{1,15}$/.test(text) ? Number(text) : text;
}
