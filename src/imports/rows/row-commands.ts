import type { AccountCommand } from '../../domain/account/account.decider.js';
import {
  SUBSCRIPTION_STATUSES,
  type CustomFieldValue,
  type RewardSource,
  type RowValues,
} from '../../domain/account/account.events.js';
import type { NamedReward } from '../../domain/account/imports/import-referral.js';
import { importedIdOf } from '../../domain/account/imports/imported-rows.js';
import { isCurrency } from '../../domain/currencies.js';
import { REWARD_TYPES, type RewardValue, type SideStatus } from '../../domain/program.js';
import { REFERRAL_CODE } from '../../domain/referral-code.js';
import type { AccountRef, Scope } from '../../domain/scope.js';
import { isUnit } from '../../domain/units.js';
import { canonicalJson } from '../../foundation/canonical-json.js';
import {
  CUSTOM_FIELDS_MAX,
  isCountry,
  isEmail,
  isFieldName,
  isFieldValue,
  isSegment,
  isWebAddress,
  SEGMENTS_MAX,
} from '../../foundation/user-fields.js';
import { idWithin, type KeyedNames } from '../../privacy/keyed-names.js';
import { isLocale } from '../../themes/theme-locale.js';
import type { ImportRow } from './import-rows.js';
import { required, RowFault, RowFields } from './row-fields.js';

/** The command of a row. */
export interface RowCommand {
  readonly account: AccountRef;
  readonly command: Extract<AccountCommand, { readonly ref: string }>;
}

type Names = Pick<KeyedNames, 'accountRef' | 'importedRowRef'>;

/** @throws {RowFault} */
export function userCommand(names: Names, scope: Scope, row: ImportRow): RowCommand {
  const fields = new RowFields(row);
  const userId = required(fields.id('id'), 'id');
  const accountId = required(fields.id('accountId'), 'accountId');
  const changes = definedOf({
    email: fields.text('email', isEmail, 'be an e-mail address'),
    firstName: fields.text('firstName'),
    lastName: fields.text('lastName'),
    locale: fields.text('locale', isLocale, 'be a locale like en or en_US'),
    countryCode: fields.text(
      'countryCode',
      isCountry,
      'be a country of ISO 3166-1 alpha-2 in upper case',
    ),
    imageUrl: fields.text('imageUrl', isWebAddress, 'be an absolute http or https URL'),
    segments: segmentsOf(fields, row),
    customFields: customFieldsOf(fields, row),
  });
  const isCode = (code: string): boolean => REFERRAL_CODE.test(code);
  return {
    account: names.accountRef(scope, accountId),
    command: {
      type: 'ImportUser',
      ref: names.importedRowRef(scope, 'users', accountId, userId),
      accountId,
      userId,
      changes,
      referralCode: fields.text('referralCode', isCode, 'be 1 to 15 letters and digits'),
      paymentProviderId: fields.id('paymentProviderId'),
      dateCreated: fields.typed<number>('dateCreated'),
      blocked: fields.typed<boolean>('blocked') ?? false,
      status: fields.oneOf('accountStatus', SUBSCRIPTION_STATUSES),
      currency: currencyOf(fields, 'accountCurrency'),
      row: fields.values,
    },
  };
}

function segmentsOf(fields: RowFields, row: ImportRow): readonly string[] | undefined {
  const { segments = [] } = row as { readonly segments?: readonly string[] };
  if (segments.length === 0) return undefined;
  const fault = segments.find((one) => !isSegment(one));
  if (fault !== undefined || segments.length > SEGMENTS_MAX)
    throw new RowFault(`segments must be at most ${SEGMENTS_MAX} texts of 1 to 256 characters`);
  fields.note('segments', segments);
  return segments;
}

function customFieldsOf(
  fields: RowFields,
  row: ImportRow,
): Readonly<Record<string, CustomFieldValue>> | undefined {
  const { customFields: given } = row as {
    readonly customFields?: ReadonlyMap<string, CustomFieldValue>;
  };
  if (given === undefined || given.size === 0) return undefined;
  if (given.size > CUSTOM_FIELDS_MAX)
    throw new RowFault(`customFields must be at most ${CUSTOM_FIELDS_MAX}`);
  for (const [name, value] of given) {
    if (!isFieldName(name) || !isFieldValue(value))
      throw new RowFault(
        `customFields.${name} must have a name of 1 to 64 letters, digits and underscores, and a text up to 1024 characters, a number or a boolean`,
      );
    fields.note(`customFields.${name}`, value);
  }
  return Object.fromEntries(given);
}

const currencyOf = (fields: RowFields, column: string): string | undefined =>
  fields.text(column, isCurrency, 'be a currency of ISO 4217 in upper case');

const STATUSES: readonly SideStatus[] = ['PENDING', 'APPROVED', 'DENIED'];

