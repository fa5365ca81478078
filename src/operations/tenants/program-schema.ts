import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { CURRENCIES } from '../../domain/currencies.js';
import { eventRulesOf, type ConditionDocument } from '../../domain/tenant/event-rules.js';
import type { ProgramDocument } from '../../domain/tenant/tenant.decider.js';
import { UNIT_LENGTH_MAX } from '../../domain/units.js';
import { NOT_STORABLE, unstorablePath } from '../../foundation/outside-text.js';

/**
 * The program file, as a JSON Schema. Also printed to docs/generated/program.schema.json, which a
 * test compares.
 */

const text = { type: 'string', minLength: 1, maxLength: 1000 } as const;
const orNull = <T extends object>(schema: T) => ({ anyOf: [schema, { type: 'null' }] });
/** An object with these members and no others. */
const only = (properties: object, ...required: readonly string[]) => ({
  type: 'object',
  ...(required.length > 0 && { required }),
  additionalProperties: false,
  properties,
});
const ofType = (type: string, then: object) => ({
  if: { properties: { type: { const: type } } },
  then,
});
const wholeFrom = (minimum: number) => ({
  type: 'integer',
  minimum,
  maximum: Number.MAX_SAFE_INTEGER,
});
// A hundred years: a longer time leads to dates that JSON clients cannot parse.
const days = (minimum: number) => ({ type: 'integer', minimum, maximum: 36_525 });

/** Who pays it: the ledger keeps it, or the payment provider puts it on the bill. */
const payTo = { enum: ['ledger', 'provider'] } as const;

const unit = {
  type: 'string',
  minLength: 1,
  maxLength: UNIT_LENGTH_MAX,
  pattern: '^(?=.*\\S)\\P{Cc}*$',
} as const;

const terms = {
  name: orNull(text),
  description: orNull(text),
  cancellable: { type: 'boolean' },
  validDays: orNull(days(1)),
  delayDays: days(0),
  limit: only({ total: wholeFrom(1), perDay: wholeFrom(1) }),
};

/** What the provider pays is an amount of money. */
const creditOf = (moment: object) => ({
  required: ['unit', 'assignedCredit'],
  additionalProperties: false,
  properties: {
    type: true,
    ...moment,
    ...terms,
    unit,
    assignedCredit: wholeFrom(1),
    currency: orNull({ $ref: '#/$defs/currency' }),
    payTo,
  },
  if: { required: ['payTo'], properties: { payTo: { const: 'provider' } } },
  then: {
    required: ['currency'],
    properties: {
      unit: { pattern: '^[Cc][Ee][Nn][Tt][Ss]$' },
      currency: { type: 'string' },
    },
  },
});

const rewardOf = (moment: object) => ({
  type: 'object',
  required: ['type'],
  properties: { type: { enum: ['CREDIT', 'PCT_DISCOUNT', 'FUELTANK'] } },
  allOf: [
    ofType('CREDIT', creditOf(moment)),
    ofType('PCT_DISCOUNT', {
      required: ['discountPercent'],
      additionalProperties: false,
      properties: {
        type: true,
        ...moment,
        ...terms,
        discountPercent: { type: 'integer', minimum: 1, maximum: 100 },
        monthsDiscountIsValid: wholeFrom(1),
        payTo,
      },
    }),
    ofType('FUELTANK', {
      required: ['fuelTankCodes', 'fuelTankType', 'amount'],
      additionalProperties: false,
      properties: {
        type: true,
        ...moment,
        ...terms,
        fuelTankCodes: {
          type: 'array',
          items: { type: 'string', minLength: 1, maxLength: 255 },
          uniqueItems: true,
        },
        fuelTankType: { enum: ['PCT_DISCOUNT', 'CREDIT'] },
        amount: wholeFrom(1),
        unit: orNull(unit),
      },
    }),
  ],
});

const reward = rewardOf({ when: { enum: ['STARTED', 'CONVERTED'] } });
const minimum = only({ field: text, value: { type: 'number' } }, 'field', 'value');
const refund = only({ key: text, field: text }, 'key', 'field');
const eventRule = { key: text, firstTimeOnly: { type: 'boolean' }, minimum, refund };
const handling = { enum: ['ignore', 'pending', 'deny'] };
const sideStatus = { enum: ['APPROVED', 'PENDING'] };

