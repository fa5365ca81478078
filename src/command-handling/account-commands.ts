import { decide } from '../domain/account/account.decider.js';
import type { AccountEvent, EventField, PersonId, Subscription } from '../domain/account/account.events.js';
import type { AccountState, OpenAccount, UserState } from '../domain/account/account.state.js';
import { isSuppressed } from '../domain/account/erasure.js';
import { openAccountIfAsked, type ProfileChanges } from '../domain/account/identify-user.js';
import type { CodeOwner, ReferralContext, Referrer } from '../domain/account/referral.js';
import type { Seen } from '../domain/account/seen.js';
import { fieldsNotGranted, type UserFields } from '../domain/account/user-grant.js';
import type { InNeed, NeededReservation, Provided } from '../domain/need.js';
import type { Personal, SubjectId } from '../domain/personal.js';
import type { GrantTerms, RewardTerms, RewardValue } from '../domain/program.js';
import { refused, type Decision, type Refusal, type Refused } from '../domain/refusal.js';
import type { AccountRef, Scope } from '../domain/scope.js';
import { programOf, programsOf } from '../domain/tenant/program-document.js';
import type { OpenTenant } from '../domain/tenant/tenant.decider.js';
import type { CommandMeta } from '../event-log/envelope.js';
import { idWithin, type KeyedNames } from '../privacy/keyed-names.js';
import { asNewCommand } from './as-new-command.js';
import { deterministicId } from './deterministic-id.js';
import { eventRewardId } from './event-reward-id.js';
import type { Outcome } from './handle-command.js';
import { Claims } from './needs/claims.js';
import type { CodeOwners } from './needs/code-owners.js';
import { NeedResolver } from './needs/need-resolver.js';
import type { NewSubjects } from './needs/new-subjects.js';
import type { Reservations } from './needs/reservations.js';
import type { TankCodes } from './needs/tank-codes.js';
import type { ErasureProcess } from './processes/erasure-process.js';
import type { ModerationProcess } from './processes/moderation-process.js';
import type { Streams } from './streams.js';
import type { TenantDirectory } from './tenant-directory.js';

/**
 * What is asked of an account from outside, before anything was looked up. Codes are as given, in the order in which they count.
 * Times and ids are added here; the decider gets everything with the command.
 */
export type AccountRequest =
  | {
      readonly type: 'SyncAccount';
      readonly accountId: string;
      readonly subscription: Subscription;
      readonly currency: string | undefined;
      readonly codes: readonly string[];
    }
  | UpsertUserRequest
  | { readonly type: 'ApplyCode'; readonly userId: string; readonly code: string; readonly seen?: Seen | undefined }
  | { readonly type: 'BlockUser' | 'UnblockUser'; readonly userId: string }
  | {
      readonly type: 'CreateReward';
      readonly userId: string;
      readonly value: RewardValue;
      readonly name: string | null;
      readonly description: string | null;
      readonly cancellable: boolean;
      readonly dateScheduledFor: number | null;
      readonly dateExpires: number | null;
    }
  /** `preserveEmptyAccount` false: the account goes with its last user. */
  | { readonly type: 'ForgetUser'; readonly userId: string; readonly doNotTrack: boolean; readonly preserveEmptyAccount: boolean }
  | { readonly type: 'ForgetAccount'; readonly doNotTrack: boolean }
  | {
      readonly type: 'ReceiveUserEvents';
      readonly userId: string;
      readonly seen?: Seen | undefined;
      /** `id` and `dateTriggered` undefined: given here. */
      readonly events: readonly {
        readonly id: string | undefined;
        readonly key: string;
        readonly fields: Readonly<Record<string, EventField>>;
        readonly dateTriggered: number | undefined;
      }[];
      readonly idempotencyKey: string | undefined;
    }
  | { readonly type: 'CancelReward' | 'SettleReward'; readonly rewardId: string }
  | { readonly type: 'RedeemCredit'; readonly rewardId: string; readonly amount: number; readonly unit: string }
  | { readonly type: 'RedeemAccountCredit'; readonly amount: number; readonly unit: string }
  | {
      readonly type: 'AdjustCredit';
      readonly userId: string;
      readonly unit: string;
      /** Above zero adds, below zero takes away. */
      readonly amount: number;
      readonly reason: string;
      readonly approvedBy: Personal<string>;
      readonly by: Personal<string>;
    }
  | {
      readonly type: 'GrantReferrerReward';
      readonly referralId: string;
      readonly person: PersonId;
      readonly terms: RewardTerms;
      readonly programId: string;
      readonly programVersion: number;
      readonly earnedAt: number;
    }
  | {
      readonly type: 'GrantEventReward';
      readonly referralId: string;
      readonly userEventId: string;
      readonly person: PersonId;
      readonly terms: GrantTerms;
      readonly programId: string;
      readonly programVersion: number;
      readonly rule: string;
      readonly earnedAt: number;
    }
  | { readonly type: 'ListRedeemedRewards' }
  | { readonly type: 'FlagReferral'; readonly referralId: string };

