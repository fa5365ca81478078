import { randomUUID } from 'node:crypto';
import type { AccountEvent, PersonId, Subscription } from '../domain/account/account.events.js';
import { decide } from '../domain/account/account.decider.js';
import type { AccountState, OpenAccount, UserState } from '../domain/account/account.state.js';
import { isSuppressed } from '../domain/account/erasure.js';
import type { ProfileChanges } from '../domain/account/identify-user.js';
import type { CodeOwner, ReferralContext } from '../domain/account/referral.js';
import type { SubjectId } from '../domain/personal.js';
import type { RewardTerms, RewardValue } from '../domain/program.js';
import { refused, type Decision, type Refused } from '../domain/refusal.js';
import type { AccountRef, Scope } from '../domain/scope.js';
import { programOf, programsOf } from '../domain/tenant/program-document.js';
import type { OpenTenant } from '../domain/tenant/tenant.decider.js';
import type { CommandMeta } from '../event-log/envelope.js';
import { idWithin, type KeyedNames } from '../privacy/keyed-names.js';
import type { CodeOwners } from './code-owners.js';
import { deterministicId } from './deterministic-id.js';
import type { ErasureProcess } from './erasure-process.js';
import type { Outcome } from './handle-command.js';
import type { ModerationProcess } from './moderation-process.js';
import type { Reservations, Reserved } from './reservations.js';
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
  | {
      readonly type: 'UpsertUser';
      readonly userId: string;
      readonly changes: ProfileChanges;
      /** For the default program. */
      readonly referralCode: string | undefined;
      /** By program id. */
      readonly referralCodes: Readonly<Record<string, string>>;
      readonly paymentProviderId: string | undefined;
      readonly codes: readonly string[];
    }
  | { readonly type: 'ApplyCode'; readonly userId: string; readonly code: string }
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
  | { readonly type: 'CancelReward' | 'SettleReward'; readonly rewardId: string }
  | { readonly type: 'RedeemCredit'; readonly rewardId: string; readonly amount: number; readonly unit: string }
  | { readonly type: 'RedeemAccountCredit'; readonly amount: number; readonly unit: string }
  | {
      readonly type: 'GrantReferrerReward';
      readonly referralId: string;
      readonly person: PersonId;
      readonly terms: RewardTerms;
      readonly programId: string;
      readonly programVersion: number;
      readonly earnedAt: number;
    };

export type AccountOutcome = Exclude<Outcome<AccountState, AccountEvent>, { kind: 'held' }>;

/** The one door for the accounts of a tenant: looks up what a decision needs, decides, and waits for a moderation that is in the way. */
export class AccountCommands {
  constructor(
    private readonly streams: Streams,
    private readonly names: KeyedNames,
    private readonly owners: CodeOwners,
    private readonly reservations: Reservations,
    private readonly tenants: TenantDirectory,
    private readonly moderations: ModerationProcess,
    private readonly erasures: ErasureProcess,
    private readonly clock: () => number = Date.now,
  ) {}

  async execute(meta: CommandMeta, account: AccountRef, request: AccountRequest): Promise<AccountOutcome> {
    const stream = this.names.accountStream(meta.scope, account);
    for (;;) {
      const reserved: Reserved[] = [];
      const outcome = await this.streams.accounts.handle(stream, meta, (state) => this.decide(meta, account, state, request, reserved));
      await this.releaseUnused(meta, reserved, outcome);
      if (outcome.kind === 'accepted') return this.carriedOut(meta, account, outcome);
      if (outcome.kind !== 'held') return outcome;
      await this.moderations.drive(meta.scope, outcome.heldBy, meta);
    }
  }

  /** Whoever asked for an erasure hears of it once it is carried out. */
  private async carriedOut(
    meta: CommandMeta,
    account: AccountRef,
    outcome: Extract<AccountOutcome, { kind: 'accepted' }>,
  ): Promise<AccountOutcome> {
    const requested = outcome.events.find((event) => event.type === 'ErasureRequested');
    if (!requested) return outcome;
    return { ...outcome, position: (await this.erasures.drive(meta.scope, account, requested.erasureId, meta)) ?? outcome.position };
  }