export const PROGRAM_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Referral program',
  type: 'object',
  required: ['id'],
  additionalProperties: false,
  $defs: { currency: { enum: CURRENCIES } },
  properties: {
    id: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' },
    name: text,
    default: { type: 'boolean' },
    landingPage: { type: 'string', format: 'uri', pattern: '^https?://' },
    conversion: {
      type: 'object',
      required: ['on'],
      properties: { on: { enum: ['PAID', 'EVENT'] } },
      if: { properties: { on: { const: 'EVENT' } } },
      then: {
        required: ['key'],
        additionalProperties: false,
        properties: { on: true, ...eventRule },
      },
      else: { additionalProperties: false, properties: { on: true } },
    },
    referredReward: orNull(reward),
    referrerReward: orNull(reward),
    eventRewards: {
      type: 'array',
      items: only(
        { ...eventRule, to: { enum: ['USER', 'REFERRER'] }, reward: rewardOf({}) },
        'key',
        'to',
        'reward',
      ),
    },
    moderation: only({ referred: sideStatus, referrer: sideStatus }),
    fraud: only({ name: handling, email: handling, ip: handling, rate: handling }),
    rateLimit: only({ referrals: wholeFrom(1), minutes: wholeFrom(1) }),
    refundDays: days(0),
    automaticRedemption: { type: 'array', items: { enum: ['CREDIT'] }, uniqueItems: true },
  },
} as const;

let compiled: ValidateFunction<ProgramDocument> | undefined;

/** Compiled on first use: most commands do not need it, and it takes longer than they do. */
const validator = (): ValidateFunction<ProgramDocument> =>
  (compiled ??= addFormats
    .default(new Ajv2020({ allErrors: true, strict: false }))
    .compile<ProgramDocument>(PROGRAM_SCHEMA));

/**
 * The program in a file's parsed content, or one line for each error, beginning with the path of
 * the member.
 */
export function parseProgram(
  content: unknown,
): ProgramDocument | { readonly problems: readonly string[] } {
  const unstorable = unstorablePath(content);
  if (unstorable !== undefined) return { problems: [`${unstorable} ${NOT_STORABLE}`] };
  const validate = validator();
  if (!validate(content)) {
    const problems = (validate.errors ?? [])
      .filter((error) => !repeatsAnother(error))
      .map(({ instancePath, message, params }) => {
        const path =
          'additionalProperty' in params
            ? `${instancePath}/${String(params['additionalProperty'])}`
            : instancePath;
        return `${path === '' ? '/' : path} ${wordsFor(params, message)}`;
      });
    return { problems: [...new Set(problems)] };
  }
  const problems = refundsOfTheirOwnKey(content);
  return problems.length > 0 ? { problems } : content;
}

/** An event that refunds those of its own key would take back what it has just earned. */
function refundsOfTheirOwnKey(program: ProgramDocument): readonly string[] {
  const { conversion } = program as { readonly conversion?: ConditionDocument };
  const rules = eventRulesOf(program).map(
    (rule, index) => [`/eventRewards/${index}`, rule] as const,
  );
  return [['/conversion', conversion ?? {}] as const, ...rules].flatMap(
    ([path, { key, refund: by }]) =>
      by !== undefined && by.key === key
        ? [`${path}/refund/key must be another key than ${path}/key`]
        : [],
  );
}

/** An alternative and a condition have their own error in addition to those of their parts. */
const repeatsAnother = ({ keyword, params }: Pick<ErrorObject, 'keyword' | 'params'>): boolean =>
  keyword === 'anyOf' || keyword === 'if' || (keyword === 'type' && params['type'] === 'null');

function wordsFor(params: Readonly<Record<string, unknown>>, message = 'is not valid'): string {
  const { allowedValues, comparison, format, limit, missingProperty, pattern, type } = params;
  if ('additionalProperty' in params) return 'is not known';
  if (typeof missingProperty === 'string') return `lacks ${missingProperty}`;
  if (allowedValues === CURRENCIES)
    return 'must be a currency of ISO 4217 in upper case, such as USD';
  if (Array.isArray(allowedValues)) return `must be one of ${allowedValues.join(', ')}`;
  if (typeof pattern === 'string') return PATTERNS[pattern] ?? message;
  if (format === 'uri') return WEB_ADDRESS;
  if (type === 'integer') return 'must be a whole number';
  if (comparison === '>=') return `must be at least ${String(limit)}`;
  if (comparison === '<=') return `must be at most ${String(limit)}`;
  return message;
}

const WEB_ADDRESS = 'must be an address that begins with https:// or http://';
const PATTERNS: Readonly<Record<string, string | undefined>> = {
  '^[A-Za-z0-9_-]{1,64}$': 'takes 1 to 64 letters, digits, _ and -',
  '^https?://': WEB_ADDRESS,
  '^(?=.*\\S)\\P{Cc}*$': 'takes a text without control characters',
  '^[Cc][Ee][Nn][Tt][Ss]$': 'must be CENTS where the payment provider pays',
};
