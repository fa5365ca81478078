import { AccountCommandEnvelope, type Commands } from '../../command-handling/commands.js';
import type { ReadableStreams } from '../../command-handling/readable-streams.js';
import type { ProviderCall } from '../../domain/account/account.events.js';
import type { AccountState, RewardPush, RewardState } from '../../domain/account/account.state.js';
import type { AccountCommand } from '../../domain/account/account.decider.js';
import {
  isGivenUp,
  type ProviderSubscription,
  type PushOutcome,
  type StartRewardPush,
} from '../../domain/account/provider/reward-push.js';
import { isBeingPushed } from '../../domain/account/rewards/reward-state.js';
import type { AccountRef, Scope } from '../../domain/scope.js';
import { newId, timeNow } from '../../foundation/world.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import { ProviderFailure, type ProviderCalls } from '../payment-provider.js';

export type PushTurn =
  | 'pushed'
  | 'refused'
  /** The customer has no subscription yet. */
  | 'waits'
  /** There is nothing to pay, or another process pays it. */
  | 'nothing';

interface PushParts {
  readonly commands: Commands;
  readonly streams: Pick<ReadableStreams, 'accounts'>;
  readonly names: Pick<KeyedNames, 'accountStream'>;
}

export interface PayingConnection {
  readonly calls: ProviderCalls;
  /** Epoch milliseconds: this key has been connected since; 0: it is the first. */
  readonly keySince: number;
  /** The replaced connection; null: there was none, or its secrets are destroyed. */
  readonly before: { readonly calls: ProviderCalls; readonly keySince: number } | null;
  /** Offset of the ledger's clock from the real clock, which the provider uses. */
  readonly offsetMs: number;
}

const UNKNOWN_BEFORE =
  'a call of the connection before has no answer, and that connection cannot be asked';

/** Bound of clock differences, and of the time until all processes know a new connection. */
const CLOCKS_DIFFER_MS = 60_000;

const isSince = ({ keySince }: Pick<PayingConnection, 'keySince'>, at: number): boolean =>
  keySince <= at + CLOCKS_DIFFER_MS;

/** The provider forgets idempotency keys after a day. */
const KEY_KNOWN_MS = 23 * 3_600_000;

/**
 * Pays the rewards of one account: records the calls, makes them, and records their outcome. A
 * repeated step finds what the earlier one recorded.
 */
export class AccountPushes {
  constructor(
    private readonly parts: PushParts,
    private readonly scope: Scope,
    private readonly account: AccountRef,
    private readonly connection: PayingConnection,
  ) {}

  /** The real time of an event or earlier: the test clock may have moved since. */
  private real(at: number): number {
    return at - this.connection.offsetMs;
  }

  private get provider(): ProviderCalls {
    return this.connection.calls;
  }

  async state(): Promise<AccountState> {
    const { streams, names } = this.parts;
    return (await streams.accounts.load(names.accountStream(this.scope, this.account))).state;
  }

  /** @throws {ProviderFailure} that a retry may avoid. */
  async push(reward: RewardState): Promise<PushTurn> {
    const { pushed } = reward;
    try {
      if (pushed === undefined) return await this.start(reward, 0, new Map());
      if (pushed.status === 'STARTED') return await this.call(reward, pushed, false);
      return await this.restart(reward, pushed);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      // Before any call, the provider refuses to list earlier payments.
      const unsure = possiblyPaid(isBeingPushed(reward));
      return this.refuse(reward, pushed?.push ?? 0, error, { made: new Map(), ...unsure });
    }
  }

  /** Records the calls, then makes them. */
  private async start(reward: RewardState, replaces: number, made: Effects): Promise<PushTurn> {
    const { rewardId, value } = reward;
    const found = { done: doneBy(made), reference: first(made) };
    const request = { type: 'StartRewardPush', rewardId, replaces, ...found } as const;
    const begun = await this.execute({ ...request, subscriptions: null });
    let after = rewardIn(begun, rewardId);
    if (isUndecided(reward, after) && value.type === 'PCT_DISCOUNT') {
      const customer = begun.status === 'open' ? begun.paymentProviderId : null;
      if (customer === null) return 'nothing';
      const paid = replaces === 0 ? await this.paidBefore(reward, customer) : {};
      const { subscriptions, refusal } = await this.subscriptionsOf(customer);
      after = rewardIn(await this.execute({ ...request, ...paid, subscriptions }), rewardId);
      if (isUndecided(reward, after)) {
        if (refusal !== undefined) throw refusal;
        return 'waits';
      }
    }
    if (after?.pushed?.status === 'PUSHED') return 'pushed';
    if (after?.pushed?.status !== 'STARTED' || after.pushed.push !== replaces + 1) return 'nothing';
    return this.call(after, after.pushed, true);
  }