/** @throws {RowFault} */
export function referralCommand(names: Names, scope: Scope, row: ImportRow): RowCommand {
  const fields = new RowFields(row);
  const referredAccount = required(fields.id('referredAccount'), 'referredAccount');
  const userId = required(fields.id('referredUser'), 'referredUser');
  const ofReferrer = new RowFields(row);
  const referrerAccount = ofReferrer.id('referrerAccount');
  const referrerUser = ofReferrer.id('referrerUser');
  if ((referrerAccount === undefined) !== (referrerUser === undefined))
    throw new RowFault('referrerAccount and referrerUser must be given together');
  const isGone = referrerAccount === undefined || referrerUser === undefined;
  const account = names.accountRef(scope, referredAccount);
  const referrer = isGone
    ? undefined
    : { account: names.accountRef(scope, referrerAccount), userId: referrerUser };
  const id = fields.id('id');
  const named = (column: string, of: AccountRef): NamedReward | undefined => {
    const reward = fields.id(column);
    if (reward === undefined) return undefined;
    const ref = names.importedRowRef(scope, 'rewards', 'id', reward);
    return { ref, rewardId: idWithin(of, importedIdOf(ref)) };
  };
  const sides = [referredAccount, userId, referrerAccount ?? '', referrerUser ?? ''];
  // No account has an empty id.
  const noAccount = names.accountRef(scope, '');
  return {
    account,
    command: {
      type: 'ImportReferral',
      ref:
        id === undefined
          ? names.importedRowRef(scope, 'referrals', 'sides', ...sides)
          : names.importedRowRef(scope, 'referrals', 'id', id),
      hasId: id !== undefined,
      userId,
      referrer,
      noAccount,
      programId: fields.text('programId'),
      // A deleted person's code is not shown.
      code: (isGone ? fields : ofReferrer).text('referralCodeUsed'),
      dateStarted: fields.typed<number>('dateReferralStarted'),
      datePaid: fields.typed<number>('dateReferralPaid'),
      dateEnded: fields.typed<number>('dateReferralEnded'),
      referredStatus: fields.oneOf('referredModerationStatus', STATUSES) ?? 'APPROVED',
      referrerStatus: fields.oneOf('referrerModerationStatus', STATUSES) ?? 'APPROVED',
      rewards: {
        referred: named('referredReward', account),
        referrer: named('referrerReward', referrer?.account ?? noAccount),
      },
      row: fields.values,
      referrerRow: ofReferrer.values,
    },
  };
}

const SOURCES: readonly RewardSource[] = ['FRIEND_SIGNUP', 'REFERRED', 'MANUAL', 'EVENT'];

/** @throws {RowFault} */
export function rewardCommand(names: Names, scope: Scope, row: ImportRow): RowCommand {
  const { accountId, id, values, ...said } = rewardOf(row);
  const { equalRowNumber = 1 } = row as { readonly equalRowNumber?: number };
  const ref = id === undefined ? [canonicalJson(values), String(equalRowNumber)] : ['id', id];
  return {
    account: names.accountRef(scope, accountId),
    command: {
      type: 'ImportReward',
      ref: names.importedRowRef(scope, 'rewards', ...ref),
      hasId: id !== undefined,
      ...said,
      row: values,
    },
  };
}

/** The values that identify a reward without an id. Undefined: the row is rejected. */
export function valuesOfReward(row: ImportRow): RowValues | undefined {
  try {
    return rewardOf(row).values;
  } catch (error) {
    if (error instanceof RowFault) return undefined;
    throw error;
  }
}

/** @throws {RowFault} */
function rewardOf(row: ImportRow) {
  const fields = new RowFields(row);
  const type = required(fields.oneOf('type', REWARD_TYPES), 'type');
  const accountId = required(fields.id('accountId'), 'accountId');
  const userId = required(fields.id('userId'), 'userId');
  const id = fields.id('id');
  const value = valueOf(fields, type);
  const source = fields.text('rewardSource');
  const said = {
    name: fields.text('name') ?? null,
    // Sources of the other program that do not exist here.
    source: SOURCES.find((one) => one === source) ?? 'MANUAL',
    programId: fields.text('programId') ?? null,
    redeemed: fields.amount('redeemed', 0) ?? 0,
    cancellable: fields.typed<boolean>('cancellable') ?? true,
    dateGiven: fields.typed<number>('dateGiven') ?? null,
    dateScheduledFor: fields.typed<number>('dateScheduledFor') ?? null,
    dateExpires: fields.typed<number>('dateExpires') ?? null,
    dateCancelled: fields.typed<number>('dateCancelled') ?? null,
  };
  return { accountId, userId, id, value, ...said, values: fields.values };
}

/** Columns of other types are compared but have no effect. */
function valueOf(fields: RowFields, type: RewardValue['type']): RewardValue {
  const unit = fields.text('unit', isUnit, 'be 1 to 64 characters without control characters');
  const amount = fields.amount('amount', 1);
  const currency = currencyOf(fields, 'currency');
  const percent = fields.amount('discountPercent', 1, 100);
  const fuelTankCode = fields.text('fuelTankCode');
  const fuelTankType = fields.oneOf('fuelTankType', ['PCT_DISCOUNT', 'CREDIT'] as const);
  switch (type) {
    case 'CREDIT':
      return {
        type,
        unit: required(unit, 'unit'),
        assignedCredit: required(amount, 'amount'),
        currency: currency ?? null,
      };
    case 'PCT_DISCOUNT': {
      const discountPercent = required(
        percent ?? (unit === '%' ? amount : undefined),
        'discountPercent',
      );
      if (discountPercent > 100) throw new RowFault('amount must be at most 100 with unit %');
      return { type, discountPercent, monthsDiscountIsValid: null };
    }
    case 'FUELTANK':
      return {
        type,
        fuelTankCode: required(fuelTankCode, 'fuelTankCode'),
        fuelTankType: required(fuelTankType, 'fuelTankType'),
        amount: required(amount, 'amount'),
        unit: unit ?? null,
      };
  }
}

const definedOf = <T extends object>(members: T): Partial<T> =>
  Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined),
  ) as Partial<T>;