export interface UpsertUserRequest extends UserFields {
  readonly type: 'UpsertUser';
  readonly userId: string;
  /** The account's id, when an account that is not there is to be opened. */
  readonly openAccount?: string;
  readonly mustBeNew?: boolean;
  /** What may be written, where not everything may. */
  readonly granted?: UserFields | undefined;
  /** From where the user called, when the user did. */
  readonly seen?: Seen | undefined;
}

export type AccountOutcome = Exclude<Outcome<AccountState, AccountEvent>, { kind: 'held' | 'in-need' }>;

type AcceptedOutcome = Extract<AccountOutcome, { kind: 'accepted' }>;

/** What one command has got hold of so far, whichever try to decide it is on. */
interface Attempt {
  readonly claims: Claims;
  readonly resolver: NeedResolver;
}

/** The one door for the accounts of a tenant: looks up what a decision needs, decides, and waits for a moderation that is in the way. */
export class AccountCommands {
  constructor(
    private readonly streams: Streams,
    private readonly names: KeyedNames,
    private readonly owners: CodeOwners,
    private readonly reservations: Reservations,
    private readonly tenants: TenantDirectory,
    private readonly moderations: ModerationProcess,
    private readonly tankCodes: TankCodes,
    private readonly erasures: ErasureProcess,
    private readonly subjects: NewSubjects,
    private readonly clock: () => number = Date.now,
  ) {}

  async execute(meta: CommandMeta, account: AccountRef, request: AccountRequest): Promise<AccountOutcome> {
    const stream = this.names.accountStream(meta.scope, account);
    const resolver = new NeedResolver(this.streams, this.names, this.tankCodes, meta, account, this.clock);
    const attempt: Attempt = { claims: new Claims(this.reservations, meta, account), resolver };
    for (;;) {
      const outcome = await this.streams.accounts.handle(stream, meta, (state) => this.decide(meta, account, state, request, attempt));
      if (outcome.kind === 'in-need') {
        await attempt.claims.get(outcome.needs);
        await resolver.resolve(outcome.needs);
      } else if (outcome.kind === 'held') await this.moderations.drive(meta.scope, outcome.heldBy, meta);
      else {
        await this.giveBack(meta, attempt, outcome);
        return outcome.kind === 'accepted' ? this.carriedOut(meta, account, request, outcome) : outcome;
      }
    }
  }

  /** Whoever asked for an erasure hears of it once it is carried out. */
  private async carriedOut(
    meta: CommandMeta,
    account: AccountRef,
    { type }: AccountRequest,
    outcome: AcceptedOutcome,
  ): Promise<AccountOutcome> {
    const requested = outcome.events.find((event) => event.type === 'ErasureRequested');
    if (!requested) {
      const listed = this.listRedeemed(meta, account, outcome);
      // The effect is in the log: a client that was told of an outage would ask for it twice. What is not listed a policy lists.
      return type === 'ListRedeemedRewards' ? listed : listed.catch(() => outcome);
    }
    return { ...outcome, position: (await this.erasures.drive(meta.scope, account, requested.erasureId, meta)) ?? outcome.position };
  }

  /**
   * What very many rewards were redeemed by is written down before the answer, also what another command left at a crash.
   * @throws {EventLogUnavailable} {TooBusy}
   */
  private async listRedeemed(meta: CommandMeta, account: AccountRef, outcome: AcceptedOutcome): Promise<AcceptedOutcome> {
    if (outcome.state.remains.unlisted.size === 0) return outcome;
    const stream = this.names.accountStream(meta.scope, account);
    for (;;) {
      const listed = await this.streams.accounts.handle(stream, asNewCommand(meta), (state) =>
        decide(state, { type: 'ListRedeemedRewards' }),
      );
      if (listed.kind !== 'accepted') throw new Error('what was redeemed could not be written down');
      if (listed.events.length === 0) return { ...outcome, position: listed.position };
    }
  }

