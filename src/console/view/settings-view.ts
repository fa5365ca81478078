import { CURRENCIES } from '../../domain/currencies.js';
import { moneyText, type MoneyFormat } from '../../domain/money.js';
import { MODES, type Mode } from '../../domain/scope.js';
import { CALL_WINDOWS, COUNTED_CALLS, type CountedCall } from '../../domain/tenant/open-rules.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import { grantLimitOf, shownFormats } from '../../domain/tenant/unit-settings.js';
import { unitKey } from '../../domain/units.js';
import {
  keysOf,
  signingSecretsOf,
  type TenantSettings,
} from '../../operations/tenants/tenant-settings.js';
import { formatList, type UnitChange } from '../../operations/tenants/unit-settings.js';
import { MAIL_TYPES, type MailType } from '../../themes/theme-instance.js';
import type { Form } from '../sessions/form.js';
import { faultAt, type Faults, type FieldNames } from './faults.js';
import { timeText } from './run-view.js';
import { amountText } from './templates.js';

/** The names of mails, and when each is sent. */
export const MAIL_WORDS: Readonly<Record<MailType, readonly [name: string, when: string]>> = {
  REFERRAL_STARTED: ['Referral started', 'To the referrer, when a friend signs up.'],
  REFERRAL_CONVERTED: ['Referral converted', 'To the referrer, when the friend has paid.'],
  REFERRER_REWARD_LIMIT_REACHED: [
    'Reward limit reached',
    'To the referrer, when a friend signs up and the limit of rewards is used up.',
  ],
  REWARD_EARNED: ['Reward earned', 'To the person who gets a reward.'],
  REWARD_EXPIRES_SOON: ['Reward expires soon', 'A week before a reward expires.'],
  WELCOME: ['Welcome', 'To the friend, after signing up with a code.'],
};

export const mailSwitches = (on: readonly string[]) =>
  MAIL_TYPES.map((type) => {
    const [label, hint] = MAIL_WORDS[type];
    return { type, label, hint, isOn: on.includes(type) };
  });

const CALL_NAMES: Readonly<Record<CountedCall, string>> = {
  'create-user': 'Create a user',
  'look-up-user': 'Look up a user',
  'user-by-code': 'Find the owner of a code',
  code: 'Look up a code',
  'apply-code': 'Apply a code',
  'list-referrals': 'List referrals',
  'post-events': 'Post events of a user',
  'short-link': 'Open a share link',
  'test-webhook': 'Test a webhook',
  'preview-mail': 'Preview a mail',
  unsubscribe: 'Unsubscribe from mails',
};

export const callLimits = ({ rateLimits }: Pick<TenantSettings, 'rateLimits'>) =>
  COUNTED_CALLS.map((call) => {
    const { calls, windowSeconds } = CALL_WINDOWS[call];
    return {
      id: `limit-${call}`,
      label: CALL_NAMES[call],
      calls: rateLimits[call],
      usual: calls,
      window: timeText(windowSeconds),
    };
  });

/** The keys or secrets of each mode, with the form that rotates them. */
export const credentialsOf = (tenant: OpenTenant, what: 'key' | 'secret') =>
  MODES.map((mode) => {
    const keys = (what === 'key' ? keysOf : signingSecretsOf)(tenant, mode);
    return { form: `${what}-${mode}`, mode, keys, newest: keys[0]?.id ?? '' };
  });

export const modeIn = (text: string): Mode | undefined => MODES.find((mode) => mode === text);

/** The units that have a setting, with how an amount of each looks. */
export const unitRows = ({ formats, grantLimits }: OpenTenant['units']) => {
  const shown = shownFormats(formats);
  const limited = grantLimits.filter(
    ({ unit }) => !shown.some((one) => unitKey(one.unit) === unitKey(unit)),
  );
  return [...shown, ...limited.map(({ unit }) => ({ unit, currency: null, digits: 0 }))].map(
    ({ unit, currency, digits }) => {
      const money = currency === null ? undefined : moneyText({ currency, digits });
      const textOf = (amount: number) => amountText(amount, unit, () => money);
      return {
        unit,
        currency,
        example:
          money === undefined
            ? null
            : `${(123_450).toLocaleString('en-US')} ${unit} = ${textOf(123_450)}`,
        limit: textOf(grantLimitOf({ formats, grantLimits }, unit)),
        isOwnLimit: grantLimits.some((one) => unitKey(one.unit) === unitKey(unit)),
      };
    },
  );
};

export const CURRENCY_OPTIONS = [...CURRENCIES].sort();

/** How far the test clock is moved by its form. */
export const ADVANCES = [
  { value: '1h', words: '1 hour' },
  { value: '1d', words: '1 day' },
  { value: '7d', words: '7 days' },
  { value: '30d', words: '30 days' },
  { value: '90d', words: '90 days' },
  { value: '365d', words: '365 days' },
];

export const GRACES = [
  { value: '24h', words: '24 hours' },
  { value: '7d', words: '7 days' },
  { value: '1h', words: '1 hour' },
  { value: '0', words: 'None: it ends now' },
];

/** By the beginnings of the lines of `changeSettings` and `suspendWithAudit`. */
export const FIELDS_BY_LINES: FieldNames = {
  'the reason ': 'reason',
  'allowed origins:': 'origins',
  'mails of the test mode:': 'addresses',
  'domains of senders:': 'domains',
  'user tokens not before:': 'not-before',
  ...Object.fromEntries(
    COUNTED_CALLS.map((call) => [`calls of a client, ${call}:`, `limit-${call}`]),
  ),
};

/** The format and the grant limit of a unit, as its form has them, or what is wrong with them. */
export function unitIn(form: Form):
  | {
      readonly format: UnitChange<MoneyFormat>;
      readonly limit: UnitChange<{ readonly amount: number }>;
    }
  | Faults {
  const currency = form.text('currency');
  const digits = currency === '' ? 0 : Number(form.text('digits') || 'none');
  const named = [{ unit: form.text('unit'), currency: currency || null, digits }];
  const { data, error } = formatList.safeParse(named);
  const [format] = data ?? [];
  if (format === undefined) {
    const [issue] = error?.issues ?? [];
    const field = String(issue?.path[1] ?? 'unit');
    return faultAt(field, FORMAT_FAULTS[field] ?? issue?.message ?? '');
  }
  const typed = form.text('limit');
  const amount = typed === '' ? null : amountIn(typed, digits);
  if (amount === undefined)
    return faultAt('limit', `Write it without thousands, with at most ${digits} decimals: 100`);
  return { format, limit: { unit: format.unit, value: amount === null ? null : { amount } } };
}

const FORMAT_FAULTS: Readonly<Record<string, string>> = {
  unit: 'A unit takes 1 to 64 characters, such as CENTS or POINTS.',
  digits: 'Decimals are a number from 0 to 4.',
  currency: 'Choose a currency, or none.',
};

/** An integer in the unit; undefined: it is none. */
function amountIn(text: string, digits: number): number | undefined {
  const [, whole = '', decimals = ''] = /^(\d+)(?:[.,](\d+))?$/.exec(text) ?? [];
  const amount = Number(whole + decimals.padEnd(digits, '0'));
  return whole !== '' && decimals.length <= digits && Number.isSafeInteger(amount)
    ? amount
    : undefined;
}
