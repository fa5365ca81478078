import { reservationKey, type InNeed, type NeededReservation } from '../../need.js';
import type { Decision } from '../../decision.js';
import { refused, type Refusal, type Refused } from '../../refusal.js';
import { programsOf } from '../../tenant/program-document.js';
import type { OpenTenant } from '../../tenant/tenant.decider.js';
import type { AccountEvent, PersonId } from '../account.events.js';
import type { AccountState, OpenAccount, UserState } from '../account.state.js';
import { reservationOfProviderId } from '../provider/apply-discount.js';
import { isSuppressed } from '../erasure/erasure.js';
import {
  findOrOpenAccount,
  upsertUser,
  type AccountToOpen,
  type ProfileChanges,
} from '../users/identify-user.js';
import type { CallOrigin } from '../users/call-origin.js';
import { fieldsNotGranted, type UserFields } from '../users/user-grant.js';
import type { Circumstances } from './circumstances.js';
import { codesInCookies } from './cookie-codes.js';
import { referralContext } from './referral-context.js';
import { accountSubject, newPerson } from './subjects.js';
import { ownMember } from '../../own-member.js';

export interface UpsertUserRequest extends UserFields {
  readonly type: 'UpsertUser';
  readonly userId: string;
  /** Id for opening a missing account. */
  readonly openAccount?: string;
  readonly mustBeNew?: boolean;
  /** Base64URL of a visitor's cookies, whose codes count after the others. */
  readonly cookies?: string | undefined;
  /** The fields that the caller may write; undefined: all. */
  readonly granted?: UserFields | undefined;
  /** The user's address, when the user called. */
  readonly seen?: CallOrigin | undefined;
}

/** Changes nothing: checks whether the caller may write the fields. */
export interface CheckUserFieldsRequest extends Omit<UpsertUserRequest, 'type'> {
  readonly type: 'CheckUserFields';
}

export function requestCheckUserFields(
  state: AccountState,
  request: CheckUserFieldsRequest,
  { tenant }: Circumstances,
): Decision<AccountEvent> {
  return refusalOfFields(state, request, tenant) ?? { events: [] };
}

/** Refusals by rights, request and state, in this order, before any reservation. */
export function requestUpsertUser(
  state: AccountState,
  request: UpsertUserRequest,
  given: Circumstances,
): Decision<AccountEvent> {
  const { userId, changes, paymentProviderId, mustBeNew = false, seen } = request;
  const notAllowed = refusalOfFields(state, request, given.tenant);
  if (notAllowed) return notAllowed;
  const wanted = wantedCodes(request, given.tenant);
  if ('refused' in wanted) return wanted;
  const openAccount = accountToOpen(state, request, given);
  if (openAccount && 'needs' in openAccount) return openAccount;
  const opened = findOrOpenAccount(state, openAccount, given.now)?.account;
  if (!opened) return refused('ACCOUNT_NOT_FOUND');
  const known = opened.personsByUserId.get(userId);
  const against = refusalOfUser(request, opened, known, given);
  if (against) return against;
  const person = known ?? newPerson(userId, state, given);
  if (typeof person === 'object') return person;
  const codes = reservedCodes({ request, wanted, account: opened, person }, given);
  if (!Array.isArray(codes)) return codes;
  const { alias, defaultProgramId } = given.tenant;
  const inCookies = codesInCookies(request.cookies, { alias, defaultProgramId, now: given.now });
  const context = referralContext(state, [...request.codes, ...inCookies], given);
  if ('needs' in context) return context;
  return upsertUser(state, {
    type: 'UpsertUser',
    userId,
    newPerson: person,
    openAccount,
    mustBeNew,
    seen,
    changes,
    codes,
    paymentProviderId,
    context,
  });
}

function accountToOpen(
  state: AccountState,
  { openAccount }: UpsertUserRequest,
  given: Circumstances,
): AccountToOpen | InNeed | undefined {
  if (openAccount === undefined) return undefined;
  const newAccount = accountSubject(state, given);
  return typeof newAccount === 'object' ? newAccount : { accountId: openAccount, newAccount };
}

/** Refusals by the account alone, in order of precedence. */
function refusalOfUser(
  request: UpsertUserRequest,
  account: OpenAccount,
  known: PersonId | undefined,
  { ids }: Circumstances,
): Refused | undefined {
  if (known !== undefined) return request.mustBeNew ? refused('USER_EXISTS') : undefined;
  const isForgotten = isSuppressed(account, ids.userRef(request.userId));
  return isForgotten ? refused('DO_NOT_TRACK') : undefined;
}