  private async decide(
    meta: CommandMeta,
    account: AccountRef,
    state: AccountState,
    request: AccountRequest,
    attempt: Attempt,
  ): Promise<Decision<AccountEvent>> {
    const now = this.clock();
    const { provided } = attempt.resolver;
    switch (request.type) {
      case 'SyncAccount': {
        const newAccount = await this.newAccount(account, state);
        const context = await this.context(meta, account, state, request.codes, provided, now);
        return decide(state, { ...request, newAccount, context });
      }
      case 'UpsertUser':
        return this.upsertUser(meta, account, state, request, attempt, now);
      case 'ApplyCode': {
        const owner = await this.owners.find(meta.scope, request.code);
        const context = await this.contextOf(meta, account, owner, owner && asReferrer(owner.user), owner?.programId, provided, now);
        return decide(state, { type: 'ApplyCode', userId: request.userId, seen: request.seen, context });
      }
      case 'ForgetUser': {
        const { type, userId, preserveEmptyAccount } = request;
        const suppressed = request.doNotTrack ? this.names.userRef(meta.scope, account, userId) : null;
        return decide(state, { type, userId, preserveEmptyAccount, suppressed, erasureId: erasureIdOf(meta), now });
      }
      case 'ForgetAccount': {
        const users = request.doNotTrack && state.status === 'open' ? [...state.personsByUserId] : [];
        const suppressed = Object.fromEntries(users.map(([id, person]) => [person, this.names.userRef(meta.scope, account, id)]));
        return decide(state, { type: request.type, suppressed, erasureId: erasureIdOf(meta), now });
      }
      case 'CreateReward': {
        const tenant = await this.tenant(meta.scope);
        const redeemsAutomatically = programOf(tenant, tenant.defaultProgramId)?.automaticRedemption.includes(request.value.type) ?? false;
        return decide(state, { ...request, rewardId: idWithin(account, `${meta.commandId}/reward`), redeemsAutomatically, now });
      }
      case 'ReceiveUserEvents':
        return this.receiveUserEvents(meta, account, state, request, provided, now);
      case 'ListRedeemedRewards':
        return decide(state, request);
      case 'RedeemCredit':
      case 'RedeemAccountCredit':
        return decide(state, { ...request, redemptionId: deterministicId(meta.commandId, 'redemption'), now });
      case 'AdjustCredit': {
        const ids = {
          rewardId: idWithin(account, `${meta.commandId}/adjustment`),
          redemptionId: deterministicId(meta.commandId, 'adjustment'),
        };
        return decide(state, { ...request, ...ids, now });
      }
      case 'GrantReferrerReward':
        return decide(state, { ...request, rewardId: idWithin(account, `${request.referralId}/referrer`), provided });
      case 'GrantEventReward': {
        const { userEventId, programId, rule } = request;
        return decide(state, { ...request, rewardId: eventRewardId(account, userEventId, programId, rule), provided });
      }
      case 'FlagReferral':
      case 'BlockUser':
      case 'UnblockUser':
      case 'CancelReward':
      case 'SettleReward':
        return decide(state, { ...request, now });
    }
  }

  private async upsertUser(
    meta: CommandMeta,
    account: AccountRef,
    state: AccountState,
    request: UpsertUserRequest,
    attempt: Attempt,
    now: number,
  ): Promise<Decision<AccountEvent>> {
    const { userId, changes, paymentProviderId, mustBeNew = false, seen } = request;
    const tenant = await this.tenant(meta.scope);
    // What is wrong with the request itself comes before who may write it and whom it is about.
    const wanted = wantedCodes(request, tenant);
    if ('refused' in wanted) return wanted;
    const openAccount =
      request.openAccount === undefined ? undefined : { accountId: request.openAccount, newAccount: await this.newAccount(account, state) };
    const opened = openAccountIfAsked(state, openAccount, now)?.account;
    if (!opened) return refused('ACCOUNT_NOT_FOUND');
    const known = opened.personsByUserId.get(userId);
    const against = upsertRefusal(request, opened, known, tenant);
    // Before anything is reserved: what will be refused must not take a code even for a moment.
    if (against) return against;
    if (known === undefined && isSuppressed(opened, this.names.userRef(meta.scope, account, userId))) return refused('DO_NOT_TRACK');
    const newPerson = known ?? (await this.subjects.person(meta.scope, account, userId, state));
    const codes = claimedCodes(request, opened, newPerson, tenant, attempt.claims);
    if (!Array.isArray(codes)) return codes;
    const context = await this.context(meta, account, state, request.codes, attempt.resolver.provided, now);
    return decide(state, {
      type: 'UpsertUser',
      userId,
      newPerson,
      openAccount,
      mustBeNew,
      seen,
      changes,
      codes,
      paymentProviderId,
      context,
    });
  }

