import { createHash } from 'node:crypto';
import { ApiExtraModels, getSchemaPath, PartialType } from '@nestjs/swagger';
import type { UserFacts } from '../domain/account/account.facts.js';
import {
  answer,
  answerOf,
  answers,
  flag,
  integer,
  mapOf,
  orNull,
  text,
  texts,
  textUntilForgotten,
  time,
} from './answer-members.js';
import { ProgramShareLinksResponse, ShareLinksResponse } from './share-links.response.js';
import type { ShareLinks } from './share-links.js';
import { ownMember } from '../domain/own-member.js';

class ReferredByResponse extends answerOf({
  code: orNull(text),
  isConverted: flag,
  newlyReferred: flag,
}) {}

const USER = {
  id: text,
  accountId: text,
  referralCode: orNull(text),
  email: orNull(text),
  imageUrl: text,
  firstName: orNull(text),
  lastName: orNull(text),
  locale: orNull(text),
  countryCode: orNull(text),
  firstSeenIP: orNull(text),
  lastSeenIP: orNull(text),
  dateCreated: time,
  emailHash: orNull(text),
  referralSource: orNull(text),
  shareLinks: orNull(answer(ShareLinksResponse)),
  programShareLinks: mapOf<ProgramShareLinksResponse>({
    $ref: getSchemaPath(ProgramShareLinksResponse),
  }),
  cookieId: orNull(text),
  referralCodes: mapOf<string>({ type: 'string' }),
  referredBy: orNull(answer(ReferredByResponse)),
  referredByCodes: texts,
  referable: flag,
  customFields: mapOf<string | number | boolean>({
    oneOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }],
  }),
  segments: texts,
  paymentProviderId: orNull(text),
};
const LAST_INITIAL = { lastInitial: orNull(text) };
const DATE_BLOCKED = { dateBlocked: orNull(time) };

@ApiExtraModels(ProgramShareLinksResponse)
export class UserResponse extends answerOf(USER) {}

/** With `fields` only these; with `extraFields` additional ones. */
export class SelectedUserResponse extends PartialType(
  answerOf({ ...USER, ...LAST_INITIAL, ...DATE_BLOCKED }),
) {}

const WRITTEN = { ...USER, id: textUntilForgotten, accountId: textUntilForgotten };

export class WrittenUserResponse extends answerOf(WRITTEN) {}

/** A visitor identified by a cookie. */
export class CookieUserResponse extends answerOf({ ...WRITTEN, ...LAST_INITIAL }) {}

export class WrittenSelectedUserResponse extends PartialType(
  answerOf({ ...WRITTEN, ...LAST_INITIAL, ...DATE_BLOCKED }),
) {}

const { id, accountId, email, firstName, lastName, referralCode, imageUrl } = USER;
const PUBLIC = { id, accountId, email, firstName, lastName, referralCode, imageUrl };

export class UserListItemResponse extends answerOf({
  ...PUBLIC,
  dateCreated: USER.dateCreated,
  emailHash: USER.emailHash,
}) {}

export class PublicUserResponse extends answerOf({ ...PUBLIC, ...LAST_INITIAL }) {}

export class UserListResponse extends answerOf({
  count: integer,
  totalCount: integer,
  users: answers(UserListItemResponse),
}) {}

export interface UserSurroundings {
  readonly links: ShareLinks;
  /** The program of `referralCode` and `shareLinks`. */
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

/** Values of `fields` and `extraFields` of open endpoints. */
export const USER_FIELDS: Readonly<Record<'standard' | 'extra', readonly string[]>> = {
  standard: Object.keys({ ...USER, ...LAST_INITIAL }),
  extra: Object.keys(DATE_BLOCKED),
};

/** A user with the selected members (see `fieldSelection`). */
export function selectedUserJson(
  user: UserResponse,
  facts: Pick<UserFacts, 'lastName' | 'dateBlocked'>,
  selection: readonly string[],
): SelectedUserResponse {
  const all: Required<SelectedUserResponse> = {
    ...user,
    lastInitial: initialOf(facts.lastName),
    dateBlocked: facts.dateBlocked,
  };
  const isSelected = ([name]: readonly [string, unknown]): boolean => selection.includes(name);
  return Object.fromEntries(Object.entries(all).filter(isSelected));
}

/** A user as found by a code. */
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

/** The public view for a tenant that restricts it. */
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

/** MD5 of the trimmed lower-case address, which clients compute for avatars; not a protection. */
export const emailHash = (email: string | null): string | null =>
  email === null ? null : createHash('md5').update(email.trim().toLowerCase()).digest('hex');

/** A user as the other party of a referral sees it: name and code only. */
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

/** In code points, so that surrogate pairs stay whole. */
export const initialOf = (lastName: string | null): string | null =>
  [...(lastName ?? '').trim()][0] ?? null;