function refusalOfFields(
  state: AccountState,
  request: Omit<UpsertUserRequest, 'type'>,
  { defaultProgramId }: OpenTenant,
): Refused | undefined {
  if (request.granted === undefined) return undefined;
  const account = state.status === 'open' ? state : undefined;
  const known = account?.personsByUserId.get(request.userId);
  const fields = fieldsNotGranted(request, request.granted, {
    user: known === undefined ? undefined : account?.users.get(known),
    paymentProviderId: account?.paymentProviderId ?? null,
    defaultProgramId,
    attributedCode: account?.attribution?.code ?? null,
  });
  return fields.length === 0
    ? undefined
    : refused(
        'FIELD_NOT_GRANTED',
        `The token does not allow the values in the body of ${fields.join(', ')}: leave it out, or send a token with these values`,
      );
}

interface CodesOfUser {
  readonly request: Pick<UpsertUserRequest, 'changes' | 'paymentProviderId'>;
  /** Program id → code. */
  readonly wanted: ReadonlyMap<string, string>;
  readonly account: OpenAccount;
  readonly person: PersonId;
}

type Codes = { readonly code: string; readonly programId: string }[];

/** The codes, generated ones included, once reserved; otherwise the missing reservations. */
export function reservedCodes(
  asked: CodesOfUser,
  { tenant, provided: { reservations } }: Circumstances,
): Codes | Refused | InNeed {
  const split = ownCodes(asked);
  if ('refused' in split) return split;
  const { codes, needs } = split;
  needs.push(...generatedCodes(asked, tenant), ...paymentProviderId(asked));
  for (const need of needs) {
    const reserved = ownMember(reservations, reservationKey(need));
    if (reserved === undefined)
      return { needs: needs.filter((other) => !ownMember(reservations, reservationKey(other))) };
    if ('refused' in reserved) return refusalOf(need, reserved.refused);
    if (reserved.code !== null && 'programId' in need.what) {
      codes.push({ code: reserved.code, programId: need.what.programId });
    }
  }
  return codes;
}

/** The user's own ones of the requested codes, and reservations for the others. */
function ownCodes({
  wanted,
  account,
  person,
}: CodesOfUser): { codes: Codes; needs: NeededReservation[] } | Refused {
  const { lapses } = account.remains;
  const user = account.users.get(person);
  const codes: Codes = [];
  const needs: NeededReservation[] = [];
  for (const [programId, code] of wanted) {
    const own = user?.codes.get(code.toLowerCase());
    if (own && own.programId !== programId) {
      return ofAnotherProgram(programId);
    }
    if (own) codes.push({ code, programId });
    else
      needs.push({ kind: 'reservation', what: { kind: 'code', code, person, programId }, lapses });
  }
  return { codes, needs };
}

function generatedCodes(
  { request, wanted, account, person }: CodesOfUser,
  tenant: OpenTenant,
): NeededReservation[] {
  const user = account.users.get(person);
  const name = nameOf(request.changes, user);
  return programsOf(tenant)
    .filter(({ id }) => !wanted.has(id) && !user?.primaryCodes.has(id))
    .map(({ id: programId }) => ({
      kind: 'reservation',
      what: { kind: 'generated-code', name, person, programId },
      lapses: account.remains.lapses,
    }));
}

function paymentProviderId({ request, account }: CodesOfUser): NeededReservation[] {
  const { paymentProviderId: id } = request;
  if (id === undefined || account.paymentProviderId !== null) return [];
  return [reservationOfProviderId(account, id)];
}

function refusalOf({ what }: NeededReservation, refusal: Refusal): Refused {
  if (what.kind === 'payment-provider-id') return refused('PAYMENT_PROVIDER_ID_USED');
  return refusal === 'CODE_PROGRAM_CONFLICT'
    ? ofAnotherProgram(what.programId)
    : refused('REFERRAL_CODE_TAKEN');
}

const ofAnotherProgram = (programId: string): Refused =>
  refused(
    'CODE_PROGRAM_CONFLICT',
    `referralCodes.${programId} is a code of the user in another program: choose another code`,
  );

/** First and last name after the changes. */
function nameOf(changes: ProfileChanges, user: UserState | undefined): string {
  const { firstName = user?.profile?.firstName, lastName = user?.profile?.lastName } = changes;
  return `${firstName ?? ''}${lastName ?? ''}`;
}

/** Program id → requested code. */
function wantedCodes(
  { referralCode, referralCodes }: Pick<UserFields, 'referralCode' | 'referralCodes'>,
  tenant: OpenTenant,
): Map<string, string> | Refused {
  const wanted = new Map(Object.entries(referralCodes));
  for (const programId of wanted.keys()) {
    if (!Object.hasOwn(tenant.programs, programId)) {
      return refused(
        'PROGRAM_UNKNOWN',
        `referralCodes.${programId} names a program that the tenant does not have: leave it out`,
      );
    }
  }
  if (referralCode === undefined) return wanted;
  const named = wanted.get(tenant.defaultProgramId);
  if (named !== undefined && named.toLowerCase() !== referralCode.toLowerCase()) {
    return refused(
      'CODE_PROGRAM_CONFLICT',
      'referralCode and referralCodes name two codes for the default program: send one of them',
    );
  }
  return wanted.set(tenant.defaultProgramId, referralCode);
}
