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

/** Where a reward is behind a turn. */
export type PushTurn =
  | 'pushed'
  | 'refused'
  /** For a subscription of its customer. */
  | 'waits'
  /** Nothing is to be paid, or another process pays it. */
  | 'nothing';

interface PushParts {
  readonly commands: Commands;
  readonly streams: Pick<ReadableStreams, 'accounts'>;
  readonly names: Pick<KeyedNames, 'accountStream'>;
}

/** The connection that an account is paid by. */
export interface PayingConnection {
  readonly calls: ProviderCalls;
  /** Epoch milliseconds: since when no other key was connected; 0: there was none before. */
  readonly keySince: number;
  /** The connection that it replaced; null: there was none, or its secrets are destroyed. */
  readonly before: { readonly calls: ProviderCalls; readonly keySince: number } | null;
  /** How far the clock of the ledger is ahead of the real one, which the provider has. */
  readonly offsetMs: number;
}

const UNKNOWN_BEFORE =
  'a call of the connection before has no answer, and that connection cannot be asked';

/** Those of two processes, one of which may not know the new connection yet. */
const CLOCKS_DIFFER_MS = 60_000;

const isSince = ({ keySince }: Pick<PayingConnection, 'keySince'>, at: number): boolean =>
  keySince <= at + CLOCKS_DIFFER_MS;

/** The provider forgets keys after a day. */
const KEY_KNOWN_MS = 23 * 3_600_000;

/**
 * Pays the rewards of one account: what is to be called is recorded, then called, then its outcome
 * is recorded. A step that is repeated finds what the one before has recorded.
 */
export class AccountPushes {
  constructor(
    private readonly parts: PushParts,
    private readonly scope: Scope,
    private readonly account: AccountRef,
    private readonly connection: PayingConnection,
  ) {}

  /** The real time of an event, or one before it: the test clock may have moved since. */
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

  /** @throws {ProviderFailure} that a later repetition may not meet. */
  async push(reward: RewardState): Promise<PushTurn> {
    const { pushed } = reward;
    try {
      if (pushed === undefined) return await this.start(reward, 0, new Map());
      if (pushed.status === 'STARTED') return await this.call(reward, pushed, false);
      return await this.startAgain(reward, pushed);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      // Before any call: the provider refuses to say what is there.
      const unsure = unsureIf(isBeingPushed(reward));
      return this.refuse(reward, pushed?.push ?? 0, error, { made: new Map(), ...unsure });
    }
  }

  /** Records the calls, then makes them. */
  private async start(reward: RewardState, replaces: number, made: Made): Promise<PushTurn> {
    const { rewardId, value } = reward;
    const found = { done: doneBy(made), reference: first(made) };
    const request = { type: 'StartRewardPush', rewardId, replaces, ...found } as const;
    const begun = await this.execute({ ...request, subscriptions: null });
    let after = rewardIn(begun, rewardId);
    if (isUnchanged(reward, after) && value.type === 'PCT_DISCOUNT') {
      const customer = begun.status === 'open' ? begun.paymentProviderId : null;
      if (customer === null) return 'nothing';
      const paid = replaces === 0 ? await this.paidBefore(reward, customer) : {};
      const { subscriptions, refusal } = await this.subscriptionsOf(customer);
      after = rewardIn(await this.execute({ ...request, ...paid, subscriptions }), rewardId);
      if (isUnchanged(reward, after)) {
        if (refusal !== undefined) throw refusal;
        return 'waits';
      }
    }
    if (after?.pushed?.status === 'PUSHED') return 'pushed';
    if (after?.pushed?.status !== 'STARTED' || after.pushed.push !== replaces + 1) return 'nothing';
    return this.call(after, after.pushed, true);
  }