  /** The payment of a discount, or of the credit in its place, that a lost end of the log made. */
  private async paidBefore(
    { rewardId, source, dateGiven }: RewardState,
    customer: string,
  ): Promise<PaidBefore> {
    try {
      const all = await this.provider.discountsFor(customer, rewardId);
      const open = all.filter(({ hasEnded }) => !hasEnded);
      const [one] = [...open, ...all];
      if (one !== undefined) {
        const done = open.map(({ subscription }) => subscription);
        return { reference: one.reference, ...(done.length > 0 ? { done } : { isPaid: true }) };
      }
      if (source !== 'REFERRED') return {};
      const credit = { kind: 'BALANCE_CREDIT', customer } as const;
      const reference = await this.provider.made(credit, rewardId, this.real(dateGiven));
      return reference === undefined ? {} : { reference, isPaid: true };
    } catch (error) {
      // The call itself would be refused as well.
      if (!isRefusal(error)) throw error;
      return {};
    }
  }

  /** A discount that becomes credit needs no subscription. */
  private async subscriptionsOf(customer: string): Promise<{
    readonly subscriptions: readonly ProviderSubscription[];
    readonly refusal?: ProviderFailure;
  }> {
    try {
      return { subscriptions: await this.provider.subscriptionsOf(customer) };
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return { subscriptions: [], refusal: error };
    }
  }

  /** After a refusal or a failure that the provider repeats for its key; keeps what took effect. */
  private async restart(reward: RewardState, pushed: RewardPush): Promise<PushTurn> {
    const end = await this.settleEarlierCalls(reward, pushed);
    if (end !== undefined) return end;
    const made = await this.effectsOf(reward, pushed).catch((error: unknown) => {
      // Another account of the provider does not have these subscriptions.
      if (isBeingPushed(reward) || !this.isByEarlierConnection(pushed) || !isMissing(error))
        throw error;
      return new Map<ProviderCall, string>();
    });
    const reference = made.size > 0 && made.size === pushed.calls?.length && first(made);
    if (typeof reference === 'string') return this.succeed(reward, pushed.push, reference);
    return this.start(reward, pushed.push, made);
  }

  /** @param isNew this process has just recorded the calls. */
  private async call(reward: RewardState, pushed: RewardPush, isNew: boolean): Promise<PushTurn> {
    const { calls, push } = pushed;
    // Their key is destroyed.
    if (calls === null) return 'nothing';
    const end = isNew ? undefined : await this.settleEarlierCalls(reward, pushed);
    if (end !== undefined) return end;
    const made = await this.existingEffects(reward, pushed, isNew);
    if (made.size === 0 && (await this.isGivenUp(reward, pushed)))
      return this.start(reward, push, made);
    for (const call of calls) {
      if (made.has(call)) continue;
      try {
        made.set(call, await this.provider.pay(call, reward.rewardId));
      } catch (error) {
        if (isRefusal(error))
          return this.refuseUnlessMade(reward, pushed, error, { made, ...possiblyPaid(!isNew) });
        // The next start has another idempotency key.
        if (error instanceof ProviderFailure && error.isKept && !isNew)
          return this.restart(reward, pushed);
        throw error;
      }
    }
    return this.succeed(reward, push, first(made) ?? '');
  }

  /** Whether an earlier connection made the calls, possibly to another account. */
  private isByEarlierConnection({ at }: RewardPush): boolean {
    const { keySince } = this.connection;
    return keySince > 0 && this.real(at) < keySince + CLOCKS_DIFFER_MS;
  }

  /**
   * The earlier connection's account may have paid a call without an answer. Another account knows
   * neither its key nor the reward, and would pay it again.
   * @returns undefined: it had no effect there, or an operator wants it repeated nevertheless.
   */
  private async settleEarlierCalls(
    reward: RewardState,
    pushed: RewardPush,
  ): Promise<PushTurn | undefined> {
    if (!isBeingPushed(reward) || !this.isByEarlierConnection(pushed)) return undefined;
    const { before } = this.connection;
    const asked = before !== null && isSince(before, this.real(pushed.at)) ? before.calls : null;
    const here = await this.effectsAt(this.provider, reward, pushed);
    const there = asked === null ? undefined : await this.effectsAt(asked, reward, pushed);
    const made = new Map([...(here ?? []), ...(there ?? [])]);
    const reference = first(made);
    if (reference !== undefined && made.size === pushed.calls?.length)
      return this.succeed(reward, pushed.push, reference);
    const isKnown = asked === null ? pushed.status === 'PARKED' : there !== undefined;
    if (isKnown && made.size === 0) return undefined;
    const failure = new ProviderFailure('refused', UNKNOWN_BEFORE);
    return this.refuse(reward, pushed.push, failure, { made, mayBePaid: true });
  }

  /** The calls that took effect at this account; undefined: the provider refuses to list them. */
  private async effectsAt(
    provider: ProviderCalls,
    reward: RewardState,
    pushed: RewardPush,
  ): Promise<Effects | undefined> {
    try {
      return await this.effectsOf(reward, pushed, provider);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return isMissing(error) ? new Map() : undefined;
    }
  }

