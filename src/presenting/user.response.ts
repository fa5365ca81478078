import { createHash } from 'node:crypto';
import {
  ApiExtraModels,
  ApiProperty,
  getSchemaPath,
  OmitType,
  PartialType,
  PickType,
} from '@nestjs/swagger';
import type { UserFacts } from '../domain/account/account.facts.js';
import { Integer, Text, TextOrNull, TextUntilForgotten, Time } from './answer-members.js';
import { ProgramShareLinksResponse, ShareLinksResponse } from './share-links.response.js';
import type { ShareLinks } from './share-links.js';
import { ownMember } from '../domain/own-member.js';

class ReferredByResponse {
  @TextOrNull()
  code: string | null;

  @ApiProperty({ type: Boolean })
  isConverted: boolean;

  @ApiProperty({ type: Boolean })
  newlyReferred: boolean;
}

@ApiExtraModels(ProgramShareLinksResponse)
export class UserResponse {
  @Text()
  id: string;

  @Text()
  accountId: string;

  @TextOrNull()
  referralCode: string | null;

  @TextOrNull()
  email: string | null;

  @Text()
  imageUrl: string;

  @TextOrNull()
  firstName: string | null;

  @TextOrNull()
  lastName: string | null;

  @TextOrNull()
  locale: string | null;

  @TextOrNull()
  countryCode: string | null;

  @TextOrNull()
  firstSeenIP: string | null;

  @TextOrNull()
  lastSeenIP: string | null;

  @Time()
  dateCreated: number;

  @TextOrNull()
  emailHash: string | null;

  @TextOrNull()
  referralSource: string | null;

  @ApiProperty({ type: ShareLinksResponse, nullable: true })
  shareLinks: ShareLinksResponse | null;

  @ApiProperty({
    type: 'object',
    additionalProperties: { $ref: getSchemaPath(ProgramShareLinksResponse) },
  })
  programShareLinks: Readonly<Record<string, ProgramShareLinksResponse>>;

  @TextOrNull()
  cookieId: string | null;

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string' },
  })
  referralCodes: Readonly<Record<string, string>>;

  @ApiProperty({ type: ReferredByResponse, nullable: true })
  referredBy: ReferredByResponse | null;

  @ApiProperty({ type: [String] })
  referredByCodes: readonly string[];

  @ApiProperty({ type: Boolean })
  referable: boolean;

  @ApiProperty({
    type: 'object',
    additionalProperties: { oneOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] },
  })
  customFields: Readonly<Record<string, string | number | boolean>>;

  @ApiProperty({ type: [String] })
  segments: readonly string[];

  @TextOrNull()
  paymentProviderId: string | null;
}

/** With `fields` only those; with `extraFields` more. */
export class SelectedUserResponse extends PartialType(UserResponse) {
  @TextOrNull({ required: false })
  lastInitial?: string | null;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    required: false,
  })
  dateBlocked?: number | null;
}

export class WrittenUserResponse extends OmitType(UserResponse, ['id', 'accountId']) {
  @TextUntilForgotten()
  id: string | null;

  @TextUntilForgotten()
  accountId: string | null;
}

/** A visitor known by a cookie. */
export class CookieUserResponse extends WrittenUserResponse {
  @TextOrNull()
  lastInitial: string | null;
}

export class WrittenSelectedUserResponse extends PartialType(CookieUserResponse) {
  @ApiProperty({
    type: 'integer',
    nullable: true,
    required: false,
  })
  dateBlocked?: number | null;
}

const LISTED = [
  'id',
  'accountId',
  'email',
  'firstName',
  'lastName',
  'referralCode',
  'imageUrl',
  'dateCreated',
  'emailHash',
] as const;

export class UserListItemResponse extends PickType(UserResponse, LISTED) {}

const PUBLIC = [
  'id',
  'accountId',
  'email',
  'firstName',
  'lastName',
  'referralCode',
  'imageUrl',
] as const;

export class PublicUserResponse extends PickType(UserResponse, PUBLIC) {
  @TextOrNull()
  lastInitial: string | null;
}

export class UserListResponse {
  @Integer()
  count: number;

  @Integer()
  totalCount: number;

  @ApiProperty({ type: [UserListItemResponse] })
  users: readonly UserListItemResponse[];
}

export interface UserSurroundings {
  readonly links: ShareLinks;
  /** `referralCode` and `shareLinks` are of this program. */
  readonly defaultProgramId: string;
  /** True in the answer to the call that started the referral. */
  readonly newlyReferred?: boolean;
}