  /** Looks up what the programs may make of the events: the referrer only where there is a referral. */
  private async receiveUserEvents(
    meta: CommandMeta,
    account: AccountRef,
    state: AccountState,
    request: Extract<AccountRequest, { type: 'ReceiveUserEvents' }>,
    provided: Provided,
    now: number,
  ): Promise<Decision<AccountEvent>> {
    const { userId, seen, idempotencyKey } = request;
    const { tenant, mode } = meta.scope;
    const events = request.events.map(({ id, key, fields, dateTriggered }, index) => {
      const userEventId = deterministicId(meta.commandId, `event ${index}`);
      return { userEventId, content: { id: id ?? userEventId, key, fields, dateTriggered: dateTriggered ?? now } };
    });
    const referral = state.status === 'open' ? state.referral : null;
    const programs = programsOf(await this.tenant(meta.scope));
    const isAboutReferrer = programs.some(({ conversion, eventRewards }) => conversion.on === 'EVENT' || eventRewards.length > 0);
    const user = referral && isAboutReferrer ? await this.owners.person(meta.scope, referral.referrer) : null;
    const context = await this.contextOf(meta, account, null, user && asReferrer(user), referral?.programId, provided, now);
    return decide(state, {
      type: 'ReceiveUserEvents',
      userId,
      seen,
      events,
      context,
      programs,
      // A client's own words, so only a keyed hash of it is kept.
      batch: idempotencyKey === undefined ? null : this.names.digest('event-batch', tenant, mode, account, userId, idempotencyKey),
      rewardIdOf: (userEventId, programId, rule) => eventRewardId(account, userEventId, programId, rule),
    });
  }

  /** The command has its outcome already: what becomes of the tidying-up does not change it. */
  private async giveBack(meta: CommandMeta, { claims, resolver }: Attempt, outcome: AccountOutcome): Promise<void> {
    const events = outcome.kind === 'accepted' ? outcome.events : [];
    await Promise.allSettled([resolver.settle(events), claims.release(this.recordedIn(meta.scope, events), this.clock())]);
  }

  /** The streams of the codes and payment provider ids that these events record. */
  private recordedIn(scope: Scope, events: readonly AccountEvent[]): ReadonlySet<string> {
    const recorded = new Set<string>();
    for (const event of events) {
      if (event.type === 'ReferralCodeAssigned' && event.code.value !== null) recorded.add(this.names.codeStream(scope, event.code.value));
      if (event.type === 'PaymentProviderIdSet' && event.paymentProviderId.value !== null)
        recorded.add(this.names.paymentProviderIdStream(scope, event.paymentProviderId.value));
    }
    return recorded;
  }

  private async newAccount(account: AccountRef, state: AccountState): Promise<SubjectId> {
    return state.status === 'open' ? state.account : this.subjects.account(account, state);
  }

  /** What a decision about this account's referral must know: the code's owner, or the referrer that stands already. */
  private async context(
    meta: CommandMeta,
    account: AccountRef,
    state: AccountState,
    codes: readonly string[],
    provided: Provided,
    now: number,
  ): Promise<ReferralContext> {
    const attribution = state.status === 'open' ? state.attribution : null;
    const isSettled = state.status === 'open' && (state.referral?.datePaid ?? null) !== null;
    const codeOwner = attribution || isSettled ? null : await this.owners.firstOf(meta.scope, codes);
    const party = attribution?.referrer ?? codeOwner?.party;
    const user = party && !isSettled ? await this.owners.person(meta.scope, party) : null;
    const programId = attribution?.programId ?? codeOwner?.programId;
    return this.contextOf(meta, account, codeOwner, user && asReferrer(user), programId, provided, now);
  }

  private async contextOf(
    { scope, commandId }: CommandMeta,
    account: AccountRef,
    codeOwner: CodeOwner | null,
    referrer: Referrer | null,
    programId: string | undefined,
    provided: Provided,
    now: number,
  ): Promise<ReferralContext> {
    const program = programId === undefined ? null : programOf(await this.tenant(scope), programId);
    const id = (what: string): string => idWithin(account, `${commandId}/${what}`);
    return {
      now,
      account,
      referrer,
      program,
      provided,
      referralId: id('referral'),
      codeOwner: codeOwner && { code: codeOwner.code, programId: codeOwner.programId, party: codeOwner.party },
      rewardIds: { started: id('started'), converted: id('converted') },
    };
  }

  private async tenant(scope: Scope): Promise<OpenTenant> {
    const tenant = await this.tenants.find(scope.tenant);
    if (!tenant) throw new Error('a command came for a tenant that does not exist');
    return tenant;
  }
}

const erasureIdOf = ({ commandId }: CommandMeta): string => deterministicId(commandId, 'erasure');

