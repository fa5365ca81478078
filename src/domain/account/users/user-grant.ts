import type { Profile } from '../account.events.js';
import type { UserState } from '../account.state.js';
import { applySegment, emptyProfile, type ProfileChanges } from './identify-user.js';
import { ownMember } from '../../own-member.js';

/** Requested or allowed fields of a user. Codes are in order of precedence. */
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

/** Writing a stored value again needs no permission. */
export interface StoredFields {
  readonly user: UserState | undefined;
  readonly defaultProgramId: string;
  readonly paymentProviderId: string | null;
  readonly attributedCode: string | null;
}

const TEXTS = ['email', 'firstName', 'lastName', 'imageUrl', 'locale', 'countryCode'] as const;

/** Requested fields that differ from the grant and from the stored value. */
export function fieldsNotGranted(
  asked: UserFields,
  granted: UserFields,
  stored: StoredFields,
): readonly string[] {
  const { user, attributedCode } = stored;
  const primary = (programId: string): string | undefined => user?.primaryCodes.get(programId);
  const ofPrograms = Object.entries(asked.referralCodes).map(([id, code]): Permission => [
    `referralCodes.${id}`,
    isGranted(code, ownMember(granted.referralCodes, id), primary(id)),
  ]);
  const known = [...granted.codes, attributedCode].map((code) => code?.toLowerCase());
  const permissions: readonly Permission[] = [
    ...ofProfile(asked.changes, granted.changes, user?.profile ?? emptyProfile('')),
    [
      'referralCode',
      isGranted(asked.referralCode, granted.referralCode, primary(stored.defaultProgramId)),
    ],
    ...ofPrograms,
    [
      'paymentProviderId',
      isGranted(asked.paymentProviderId, granted.paymentProviderId, stored.paymentProviderId),
    ],
    ['referredBy', asked.codes.every((code) => known.includes(code.toLowerCase()))],
  ];
  return permissions.filter(([, isGiven]) => !isGiven).map(([field]) => field);
}

/** Whether a field may be written. */
type Permission = readonly [field: string, isGiven: boolean];

const isGranted = <T>(
  asked: T | undefined,
  granted: T | undefined,
  stored: T | null | undefined,
): boolean => asked === undefined || asked === granted || asked === stored;

function ofProfile(
  asked: ProfileChanges,
  granted: ProfileChanges,
  stored: Profile,
): readonly Permission[] {
  // Null is the default, true.
  const referable = (value: boolean | null | undefined) => (value === null ? true : value);
  // An operation without an effect needs no permission.
  const isFree = (operation: string): boolean =>
    (granted.segments ?? []).includes(operation) ||
    applySegment(stored.segments, operation).join('\n') === stored.segments.join('\n');
  const customFields = Object.entries(asked.customFields ?? {}).map(([name, value]): Permission => [
    `customFields.${name}`,
    isGranted(
      value,
      ownMember(granted.customFields ?? {}, name),
      ownMember(stored.customFields, name) ?? null,
    ),
  ]);
  return [
    // Older releases recorded white space around names and addresses.
    ...TEXTS.map((name): Permission => [
      name,
      isGranted(asked[name], granted[name], stored[name]?.trim() ?? null),
    ]),
    [
      'referable',
      isGranted(referable(asked.referable), referable(granted.referable), stored.referable),
    ],
    ...customFields,
    ['segments', (asked.segments ?? []).every(isFree)],
  ];
}