  /**
   * What a log that lost its end has paid for a discount, which may have become credit then, or
   * become it now.
   */
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
      // What is refused here is refused to the call, too.
      if (!isRefusal(error)) throw error;
      return {};
    }
  }

  /** A discount that becomes credit needs none of them. */
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

  /** Behind a refusal, or a failure that the provider keeps: what is there stays. */
  private async startAgain(reward: RewardState, pushed: RewardPush): Promise<PushTurn> {
    const end = await this.endBefore(reward, pushed);
    if (end !== undefined) return end;
    const made = await this.madeBy(reward, pushed).catch((error: unknown) => {
      // Another account of the provider has none of the subscriptions.
      if (isBeingPushed(reward) || !this.isOfBefore(pushed) || !isMissing(error)) throw error;
      return new Map<ProviderCall, string>();
    });
    const reference = made.size > 0 && made.size === pushed.calls?.length && first(made);
    if (typeof reference === 'string') return this.succeed(reward, pushed.push, reference);
    return this.start(reward, pushed.push, made);
  }

  /** @param isNew the calls were recorded just now, by this process. */
  private async call(reward: RewardState, pushed: RewardPush, isNew: boolean): Promise<PushTurn> {
    const { calls, push } = pushed;
    // Its key is destroyed.
    if (calls === null) return 'nothing';
    const end = isNew ? undefined : await this.endBefore(reward, pushed);
    if (end !== undefined) return end;
    const made = await this.madeBefore(reward, pushed, isNew);
    if (made.size === 0 && (await this.isGivenUp(reward, pushed)))
      return this.start(reward, push, made);
    for (const call of calls) {
      if (made.has(call)) continue;
      try {
        made.set(call, await this.provider.pay(call, reward.rewardId));
      } catch (error) {
        if (isRefusal(error))
          return this.refuseUnlessMade(reward, pushed, error, { made, ...unsureIf(!isNew) });
        // The next try behind this one has another key.
        if (error instanceof ProviderFailure && error.isKept && !isNew)
          return this.startAgain(reward, pushed);
        throw error;
      }
    }
    return this.succeed(reward, push, first(made) ?? '');
  }

  /** Whether its calls were made by a connection of another key, maybe to another account. */
  private isOfBefore({ at }: RewardPush): boolean {
    const { keySince } = this.connection;
    return keySince > 0 && this.real(at) < keySince + CLOCKS_DIFFER_MS;
  }

  /**
   * A call without an answer may have been paid by the account of the connection before: a call to
   * another account, which knows neither key nor reward, would pay it twice.
   * @returns undefined: it had no effect there, or an operator wants it repeated all the same.
   */
  private async endBefore(reward: RewardState, pushed: RewardPush): Promise<PushTurn | undefined> {
    if (!isBeingPushed(reward) || !this.isOfBefore(pushed)) return undefined;
    const { before } = this.connection;
    const asked = before !== null && isSince(before, this.real(pushed.at)) ? before.calls : null;
    const here = await this.madeAt(this.provider, reward, pushed);
    const there = asked === null ? undefined : await this.madeAt(asked, reward, pushed);
    const made = new Map([...(here ?? []), ...(there ?? [])]);
    const reference = first(made);
    if (reference !== undefined && made.size === pushed.calls?.length)
      return this.succeed(reward, pushed.push, reference);
    const isKnown = asked === null ? pushed.status === 'PARKED' : there !== undefined;
    if (isKnown && made.size === 0) return undefined;
    const failure = new ProviderFailure('refused', UNKNOWN_BEFORE);
    return this.refuse(reward, pushed.push, failure, { made, mayBePaid: true });
  }

  /** What took effect at an account of the provider; undefined: it refuses to say. */
  private async madeAt(
    provider: ProviderCalls,
    reward: RewardState,
    pushed: RewardPush,
  ): Promise<Made | undefined> {
    try {
      return await this.madeBy(reward, pushed, provider);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return isMissing(error) ? new Map() : undefined;
    }
  }

  /**
   * What is there already: before a first start always, since a log that lost its end grants the
   * reward once more, with the same id, when the key of its payment may be forgotten. Of a later
   * start, and of a discount, it was looked for before, and the provider knows its key for a while.
   */
  private async madeBefore(
    reward: RewardState,
    pushed: RewardPush,
    isNew: boolean,
  ): Promise<Map<ProviderCall, string>> {
    const isKeyKnown = timeNow() - this.real(pushed.at) < KEY_KNOWN_MS;
    const isLookedFor = pushed.push > 1 || (isNew && reward.value.type === 'PCT_DISCOUNT');
    if (isLookedFor && isKeyKnown) return new Map();
    try {
      return await this.madeBy(reward, pushed);
    } catch (error) {
      if (!isRefusal(error) || !isKeyKnown) throw error;
      return new Map();
    }
  }

  /**
   * Whether a refund took it back, or its owner was forgotten, and it is too late to repeat its
   * call under the same key: by now the provider would have what that call did.
   */
  private async isGivenUp({ rewardId }: RewardState, { at }: RewardPush): Promise<boolean> {
    if (timeNow() - this.real(at) < KEY_KNOWN_MS) return false;
    const state = await this.state();
    const reward = rewardIn(state, rewardId);
    return state.status === 'open' && reward !== undefined && isGivenUp(state, reward);
  }

  /**
   * A refusal does not say what a call before did: one without an answer, or one that a restored
   * log has lost, whose key belongs to another body.
   */
  private async refuseUnlessMade(
    reward: RewardState,
    pushed: RewardPush,
    error: ProviderFailure,
    { made, ...unsure }: Refused,
  ): Promise<PushTurn> {
    const { push, calls } = pushed;
    try {
      const all = new Map([...made, ...(await this.madeBy(reward, pushed))]);
      const reference = first(all);
      if (reference !== undefined && all.size === calls?.length)
        return await this.succeed(reward, push, reference);
      return await this.refuse(reward, push, error, { made: all });
    } catch (refusal) {
      if (!isRefusal(refusal)) throw refusal;
      return this.refuse(reward, push, error, { made, ...unsure });
    }
  }

  private async madeBy(
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
    { made, ...unsure }: Refused,
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

/** What is known of the calls of a start that was refused. */
interface Refused {
  readonly made: Made;
  readonly mayBePaid?: true;
}

/** The calls that took effect, with the provider's id of what they made. */
type Made = ReadonlyMap<ProviderCall, string>;

const unsureIf = (mayBePaid: boolean): Pick<Refused, 'mayBePaid'> =>
  mayBePaid ? { mayBePaid } : {};

const isRefusal = (error: unknown): error is ProviderFailure =>
  error instanceof ProviderFailure && error.kind === 'refused';

const isMissing = (error: unknown): boolean => isRefusal(error) && error.isMissing;

const rewardIn = (state: AccountState, rewardId: string): RewardState | undefined =>
  state.status === 'open' ? state.rewards.get(rewardId) : undefined;

/** Whether the start of a push was neither recorded nor made needless. */
const isUnchanged = (before: RewardState, after: RewardState | undefined): boolean =>
  after !== undefined &&
  after.dateCancelled === null &&
  after.phase === 'AVAILABLE' &&
  after.pushed?.push === before.pushed?.push &&
  after.pushed?.status === before.pushed?.status;

const first = (made: Made): string | undefined => made.values().next().value;

/** Subscriptions that have the discount. */
const doneBy = (made: Made): readonly string[] =>
  [...made.keys()].flatMap((call) => (call.kind === 'DISCOUNT' ? [call.subscription] : []));
