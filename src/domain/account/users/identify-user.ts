import { personal, type SubjectId } from '../../personal.js';
import type { Decision } from '../../decision.js';
import { refused } from '../../refusal.js';
import type { AccountEvent, CustomFieldValue, PersonId, Profile } from '../account.events.js';
import { evolve, type AccountState, type OpenAccount, type UserState } from '../account.state.js';
import { Draft } from '../draft.js';
import { changeProfile } from './profile-change.js';
import {
  attributeIfPossible,
  isReferable,
  startAndConvert,
  type ReferralContext,
} from '../referral/referral.js';
import { withCallOrigin, type CallOrigin } from './call-origin.js';
import { accountOpened, DEFAULT_CURRENCY } from '../sync-account.js';

export const USERS_MAX = 1000;

/** Missing members keep the stored value; null clears it. */
export interface ProfileChanges {
  readonly email?: string | null;
  readonly firstName?: string | null;
  readonly lastName?: string | null;
  readonly imageUrl?: string | null;
  readonly locale?: string | null;
  readonly countryCode?: string | null;
  /** Null: the default, true. */
  readonly referable?: boolean | null;
  /** Merged; null removes a field. */
  readonly customFields?: Readonly<Record<string, CustomFieldValue | null>>;
  /** Operations in order: `key` adds, `~key` removes, `~*` clears. */
  readonly segments?: readonly string[];
  readonly cookieId?: string;
}

/** Opens a missing account with the user, at open endpoints. */
export interface AccountToOpen {
  readonly accountId: string;
  /** Key name for a new account. */
  readonly newAccount: SubjectId;
}

export interface UpsertUser {
  readonly type: 'UpsertUser';
  readonly userId: string;
  /** Undefined: a missing account is refused. */
  readonly openAccount?: AccountToOpen | undefined;
  /** An existing user is refused. */
  readonly mustBeNew?: boolean;
  /** The user's address, when the user called. */
  readonly seen?: CallOrigin | undefined;
  /** Key name for a new person. */
  readonly newPerson: PersonId;
  readonly changes: ProfileChanges;
  /** Codes reserved for this person; each becomes the primary of its program. */
  readonly codes: readonly { readonly code: string; readonly programId: string }[];
  /** Reserved for this account; undefined: not in the request. */
  readonly paymentProviderId: string | undefined;
  readonly context: ReferralContext;
}

/** With opening events if it was missing; undefined: missing, and not to be opened. */
export function findOrOpenAccount(
  state: AccountState,
  openAccount: AccountToOpen | undefined,
  at: number,
): { readonly account: OpenAccount; readonly events: readonly AccountEvent[] } | undefined {
  if (state.status === 'open') return { account: state, events: [] };
  if (openAccount === undefined) return undefined;
  const events: AccountEvent[] = [
    accountOpened(openAccount.accountId, openAccount.newAccount, DEFAULT_CURRENCY, at),
    { type: 'SubscriptionChanged', at, subscription: { status: 'TRIAL' } },
  ];
  return { account: events.reduce<AccountState>(evolve, state) as OpenAccount, events };
}

export function upsertUser(before: AccountState, command: UpsertUser): Decision<AccountEvent> {
  const { now } = command.context;
  const opened = findOrOpenAccount(before, command.openAccount, now);
  if (!opened) return refused('ACCOUNT_NOT_FOUND');
  const { account: state } = opened;
  const known = state.personsByUserId.get(command.userId);
  if (known !== undefined && command.mustBeNew) return refused('USER_EXISTS');
  if (known === undefined && state.personsByUserId.size >= USERS_MAX)
    return refused('TOO_MANY_USERS');
  if (
    command.paymentProviderId !== undefined &&
    state.paymentProviderId !== null &&
    state.paymentProviderId !== command.paymentProviderId
  ) {
    return refused('PAYMENT_PROVIDER_ID_SET');
  }
  const draft = new Draft(state, command.context.provided);
  draft.events.push(...opened.events);
  const person = known ?? command.newPerson;
  const user = state.users.get(person);
  const profile = withCallOrigin(
    merge(user?.profile ?? emptyProfile(command.userId), command.changes),
    command.seen,
  );
  if (user?.profile) changeProfile(draft, person, profile, now);
  else draft.emit({ type: 'UserIdentified', at: now, person, profile: personal(person, profile) });
  for (const owned of command.codes) assignCode(draft, person, owned, now);
  if (command.paymentProviderId !== undefined && state.paymentProviderId === null) {
    draft.emit({
      type: 'PaymentProviderIdSet',
      at: now,
      paymentProviderId: personal(state.account, command.paymentProviderId),
    });
  }
  attributeThroughUser(draft, command, person, command.context.codeOwner !== null);
  return draft.decision();
}

/** Attributes the account by a code of this user, if the user can be referred. */
function attributeThroughUser(
  draft: Draft,
  { context }: UpsertUser,
  person: PersonId,
  withCode: boolean,
): void {
  const wasAttributed = draft.state.attribution !== null;
  if (withCode && isReferable(draft.state.users.get(person))) attributeIfPossible(draft, context);
  const attributedNow = !wasAttributed && draft.state.attribution !== null;
  startAndConvert(draft, context, attributedNow ? person : undefined);
}

function assignCode(
  draft: Draft,
  person: PersonId,
  { code, programId }: UpsertUser['codes'][number],
  at: number,
): void {
  const user: UserState | undefined = draft.state.users.get(person);
  if (user?.primaryCodes.get(programId) === code) return;
  draft.emit({ type: 'ReferralCodeAssigned', at, person, code: personal(person, code), programId });
}

export function emptyProfile(userId: string): Profile {
  return {
    id: userId,
    email: null,
    firstName: null,
    lastName: null,
    imageUrl: null,
    locale: null,
    countryCode: null,
    referable: true,
    customFields: {},
    segments: [],
    cookieId: null,
    referralSource: null,
    firstSeenIP: null,
    lastSeenIP: null,
    firstSeenUserAgent: null,
    lastSeenUserAgent: null,
  };
}

export function merge(
  before: Profile,
  { referable, customFields, segments, ...texts }: ProfileChanges,
): Profile {
  const given = Object.fromEntries(
    Object.entries(texts).filter(([, value]) => value !== undefined),
  );
  return {
    ...before,
    ...given,
    referable: referable === undefined ? before.referable : (referable ?? true),
    customFields: mergeFields(before.customFields, customFields ?? {}),
    segments: (segments ?? []).reduce(applySegment, before.segments),
  };
}

function mergeFields(
  before: Profile['customFields'],
  changes: Readonly<Record<string, CustomFieldValue | null>>,
): Profile['customFields'] {
  const merged = new Map(Object.entries(before));
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) merged.delete(name);
    else merged.set(name, value);
  }
  return Object.fromEntries(merged);
}

/** Ignores white space around segments, which older releases recorded. */
export function applySegment(members: readonly string[], operation: string): readonly string[] {
  if (operation === '~*') return [];
  const isSame = (member: string): boolean => member.trim() === operation.replace(/^~/, '');
  if (operation.startsWith('~')) return members.filter((member) => !isSame(member));
  return members.some(isSame) ? members : [...members, operation];
}