const asReferrer = ({ dateBlocked, profile }: UserState): Referrer => ({
  blocked: dateBlocked !== null,
  likeness: profile ?? { firstName: null, lastName: null, email: null, firstSeenIP: null, lastSeenIP: null },
});

/** What the state alone says against it, in the order in which reasons count. */
function upsertRefusal(
  request: UpsertUserRequest,
  account: OpenAccount,
  known: PersonId | undefined,
  tenant: OpenTenant,
): Refused | undefined {
  const user = known === undefined ? undefined : account.users.get(known);
  if (request.granted !== undefined) {
    const { paymentProviderId } = account;
    const stored = {
      user,
      paymentProviderId,
      defaultProgramId: tenant.defaultProgramId,
      attributedCode: account.attribution?.code ?? null,
    };
    const fields = fieldsNotGranted(request, request.granted, stored);
    if (fields.length > 0) return refused('FIELD_NOT_GRANTED', `the token does not carry what the body says of ${fields.join(', ')}`);
  }
  return user && request.mustBeNew ? refused('USER_EXISTS') : undefined;
}

/**
 * The codes that were asked for, and a generated one for each program in which the user has none, as far as they are reserved; else
 * what is still to be reserved, the payment provider id included.
 */
function claimedCodes(
  request: UpsertUserRequest,
  account: OpenAccount,
  person: PersonId,
  tenant: OpenTenant,
  claims: Claims,
): { readonly code: string; readonly programId: string }[] | Refused | InNeed {
  const wanted = wantedCodes(request, tenant);
  if ('refused' in wanted) return wanted;
  const { paymentProviderId } = request;
  const { lapses } = account.remains;
  const user = account.users.get(person);
  const codes: { code: string; programId: string }[] = [];
  const needs: NeededReservation[] = [];
  for (const [programId, code] of wanted) {
    const own = user?.codes.get(code.toLowerCase());
    if (own && own.programId !== programId) return refused('CODE_PROGRAM_CONFLICT', 'a code of the user belongs to another program');
    if (own) codes.push({ code, programId });
    else needs.push({ kind: 'reservation', what: { kind: 'code', code, person, programId }, lapses });
  }
  const name = nameOf(request.changes, user);
  for (const { id: programId } of programsOf(tenant)) {
    if (wanted.has(programId) || user?.primaryCodes.has(programId)) continue;
    needs.push({ kind: 'reservation', what: { kind: 'generated-code', name, person, programId }, lapses });
  }
  if (paymentProviderId !== undefined && account.paymentProviderId === null) {
    const subject = account.account;
    needs.push({ kind: 'reservation', what: { kind: 'payment-provider-id', id: paymentProviderId, subject }, lapses });
  }
  for (const need of needs) {
    const claimed = claims.of(need);
    if (claimed === undefined) return { needs: needs.filter((other) => claims.of(other) === undefined) };
    if ('refused' in claimed) return refusalOf(need, claimed.refused);
    if (claimed.code !== null && 'programId' in need.what) codes.push({ code: claimed.code, programId: need.what.programId });
  }
  return codes;
}

function refusalOf({ what }: NeededReservation, refusal: Refusal): Refused {
  if (what.kind === 'payment-provider-id') return refused('PAYMENT_PROVIDER_ID_USED');
  return refused(refusal === 'CODE_PROGRAM_CONFLICT' ? refusal : 'REFERRAL_CODE_TAKEN');
}

/** First and last name after the changes; what is left out stays as it is stored. */
function nameOf(changes: ProfileChanges, user: UserState | undefined): string {
  const { firstName = user?.profile?.firstName, lastName = user?.profile?.lastName } = changes;
  return `${firstName ?? ''}${lastName ?? ''}`;
}

/** Program id → code, as asked for. */
function wantedCodes(
  { referralCode, referralCodes }: { referralCode: string | undefined; referralCodes: Readonly<Record<string, string>> },
  tenant: OpenTenant,
): Map<string, string> | Refused {
  const wanted = new Map(Object.entries(referralCodes));
  for (const programId of wanted.keys()) {
    if (!Object.hasOwn(tenant.programs, programId)) return refused('PROGRAM_UNKNOWN', 'referralCodes names an unknown program');
  }
  if (referralCode === undefined) return wanted;
  const named = wanted.get(tenant.defaultProgramId);
  if (named !== undefined && named.toLowerCase() !== referralCode.toLowerCase()) {
    return refused('CODE_PROGRAM_CONFLICT', 'referralCode and referralCodes name two codes for the default program');
  }
  return wanted.set(tenant.defaultProgramId, referralCode);
}