/** A full user. `imageUrl` is `""` when unset; lists and maps are empty rather than null. */
export function userJson(
  facts: UserFacts,
  { links, defaultProgramId, newlyReferred = false }: UserSurroundings,
): UserResponse {
  const code = ownCode(facts, defaultProgramId);
  return {
    id: facts.userId,
    accountId: facts.accountId,
    referralCode: code,
    email: facts.email,
    imageUrl: facts.imageUrl ?? '',
    firstName: facts.firstName,
    lastName: facts.lastName,
    locale: facts.locale,
    countryCode: facts.countryCode,
    firstSeenIP: facts.firstSeenIP,
    lastSeenIP: facts.lastSeenIP,
    dateCreated: facts.dateCreated,
    emailHash: emailHash(facts.email),
    referralSource: facts.referralSource,
    shareLinks: code === null ? null : links.flat(code),
    programShareLinks: Object.fromEntries(
      Object.entries(facts.referralCodes).map(([program, own]) => [program, links.ofProgram(own)]),
    ),
    cookieId: facts.cookieId,
    referralCodes: { ...facts.referralCodes },
    referredBy:
      facts.referredBy === null
        ? null
        : { code: facts.referredBy.code, isConverted: facts.referredBy.isConverted, newlyReferred },
    referredByCodes:
      facts.referredBy === null || facts.referredBy.code === null ? [] : [facts.referredBy.code],
    referable: facts.referable,
    customFields: { ...facts.customFields },
    segments: [...facts.segments],
    paymentProviderId: facts.paymentProviderId,
  };
}

/** The values of `fields` and `extraFields` of open endpoints. */
export const USER_FIELDS = {
  standard: [
    'id',
    'accountId',
    'referralCode',
    'email',
    'imageUrl',
    'firstName',
    'lastName',
    'locale',
    'countryCode',
    'firstSeenIP',
    'lastSeenIP',
    'dateCreated',
    'emailHash',
    'referralSource',
    'shareLinks',
    'programShareLinks',
    'cookieId',
    'referralCodes',
    'referredBy',
    'referredByCodes',
    'referable',
    'customFields',
    'segments',
    'paymentProviderId',
    'lastInitial',
  ],
  extra: ['dateBlocked'],
} as const satisfies {
  readonly standard: readonly (keyof UserResponse | 'lastInitial')[];
  readonly extra: readonly 'dateBlocked'[];
};

/** A full user, reduced or extended to the selected members (see `fieldSelection`). */
export function selectedUserJson(
  facts: UserFacts,
  surroundings: UserSurroundings,
  selection: readonly string[],
): SelectedUserResponse {
  const all: Required<SelectedUserResponse> = {
    ...userJson(facts, surroundings),
    lastInitial: initialOf(facts.lastName),
    dateBlocked: facts.dateBlocked,
  };
  const isSelected = ([name]: readonly [string, unknown]): boolean => selection.includes(name);
  return Object.fromEntries(Object.entries(all).filter(isSelected));
}

/** The public view of a user, found by a code. */
export function publicUserJson(facts: UserFacts, defaultProgramId: string): PublicUserResponse {
  return {
    id: facts.userId,
    accountId: facts.accountId,
    email: facts.email,
    firstName: facts.firstName,
    lastName: facts.lastName,
    lastInitial: initialOf(facts.lastName),
    referralCode: ownCode(facts, defaultProgramId),
    imageUrl: facts.imageUrl ?? '',
  };
}

/** The public view for a tenant that narrows it. */
export const minimalUser = (user: PublicUserResponse): PublicUserResponse => ({
  ...user,
  email: null,
  lastName: null,
});

/** The nine members of an entry of `/users`. */
export function userListItemJson(facts: UserFacts, defaultProgramId: string): UserListItemResponse {
  const { lastInitial: _, ...user } = publicUserJson(facts, defaultProgramId);
  return {
    ...user,
    dateCreated: facts.dateCreated,
    emailHash: emailHash(facts.email),
  };
}

const ownCode = (facts: UserFacts, programId: string): string | null =>
  ownMember(facts.referralCodes, programId) ?? null;

/**
 * MD5 in hex of the trimmed address in lower case: a convention that clients compute too (for
 * avatars), and no protection.
 */
export const emailHash = (email: string | null): string | null =>
  email === null ? null : createHash('md5').update(email.trim().toLowerCase()).digest('hex');

/** A user as the other party of a referral sees it: only name and code of the person. */
export function reducedForOtherParty(user: UserResponse): UserResponse {
  return {
    ...user,
    email: null,
    emailHash: null,
    firstSeenIP: null,
    lastSeenIP: null,
    // A person who knows the cookie id can write as that visitor.
    cookieId: null,
    paymentProviderId: null,
    customFields: {},
    segments: [],
  };
}

/** In code points, to keep surrogate pairs whole. */
export const initialOf = (lastName: string | null): string | null =>
  [...(lastName ?? '').trim()][0] ?? null;