  /**
   * The calls that already took effect. Checked before a first start, because a restored log grants
   * a reward again with the same id. Later starts and discounts were checked before, and the
   * provider knows their keys for a while.
   */
  private async existingEffects(
    reward: RewardState,
    pushed: RewardPush,
    isNew: boolean,
  ): Promise<Map<ProviderCall, string>> {
    const isKeyKnown = timeNow() - this.real(pushed.at) < KEY_KNOWN_MS;
    const isLookedFor = pushed.push > 1 || (isNew && reward.value.type === 'PCT_DISCOUNT');
    if (isLookedFor && isKeyKnown) return new Map();
    try {
      return await this.effectsOf(reward, pushed);
    } catch (error) {
      if (!isRefusal(error) || !isKeyKnown) throw error;
      return new Map();
    }
  }

  /**
   * Whether the reward was refunded or its owner forgotten, and the provider has forgotten the key:
   * by now it would list an effect of the call.
   */
  private async isGivenUp({ rewardId }: RewardState, { at }: RewardPush): Promise<boolean> {
    if (timeNow() - this.real(at) < KEY_KNOWN_MS) return false;
    const state = await this.state();
    const reward = rewardIn(state, rewardId);
    return state.status === 'open' && reward !== undefined && isGivenUp(state, reward);
  }

  /**
   * A refusal says nothing about earlier calls: one without an answer, or one that a restored log
   * has lost and whose key belongs to another body.
   */
  private async refuseUnlessMade(
    reward: RewardState,
    pushed: RewardPush,
    error: ProviderFailure,
    { made, ...unsure }: RefusedCalls,
  ): Promise<PushTurn> {
    const { push, calls } = pushed;
    try {
      const all = new Map([...made, ...(await this.effectsOf(reward, pushed))]);
      const reference = first(all);
      if (reference !== undefined && all.size === calls?.length)
        return await this.succeed(reward, push, reference);
      return await this.refuse(reward, push, error, { made: all });
    } catch (refusal) {
      if (!isRefusal(refusal)) throw refusal;
      return this.refuse(reward, push, error, { made, ...unsure });
    }
  }

  private async effectsOf(
    { rewardId, dateGiven }: RewardState,
    { calls }: RewardPush,
    provider = this.provider,
  ): Promise<Map<ProviderCall, string>> {
    const made = new Map<ProviderCall, string>();
    for (const call of calls ?? []) {
      const reference = await provider.made(call, rewardId, this.real(dateGiven));
      if (reference !== undefined) made.set(call, reference);
    }
    return made;
  }

  private async succeed(
    { rewardId }: RewardState,
    push: number,
    reference: string,
  ): Promise<PushTurn> {
    await this.record(rewardId, push, { kind: 'pushed', reference });
    return 'pushed';
  }

  private async refuse(
    { rewardId }: RewardState,
    push: number,
    { message }: ProviderFailure,
    { made, ...unsure }: RefusedCalls,
  ): Promise<PushTurn> {
    const found = { done: doneBy(made), reference: first(made) };
    await this.record(rewardId, push, { kind: 'refused', reason: message, ...found, ...unsure });
    return 'refused';
  }

  private async record(rewardId: string, push: number, outcome: PushOutcome): Promise<void> {
    await this.execute({ type: 'RecordRewardPush', rewardId, push, outcome });
  }

  private async execute(request: AccountCommand): Promise<AccountState> {
    const commandId = newId();
    const meta = {
      scope: this.scope,
      commandId,
      correlationId: commandId,
      causationId: commandId,
      actor: { kind: 'system' as const, id: 'payment-provider' },
      idempotency: null,
    };
    const outcome = await this.parts.commands.execute(
      new AccountCommandEnvelope(meta, this.account, request),
    );
    return outcome.kind === 'accepted' ? outcome.state : this.state();
  }
}

type PaidBefore = Partial<Pick<StartRewardPush, 'done' | 'reference' | 'isPaid'>>;

interface RefusedCalls {
  readonly made: Effects;
  readonly mayBePaid?: true;
}

/** The calls that took effect, with the provider's ids of their results. */
type Effects = ReadonlyMap<ProviderCall, string>;

const possiblyPaid = (mayBePaid: boolean): Pick<RefusedCalls, 'mayBePaid'> =>
  mayBePaid ? { mayBePaid } : {};

const isRefusal = (error: unknown): error is ProviderFailure =>
  error instanceof ProviderFailure && error.kind === 'refused';

const isMissing = (error: unknown): boolean => isRefusal(error) && error.isMissing;

const rewardIn = (state: AccountState, rewardId: string): RewardState | undefined =>
  state.status === 'open' ? state.rewards.get(rewardId) : undefined;

/** Whether the start was neither recorded nor became superfluous. */
const isUndecided = (before: RewardState, after: RewardState | undefined): boolean =>
  after !== undefined &&
  after.dateCancelled === null &&
  after.phase === 'AVAILABLE' &&
  after.pushed?.push === before.pushed?.push &&
  after.pushed?.status === before.pushed?.status;

const first = (made: Effects): string | undefined => made.values().next().value;

const doneBy = (made: Effects): readonly string[] =>
  [...made.keys()].flatMap((call) => (call.kind === 'DISCOUNT' ? [call.subscription] : []));
