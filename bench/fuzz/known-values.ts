import fc from 'fast-check';
import { MAIL_TYPES } from '../../src/themes/theme-instance.js';
import {
  connection,
  operatedTheme,
  providerEvent,
  themePatch,
  wholeTheme,
} from './known-bodies.js';
import { drawn, Slot, slot } from './slots.js';

/**
 * What the description says only in words: formats, ids of other answers, members that need each
 * other. A member without an entry is made from its schema.
 */

export type Values = fc.Arbitrary<unknown>;

const grapheme = fc.string({ unit: 'grapheme', maxLength: 12 });

export const text: Values = fc
  .tuple(drawn, grapheme)
  .map(([draw, tail]) => new Slot('text', draw, tail));
const clearable = (values: Values): Values =>
  fc.oneof({ arbitrary: values, weight: 4 }, { arbitrary: fc.constant(null), weight: 1 });
const amount = fc.oneof(
  { arbitrary: fc.integer({ min: 1, max: 500 }), weight: 9 },
  { arbitrary: fc.constantFrom(1, Number.MAX_SAFE_INTEGER), weight: 1 },
);
const unit = fc.constantFrom('CENTS', 'CENTS', 'CENTS', 'cents', 'POINTS');
const name = fc.stringMatching(/^[A-Za-z0-9_]{1,12}$/);
const segment = fc.oneof(fc.constantFrom('vip', '~vip', '~*'), text);
const time = fc.oneof(
  slot('past'),
  slot('future'),
  fc.constantFrom('2024-01-01', '2024-02-29T10:00Z', '2030-01-01T00:00:00.123+01:00'),
);
/** For operators: ISO 8601 only. */
const moment = fc.constantFrom('2025-01-01', '2026-10-31T23:59:59Z', '2026-11-01T02:00:00+02:00');
/** Of themes: few, so that they have a past. */
const locale = fc.constantFrom('en', 'fr', 'fr_CA');
const version = fc.integer({ min: 1, max: 5 });
const month = fc.constantFrom('2024-01', '2025-12', '2026-01', '2026-10', '2099-01');
const userFields = fc
  .subarray(['id', 'email', 'firstName', 'referralCode', 'shareLinks', 'customFields', 'segments'])
  .map((names) => names.join(','));
/** Required members, and some of the others. */
export function sparse(
  members: Readonly<Record<string, Values>>,
  required: readonly string[],
): fc.Arbitrary<Readonly<Record<string, unknown>>> {
  const optional = Object.keys(members).filter((member) => !required.includes(member));
  if (optional.length === 0) return fc.record({ ...members });
  const kept = fc.array(fc.constantFrom(...optional), {
    maxLength: Math.ceil(optional.length / 2),
    size: 'max',
  });
  return fc
    .tuple(fc.record({ ...members }), kept)
    .map(([all, names]) =>
      Object.fromEntries(
        Object.entries(all).filter(([name]) => required.includes(name) || names.includes(name)),
      ),
    );
}

const fieldValue = fc.oneof(text, fc.double(), fc.boolean(), fc.constant(null));
export const customFields: Values = fc.dictionary(name, fieldValue, { maxKeys: 4 });

/** Of paths, queries and header fields. */
const IN_TARGET: Readonly<Record<string, Values>> = {
  tenantAlias: slot('tenant'),
  tenant: slot('tenant'),
  mode: slot('mode'),
  accountId: slot('account'),
  account: slot('account'),
  referringAccountId: slot('account'),
  referredAccountId: slot('account'),
  userId: slot('user'),
  referringUserId: slot('user'),
  referredUserId: slot('user'),
  code: slot('code'),
  referralCode: slot('code'),
  couponCode: slot('code'),
  id: slot('reward'),
  referralId: slot('referral'),
  runId: slot('run'),
  exportId: slot('export'),
  url: slot('endpoint'),
  endpoint: slot('endpoint'),
  delivery: slot('delivery'),
  proposal: slot('proposal'),
  locale,
  version,
  since: moment,
  projection: fc.constantFrom('accounts', 'users', 'rewards', 'reward-balances', 'nothing'),
  query: fc.oneof(slot('account'), slot('user'), slot('email'), text),
  dateReferralStarted: time,
  dateReferralPaid: fc.oneof(
    time,
    drawn.map((draw) => new Slot('past', draw, ',')),
  ),
  dateReferralEnded: time,
  asOf: moment,
  from: moment,
  to: moment,
  position: slot('position'),
  unit,
  // Not together with `extraFields`; an empty one counts as missing.
  fields: fc.constant(''),
  extraFields: userFields,
  programId: fc.constant('default'),
  limit: fc.integer({ min: 0, max: 20 }),
  offset: fc.integer({ min: 0, max: 5 }),
  'Idempotency-Key': slot('key'),
  'Ledger-Position-At-Least': slot('position'),
};

/** A parameter of one route alone, by the end of the path. */
const OF_ROUTE: Readonly<Record<string, Readonly<Record<string, Values>>>> = {
  '/credit/{id}/redeem': { id: slot('credit') },
  '/theme/email/{type}/preview': { type: fc.constantFrom(...MAIL_TYPES), sendTo: slot('mail-to') },
};