  private async decide(
    meta: CommandMeta,
    account: AccountRef,
    state: AccountState,
    request: AccountRequest,
    reserved: Reserved[],
  ): Promise<Decision<AccountEvent>> {
    const now = this.clock();
    switch (request.type) {
      case 'SyncAccount': {
        const newAccount = newSubject(meta, 'account', state);
        const context = await this.context(meta, account, state, request.codes, now);
        return decide(state, { ...request, newAccount, context });
      }
      case 'UpsertUser':
        return this.upsertUser(meta, account, state, request, reserved, now);
      case 'ApplyCode': {
        const owner = await this.owners.find(meta.scope, request.code);
        const context = await this.contextOf(
          meta,
          account,
          owner,
          owner ? { blocked: owner.user.dateBlocked !== null } : null,
          owner?.programId,
          now,
        );
        return decide(state, { type: 'ApplyCode', userId: request.userId, context });
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
      case 'CreateReward':
        return decide(state, { ...request, rewardId: idWithin(account, `${meta.commandId}/reward`), now });
      case 'RedeemCredit':
      case 'RedeemAccountCredit':
        return decide(state, { ...request, redemptionId: deterministicId(meta.commandId, 'redemption'), now });
      case 'GrantReferrerReward':
        return decide(state, { ...request, rewardId: idWithin(account, `${request.referralId}/referrer`) });
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
    request: Extract<AccountRequest, { type: 'UpsertUser' }>,
    reserved: Reserved[],
    now: number,
  ): Promise<Decision<AccountEvent>> {
    if (state.status === 'absent') return refused('ACCOUNT_NOT_FOUND');
    const isKnown = state.personsByUserId.has(request.userId);
    if (!isKnown && isSuppressed(state, this.names.userRef(meta.scope, account, request.userId))) return refused('DO_NOT_TRACK');
    const newPerson = newSubject(meta, 'person', state);
    const person = state.personsByUserId.get(request.userId) ?? newPerson;
    const tenant = await this.tenant(meta.scope);
    const codes = await this.claimCodes(meta, account, state, person, tenant, request, reserved);
    if ('refused' in codes) return codes;
    if (request.paymentProviderId !== undefined && state.paymentProviderId === null) {
      const claimed = await this.reservations.paymentProviderId(meta, request.paymentProviderId, account, state.account);
      if ('refused' in claimed) return refused('PAYMENT_PROVIDER_ID_USED');
      reserved.push(claimed);
    }
    const context = await this.context(meta, account, state, request.codes, now);
    const { userId, changes, paymentProviderId } = request;
    return decide(state, { type: 'UpsertUser', userId, newPerson, changes, codes, paymentProviderId, context });
  }

  /** Reserves the codes that were asked for, and a generated one for each program in which the user has none. */
  private async claimCodes(
    meta: CommandMeta,
    account: AccountRef,
    state: OpenAccount,
    person: PersonId,
    tenant: OpenTenant,
    request: Extract<AccountRequest, { type: 'UpsertUser' }>,
    reserved: Reserved[],
  ): Promise<{ readonly code: string; readonly programId: string }[] | Refused> {
    const wanted = wantedCodes(request, tenant);
    if ('refused' in wanted) return wanted;
    const user = state.users.get(person);
    const claimed: { code: string; programId: string }[] = [];
    for (const [programId, code] of wanted) {
      const own = user?.codes.get(code.toLowerCase());
      if (own && own.programId !== programId) return refused('CODE_PROGRAM_CONFLICT', 'a code of the user belongs to another program');
      if (!own) {
        const result = await this.reservations.code(meta, code, account, person, programId);
        if ('refused' in result) return refused(result.refused === 'CODE_PROGRAM_CONFLICT' ? result.refused : 'REFERRAL_CODE_TAKEN');
        reserved.push(result);
      }
      claimed.push({ code, programId });
    }
    for (const { id: programId } of programsOf(tenant)) {
      if (wanted.has(programId) || user?.primaryCodes.has(programId)) continue;
      const generated = await this.reservations.generate(meta, nameOf(request.changes, user), account, person, programId);
      reserved.push(generated.reserved);
      claimed.push({ code: generated.code, programId });
    }
    return claimed;
  }

  /** A reservation that the account did not record after all is given back. Not given back, by a crash or an outage, it lapses by itself. */
  private async releaseUnused(
    meta: CommandMeta,
    reserved: readonly Reserved[],
    outcome: Outcome<AccountState, AccountEvent>,
  ): Promise<void> {
    if (reserved.length === 0) return;
    const used = new Set<string>();
    if (outcome.kind === 'accepted') {
      for (const event of outcome.events) {
        if (event.type === 'ReferralCodeAssigned' && event.code.value !== null)
          used.add(this.names.codeStream(meta.scope, event.code.value));
        if (event.type === 'PaymentProviderIdSet' && event.paymentProviderId.value !== null) {
          used.add(this.names.paymentProviderIdStream(meta.scope, event.paymentProviderId.value));
        }
      }
    }
    const unused = reserved.filter(({ stream }) => !used.has(stream));
    // The command has its outcome already: what becomes of the tidying-up does not change it.
    await Promise.allSettled(unused.map((reservation) => this.reservations.releaseUnlessRecorded(meta, reservation, this.clock())));
  }

  /** What a decision about this account's referral must know: the code's owner, or the referrer that stands already. */
  private async context(
    meta: CommandMeta,
    account: AccountRef,
    state: AccountState,
    codes: readonly string[],
    now: number,
  ): Promise<ReferralContext> {
    const attribution = state.status === 'open' ? state.attribution : null;
    const isSettled = state.status === 'open' && (state.referral?.datePaid ?? null) !== null;
    const codeOwner = attribution || isSettled ? null : await this.owners.firstOf(meta.scope, codes);
    const party = attribution?.referrer ?? codeOwner?.party;
    const user = party && !isSettled ? await this.owners.person(meta.scope, party) : null;
    const referrer = user ? { blocked: user.dateBlocked !== null } : null;
    return this.contextOf(meta, account, codeOwner, referrer, attribution?.programId ?? codeOwner?.programId, now);
  }

  private async contextOf(
    { scope, commandId }: CommandMeta,
    account: AccountRef,
    codeOwner: CodeOwner | null,
    referrer: ReferralContext['referrer'],
    programId: string | undefined,
    now: number,
  ): Promise<ReferralContext> {
    const program = programId === undefined ? null : programOf(await this.tenant(scope), programId);
    const id = (what: string): string => idWithin(account, `${commandId}/${what}`);
    return {
      ...{ now, account, referrer, program, referralId: id('referral') },
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

/** The same for the same command. A command id that came back after it was purged must not name somebody whose key is destroyed. */
function newSubject({ commandId }: CommandMeta, what: 'account' | 'person', { remains }: AccountState): SubjectId {
  const subject = deterministicId(commandId, what);
  return remains.forgotten.has(subject) ? randomUUID() : subject;
}

const erasureIdOf = ({ commandId }: CommandMeta): string => deterministicId(commandId, 'erasure');

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
