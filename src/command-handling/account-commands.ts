import type { AccountEvent } from '../domain/account/account.events.js';
import type { AccountState } from '../domain/account/account.state.js';
import { needsOfRow } from '../domain/account/imports/placed-rows.js';
import { listRedeemedRewards } from '../domain/account/rewards/bulk-redemption.js';
import type { Ids } from '../domain/account/requests/circumstances.js';
import { decide, type AccountCommand } from '../domain/account/account.decider.js';
import type { AccountRef } from '../domain/scope.js';
import type { OpenTenant } from '../domain/tenant/tenant.decider.js';
import type { CommandMeta } from '../event-log/envelope.js';
import { canonicalJson } from '../foundation/canonical-json.js';
import { idWithin, type KeyedNames } from '../privacy/keyed-names.js';
import { asNewCommand } from './as-new-command.js';
import type { AccountCommandEnvelope, AccountOutcome } from './commands.js';
import { deterministicId } from './deterministic-id.js';
import { eventRewardId } from './event-reward-id.js';
import { NeedResolver, type NeedSources } from './needs/need-resolver.js';
import { TooBusy } from './stream-queues.js';
import type { ErasureProcess } from './processes/erasure-process.js';
import type { HeldOutcome, ModerationProcess } from './processes/moderation-process.js';
import type { Decide } from './outcome.js';
import type { Streams } from './streams.js';
import { ledgerTime, type TenantDirectory } from '../tenants/tenant-directory.js';

type AcceptedOutcome = Extract<AccountOutcome, { kind: 'accepted' }>;

export interface AccountCommandsParts {
  readonly streams: Streams;
  readonly sources: NeedSources;
  readonly tenants: TenantDirectory;
  readonly moderations: ModerationProcess;
  readonly erasures: ErasureProcess;
}

export class AccountCommands {
  private readonly names: KeyedNames;

  constructor(private readonly parts: AccountCommandsParts) {
    this.names = parts.sources.names;
  }

  /** @throws {TooBusy} {EventLogUnavailable}: the same command may be sent again. */
  async execute(envelope: AccountCommandEnvelope): Promise<AccountOutcome> {
    const { meta, account, command, keepsCode } = envelope;
    const { streams, sources, moderations } = this.parts;
    const stream = this.names.accountStream(meta.scope, account);
    const needs = new NeedResolver(sources, meta, account, keepsCode);
    const decideNow = this.decisionOf(envelope, needs);
    // After a hold, before the commands that arrived during the wait.
    const attempt = async (goesFirst: boolean): Promise<AccountOutcome | HeldOutcome> => {
      for (;;) {
        const options = { goesFirst, type: command.type };
        const outcome = await streams.accounts.handle(stream, meta, decideNow, options);
        if (outcome.kind !== 'in-need') return outcome;
        await needs.resolve(outcome.needs);
      }
    };
    let outcome: AccountOutcome;
    try {
      await needs.resolve(needsOfRow(command));
      const first = await attempt(false);
      outcome =
        first.kind === 'held'
          ? await moderations.afterHolds(stream, meta, () => attempt(true))
          : first;
      await needs.settle(outcome.kind === 'accepted' ? outcome.events : []);
    } catch (error) {
      // Nothing was recorded. After an outage that is unknown, and reservations expire.
      if (error instanceof TooBusy) await needs.settle([]);
      throw error;
    }
    return outcome.kind === 'accepted' ? this.followUp(meta, account, command, outcome) : outcome;
  }

  /** Reads time and tenant in the command's turn, for the current programs. */
  private decisionOf(
    { meta, account, command }: AccountCommandEnvelope,
    needs: NeedResolver,
  ): Decide<AccountState, AccountEvent> {
    const { commandId } = meta;
    const ids = this.idsOf(meta, account);
    return async (state) => {
      const tenant = await this.tenant(meta);
      return needs.decide((provided) => {
        const real = this.parts.sources.clock();
        const now = ledgerTime(tenant, meta.scope.mode, real);
        const times = { now, aheadMs: now - real };
        return decide(state, command, { ...times, account, tenant, provided, commandId, ids });
      });
    };
  }

  /** Before the answer: carries out an erasure, and lists the rewards of a bulk redemption. */
  private async followUp(
    meta: CommandMeta,
    account: AccountRef,
    { type }: AccountCommand,
    outcome: AcceptedOutcome,
  ): Promise<AccountOutcome> {
    const requested = outcome.events.find((event) => event.type === 'ErasureRequested');
    if (requested) {
      const position = await this.parts.erasures.drive(
        meta.scope,
        account,
        requested.erasureId,
        meta,
      );
      return { ...outcome, position: position ?? outcome.position };
    }
    const listed = this.listRedeemed(meta, account, outcome);
    // The effect is recorded: a client with an error would redeem again. A policy lists the rewards
    // later.
    return type === 'ListRedeemedRewards' ? listed : listed.catch(() => outcome);
  }

  /** Also lists what a crashed command left unlisted. @throws {EventLogUnavailable} {TooBusy} */
  private async listRedeemed(
    meta: CommandMeta,
    account: AccountRef,
    outcome: AcceptedOutcome,
  ): Promise<AcceptedOutcome> {
    if (outcome.state.remains.unlisted.size === 0) return outcome;
    const stream = this.names.accountStream(meta.scope, account);
    for (;;) {
      const listed = await this.parts.streams.accounts.handle(stream, asNewCommand(meta), (state) =>
        listRedeemedRewards(state),
      );
      if (listed.kind !== 'accepted') throw new Error('the redeemed rewards could not be listed');
      if (listed.events.length === 0) return { ...outcome, position: listed.position };
    }
  }

  private idsOf({ scope }: CommandMeta, account: AccountRef): Ids {
    const { names } = this;
    return {
      uuid: deterministicId,
      within: (cause) => idWithin(account, cause),
      rewardOfEvent: (userEventId, programId, rule) =>
        eventRewardId(account, userEventId, programId, rule),
      userRef: (userId) => names.userRef(scope, account, userId),
      batchRef: (userId, idempotencyKey) =>
        names.digest('event-batch', scope.tenant, scope.mode, account, userId, idempotencyKey),
      eventRef: (userId, eventId) =>
        names.digest('event-id', scope.tenant, scope.mode, account, userId, eventId).slice(0, 32),
      valueRef: (person, value) =>
        names.digest(
          'event-value',
          scope.tenant,
          scope.mode,
          account,
          person,
          canonicalJson(value),
        ),
    };
  }

  /** A policy's command must read the log: the policy reacted to the logged test clock. */
  private async tenant({
    scope: { tenant: alias, mode },
    actor,
  }: CommandMeta): Promise<OpenTenant> {
    const { tenants } = this.parts;
    const isLate = mode !== 'live' && actor.kind === 'policy';
    const tenant = await (isLate ? tenants.read(alias) : tenants.find(alias));
    if (!tenant) throw new Error('a command names a tenant that does not exist');
    return tenant;
  }
}
