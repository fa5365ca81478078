import type { CustomFieldValue, Profile } from '../account.events.js';
import type { UserState } from '../account.state.js';
import { applySegment, emptyProfile, type ProfileChanges } from './identify-user.js';
import { ownMember } from '../../own-member.js';

/**
 * The fields of a user in a request, or those that a token allows. Codes are in order of
 * precedence.
 */
export interface UserFields {
  readonly changes: ProfileChanges;
  /** For the default program. */
  readonly referralCode: string | undefined;
  /** By program id. */
  readonly referralCodes: Readonly<Record<string, string>>;
  readonly paymentProviderId: string | undefined;
  /** Of a referrer. */
  readonly codes: readonly string[];
}

/** The stored fields: writing the same value needs no permission. */
export interface StoredFields {
  readonly user: UserState | undefined;
  readonly defaultProgramId: string;
  readonly paymentProviderId: string | null;
  /** The code that referred the account. */
  readonly attributedCode: string | null;
}

const TEXTS = ['email', 'firstName', 'lastName', 'imageUrl', 'locale', 'countryCode'] as const;

/**
 * Names the requested fields that differ both from the grant and from the stored value. Empty: all
 * may be written. Granted fields that are not requested are not written.
 */
export function fieldsNotGranted(
  asked: UserFields,
  granted: UserFields,
  stored: StoredFields,
): readonly string[] {
  const profile = stored.user?.profile ?? emptyProfile('');
  return [
    ...textsNotGranted(asked.changes, granted.changes, profile),
    ...(isReferableGranted(asked.changes.referable, granted.changes.referable, profile)
      ? []
      : ['referable']),
    ...customFieldsNotGranted(asked.changes, granted.changes, profile),
    ...segmentsNotGranted(asked.changes, granted.changes, profile),
    ...ownCodesNotGranted(asked, granted, stored),
    ...(isGranted(asked.paymentProviderId, granted.paymentProviderId, stored.paymentProviderId)
      ? []
      : ['paymentProviderId']),
    ...(asked.codes.every((code) =>
      isSameCodeAsOneOf(code, [...granted.codes, stored.attributedCode]),
    )
      ? []
      : ['referredBy']),
  ];
}

function isGranted<T>(
  asked: T | undefined,
  granted: T | undefined,
  stored: T | null | undefined,
): boolean {
  return asked === undefined || asked === granted || asked === stored;
}

function textsNotGranted(
  asked: ProfileChanges,
  granted: ProfileChanges,
  stored: Profile,
): readonly string[] {
  // A name or an address of an older release may have white space around it.
  return TEXTS.filter(
    (name) => !isGranted(asked[name], granted[name], stored[name]?.trim() ?? null),
  );
}

/** Null is the default, true. */
function isReferableGranted(
  asked: boolean | null | undefined,
  granted: boolean | null | undefined,
  { referable }: Profile,
): boolean {
  const plain = (value: boolean | null | undefined): boolean | undefined =>
    value === null ? true : value;
  return isGranted(plain(asked), plain(granted), referable);
}

function customFieldsNotGranted(
  asked: ProfileChanges,
  granted: ProfileChanges,
  stored: Profile,
): readonly string[] {
  const valueIn = (
    fields: Readonly<Record<string, CustomFieldValue | null>> | undefined,
    name: string,
  ) => (fields === undefined ? undefined : ownMember(fields, name));
  return Object.entries(asked.customFields ?? {})
    .filter(
      ([name, value]) =>
        !isGranted(
          value,
          valueIn(granted.customFields, name),
          valueIn(stored.customFields, name) ?? null,
        ),
    )
    .map(([name]) => `customFields.${name}`);
}

/** An operation without an effect needs no permission. */
function segmentsNotGranted(
  asked: ProfileChanges,
  granted: ProfileChanges,
  { segments }: Profile,
): readonly string[] {
  const isFree = (operation: string): boolean =>
    (granted.segments ?? []).includes(operation) ||
    applySegment(segments, operation).join('\n') === segments.join('\n');
  return (asked.segments ?? []).every(isFree) ? [] : ['segments'];
}

function ownCodesNotGranted(
  asked: UserFields,
  granted: UserFields,
  { user, defaultProgramId }: StoredFields,
): readonly string[] {
  const primary = (programId: string): string | undefined => user?.primaryCodes.get(programId);
  const ofPrograms = Object.entries(asked.referralCodes)
    .filter(([id, code]) => !isGranted(code, ownMember(granted.referralCodes, id), primary(id)))
    .map(([id]) => `referralCodes.${id}`);
  return [
    ...(isGranted(asked.referralCode, granted.referralCode, primary(defaultProgramId))
      ? []
      : ['referralCode']),
    ...ofPrograms,
  ];
}

const isSameCodeAsOneOf = (code: string, others: readonly (string | null)[]): boolean =>
  others.some((other) => other?.toLowerCase() === code.toLowerCase());