/** What is known of a parameter; undefined: nothing but its schema. */
export const inTarget = (template: string, parameter: string): Values | undefined =>
  Object.entries(OF_ROUTE).find(([end]) => template.endsWith(end))?.[1][parameter] ??
  IN_TARGET[parameter];

/** What the description requires in words, by the end of the path. */
const REQUIRED_IN_WORDS: Readonly<Record<string, readonly string[]>> = {
  '/open/referrals': ['referringAccountId', 'referringUserId'],
  '/statement': ['account'],
};

export const requiredInWords = (template: string): readonly string[] =>
  Object.entries(REQUIRED_IN_WORDS).flatMap(([end, names]) =>
    template.endsWith(end) ? names : [],
  );

/** Bodies that the description calls objects, and those whose members are all needed. */
const WHOLE_BODIES: Readonly<Record<string, Values>> = {
  'POST /integrations/stripe/{tenantAlias}': providerEvent,
  'POST /operations/payments/{tenant}/connect': connection,
  'PUT /api/v1/{tenantAlias}/theme/variables/instance': wholeTheme,
  'PUT /api/v1/{tenantAlias}/theme/{locale}/variables/instance': wholeTheme,
  'PUT /operations/themes/{tenant}': operatedTheme,
  'PATCH /api/v1/{tenantAlias}/theme/variables/instance': themePatch,
  'PATCH /api/v1/{tenantAlias}/theme/{locale}/variables/instance': themePatch,
};

export const wholeBody = (operation: string): Values | undefined => WHOLE_BODIES[operation];

const PAID: Values = fc.record({
  status: fc.constant('PAID'),
  value: fc.double({ min: 0, max: 1e6, noNaN: true }),
  billingIntervalType: fc.constantFrom('DAY', 'MONTH', 'YEAR'),
  billingIntervalValue: fc.integer({ min: 1, max: 12 }),
});

/** Of bodies, by `<schema>`, `<schema>.<member>` or `<member>`. */
export const IN_BODY: Readonly<Record<string, Values>> = {
  SubscriptionRequest: fc.oneof(
    PAID,
    fc.record({ status: fc.constantFrom('TRIAL', 'FREE', 'CANCELLED') }),
  ),
  'SyncAccountRequest.id': slot('account'),
  'UserRequest.id': slot('user'),
  'IdentifiedUserRequest.id': slot('user'),
  'BulkRedeemRequest.accountId': slot('funded'),
  'BulkRedeemRequest.amount': fc.integer({ min: 1, max: 50 }),
  'RedeemRequest.amount': fc.integer({ min: 1, max: 50 }),
  'UserEventRequest.id': slot('event'),
  'CreditRewardRequest.type': fc.constant('CREDIT'),
  'PercentRewardRequest.type': fc.constant('PCT_DISCOUNT'),
  'PercentRewardRequest.unit': fc.constant('%'),
  'FuelTankRewardRequest.type': fc.constant('FUELTANK'),
  accountId: slot('account'),
  account: slot('account'),
  userId: slot('user'),
  user: slot('user'),
  referralId: slot('referral'),
  email: clearable(slot('email')),
  firstName: clearable(text),
  lastName: clearable(text),
  imageUrl: clearable(slot('url')),
  locale: clearable(fc.constantFrom('en', 'en_US', 'de_DE')),
  countryCode: clearable(fc.constantFrom('US', 'DE')),
  currency: clearable(fc.constantFrom('USD', 'EUR')),
  customFields,
  segments: fc.array(segment, { maxLength: 4 }),
  referralCode: slot('new-code'),
  referralCodes: fc.record({ default: slot('new-code') }),
  code: slot('code'),
  couponCode: slot('code'),
  referredByCodes: fc.array(slot('code'), { maxLength: 3 }),
  paymentProviderId: slot('payment'),
  cookieId: slot('cookie'),
  idempotencyKey: slot('new-key'),
  key: fc.oneof(fc.constantFrom('purchase', 'refund', 'visit'), text),
  fields: clearable(fc.oneof(fc.record({ amount: fc.double({ noNaN: true }) }), customFields)),
  dateTriggered: clearable(fc.oneof(slot('past'), slot('future'))),
  unit,
  amount,
  assignedCredit: amount,
  fuelTankCode: slot('tank'),
  name: clearable(text),
  description: clearable(text),
  dateExpires: clearable(slot('future')),
  dateScheduledFor: clearable(slot('past')),
  reason: text,
  comment: text,
  approvedBy: fc.constantFrom('fay', 'sam'),
  period: month,
  asOf: moment,
  position: slot('position'),
  resumeFrom: slot('position'),
  against: fc.constantFrom('', 'account,unit,balance\n', 'account,unit,balance\nx,CENTS,5\n'),
  projection: fc.constantFrom('accounts', 'users', 'rewards', 'reward-balances', 'nothing'),
  tenant: slot('tenant'),
  mode: slot('mode'),
  endpointUrl: slot('endpoint'),
  endpoint: slot('endpoint'),
  delivery: slot('delivery'),
  grace: fc.constantFrom('0', '30m', '24h'),
  since: moment,
  version,
};
