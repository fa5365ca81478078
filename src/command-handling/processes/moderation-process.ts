import type { AccountEvent } from '../../domain/account/account.events.js';
import type { AccountState } from '../../domain/account/account.state.js';
import { referralOf } from '../../domain/account/referral/former-referrals.js';
import {
  applyModeration,
  prepareModeration,
  releaseModeration,
  type ApplyModeration,
  type PrepareModeration,
  type ReleaseModeration,
  type SideChanges,
  type SideOfAccount,
} from '../../domain/account/moderation/moderation-of-account.js';
import {
  decide,
  type ModerationCommand,
  type ModerationItem,
} from '../../domain/moderation/moderation.decider.js';
import type { Decision } from '../../domain/decision.js';
import type { Provided } from '../../domain/need.js';
import type { Refusal } from '../../domain/refusal.js';
import type { AccountRef, Scope } from '../../domain/scope.js';
import type { CommandMeta } from '../../event-log/envelope.js';
import { LogWentBack, type Position } from '../../event-log/event-log.js';
import { withTimeout } from '../../foundation/timeout.js';
import { KeyedQueue } from '../../foundation/keyed-queue.js';
import { elapsed, newId } from '../../foundation/world.js';
import { accountOfId, idWithin, type KeyedNames } from '../../privacy/keyed-names.js';
import type { AccountOutcome, ModerationDecision } from '../commands.js';
import { deterministicId } from '../deterministic-id.js';
import type { Outcome } from '../outcome.js';
import { NeedResolver, type NeedSources } from '../needs/need-resolver.js';
import type { Streams } from '../streams.js';
import { TooBusy } from '../stream-queues.js';

const UNDER_WAY = 'another moderation of it is under way';
/** Longest wait of a command, or of a step of a moderation, over all holds that it meets. */
const WAIT_MS_MAX = 20_000;

/** A step of one account in a moderation, without its needs. */
type AccountStep = PrepareModeration | Omit<ApplyModeration, 'provided'> | ReleaseModeration;

/** The changes on one side of one account. */
interface Part {
  readonly account: AccountRef;
  readonly side: SideOfAccount;
  readonly changes: readonly SideChanges[];
}

export interface ModerationResult {
  /** Empty: applied to all. Otherwise the reasons of the refusal; nothing changed. */
  readonly reasons: readonly string[];
  /** Of the newest event of the moderation's stream, after all of its steps. */
  readonly position: Position | null;
}

/** The requested status of each side of a referral; undefined: unchanged. */
export type RequestedSideChanges = Pick<ModerationItem, 'referred' | 'referrer' | 'seen'> &
  Pick<ModerationDecision, 'reason'>;

/** By referral id. */
export type RequestedSides = ReadonlyMap<string, RequestedSideChanges>;

/** The stream of a request and its contents. */
export interface RequestLocation {
  readonly moderationId: string;
  readonly holds: 'nothing' | 'this-request' | 'another-request';
}

export type HeldOutcome = Extract<Outcome<never, never>, { readonly kind: 'held' }>;

/** Two moderations wait for each other: this one yields. */
class CircularWait extends TooBusy {
  constructor() {
    super('two moderations wait for each other');
  }
}

/** One pass over a moderation, on one epoch of the log. */
interface Run {
  readonly meta: CommandMeta;
  readonly moderationId: string;
  readonly now: number;
  /** Called before each decision: its append then proves that no loss lies between. */
  readonly sameLog: () => void;
}

/** `absent`: the moderation is not recorded yet, or the log lost it. */
export type RunOutcome = ModerationResult | 'absent';

/**
 * Completes a recorded moderation. The request starts it; a command that meets the hold, or a job
 * after a crash, resumes it. A fixed order of accounts keeps moderations from waiting for each
 * other in most cases; otherwise the one that would close the circle yields.
 */
export class ModerationProcess {
  /** Running moderations: a command that meets a hold waits for the run. */
  private readonly running = new Map<string, Promise<RunOutcome>>();
  /** Commands that met a hold run one at a time per account, in order of arrival. */
  private readonly queues = new KeyedQueue();
  /** The moderation that a run waits for. */
  private readonly awaited = new Map<string, string>();

  constructor(
    private readonly streams: Streams,
    private readonly names: KeyedNames,
    private readonly sources: NeedSources,
  ) {}

  /** By idempotency key; once its effect has expired, the key's next stream. */
  async locate(meta: CommandMeta): Promise<RequestLocation> {
    // Its id is new.
    if (meta.idempotency === null)
      return { moderationId: moderationIdOf(meta, 0), holds: 'nothing' };
    const asStep = requestMeta(meta);
    for (let nth = 0; ; nth++) {
      const moderationId = moderationIdOf(meta, nth);
      const { state, handled } = await this.streams.moderations.load(
        this.names.moderationStream(meta.scope, moderationId),
      );
      if (state.status === 'absent') return { moderationId, holds: 'nothing' };
      const known = handled.find(asStep);
      if (known === 'another-request') return { moderationId, holds: 'another-request' };
      if (known) return { moderationId, holds: 'this-request' };
    }
  }

  /** @param moderationId from `locate`. */
  async request(
    meta: CommandMeta,
    moderationId: string,
    items: readonly ModerationItem[],
    now: number,
  ): Promise<ModerationResult & { readonly replayed: boolean; readonly refused?: Refusal }> {
    for (;;) {
      const requested = await this.step(requestMeta(meta), moderationId, {
        type: 'RequestModeration',
        moderationId,
        items,
        now,
      });
      // Another process recorded a request with this key first.
      if (requested.kind === 'refused')
        return { refused: requested.refused, reasons: [], position: null, replayed: false };
      const isNew =
        requested.kind === 'accepted' && requested.events.length > 0 && !requested.replayed;
      const driven = await this.drive(meta.scope, moderationId, meta);
      // The log lost the request: it is recorded again.
      if (driven !== 'absent') return { ...driven, replayed: !isNew };
    }
  }

  /**
   * Completes the moderation, with one run at a time per process: all commands that wait for it
   * share its result.
   * @throws {EventLogUnavailable} {TooBusy}
   */
  async drive(
    scope: Scope,
    moderationId: string,
    cause: Omit<CommandMeta, 'scope' | 'commandId'>,
  ): Promise<RunOutcome> {
    const key = keyOf(scope, moderationId);
    const shared = await this.running.get(key);
    // A run from before the recording of the request had nothing to do.
    if (shared !== undefined && shared !== 'absent') return shared;
    const meta: CommandMeta = { ...cause, scope, commandId: moderationId, idempotency: null };
    return this.running.get(key) ?? this.start(key, meta, moderationId);
  }

  /**
   * Completes each moderation that holds the command's account, and retries the command until none
   * does. The first hold may have ended before the command's turn.
   * @throws {TooBusy} after 20 s. {EventLogUnavailable}
   */
  afterHolds(
    stream: string,
    meta: CommandMeta,
    tryAgain: () => Promise<AccountOutcome | HeldOutcome>,
  ): Promise<AccountOutcome> {
    const until = elapsed() + WAIT_MS_MAX;
    return this.queues.run(stream, async () => {
      for (;;) {
        const outcome = await tryAgain();
        if (outcome.kind !== 'held') return outcome;
        await this.completed(meta, outcome.heldBy, until);
      }
    });
  }

  private async completed(meta: CommandMeta, heldBy: string, until: number): Promise<void> {
    const left = Math.max(0, until - elapsed());
    const tooLong = (): Error => new TooBusy('the moderations of an account last too long');
    await withTimeout(this.drive(meta.scope, heldBy, meta), left, tooLong);
  }

  private start(key: string, meta: CommandMeta, moderationId: string): Promise<RunOutcome> {
    const drive = this.complete(meta, moderationId).finally(() => this.running.delete(key));
    this.running.set(key, drive);
    return drive;
  }

  /** Repeats a run during which the log went back: its reads may be of lost events. */
  private async complete(meta: CommandMeta, moderationId: string): Promise<RunOutcome> {
    for (;;) {
      try {
        return await this.run(meta, moderationId);
      } catch (error) {
        if (!(error instanceof LogWentBack)) throw error;
      }
    }
  }

  /** @throws {LogWentBack} */
  private async run(meta: CommandMeta, moderationId: string): Promise<RunOutcome> {
    const now = await this.sources.now(meta.scope);
    const sameLog = this.guardOfEpoch();
    const stream = this.names.moderationStream(meta.scope, moderationId);
    let { state, position } = await this.streams.moderations.load(stream);
    if (state.status === 'absent') return 'absent';
    const run: Run = { meta, moderationId, now, sameLog };
    const parts = partsOf(state.items);
    if (state.status === 'requested') {
      const reasons = await this.prepare(run, parts);
      await this.stepOf(
        run,
        reasons.length > 0
          ? { type: 'RefuseModeration', moderationId, reasons, now }
          : { type: 'AgreeToModeration', moderationId, now },
      );
      // Another process may have recorded another outcome first: the stream decides.
      ({ state, position } = await this.streams.moderations.load(stream));
      sameLog();
    }
    if (state.status === 'agreed') {
      // Referrers first: when a referral becomes APPROVED, the policy that grants the referrer's
      // reward must find that side approved.
      for (const part of parts) if (part.side === 'referrer') await this.apply(run, part);
      for (const part of parts) if (part.side === 'referred') await this.apply(run, part);
      const completed = await this.stepOf(run, { type: 'CompleteModeration', moderationId, now });
      if (completed.kind === 'accepted') ({ position } = completed);
    } else {
      // Refused, or completed by another process during the preparation: release every hold.
      for (const part of parts)
        await this.send(run, part.account, { type: 'ReleaseModeration', moderationId, now });
    }
    return { reasons: state.status === 'absent' ? [] : state.reasons, position };
  }

  /** Returns a function that throws once the log has gone back. */
  private guardOfEpoch(): () => void {
    const { log } = this.sources;
    const { epoch } = log;
    return () => {
      if (log.epoch !== epoch) throw new LogWentBack();
    };
  }

  /** A circle of waits is a reason. */
  private async prepare(run: Run, parts: readonly Part[]): Promise<string[]> {
    const reasons = new Set<string>();
    for (const part of parts) {
      try {
        for (const reason of await this.prepareSide(run, part)) reasons.add(reason);
      } catch (error) {
        if (!(error instanceof CircularWait)) throw error;
        for (const { referralId } of part.changes) reasons.add(`${referralId}: ${UNDER_WAY}`);
      }
    }
    return [...reasons];
  }

  private async prepareSide(
    run: Run,
    { account, side, changes }: Part,
  ): Promise<readonly string[]> {
    const { moderationId, now } = run;
    const outcome = await this.send(run, account, {
      type: 'PrepareModeration',
      moderationId,
      side,
      changes,
      now,
    });
    return outcome.kind === 'refused' ? outcome.details : [];
  }

  private async apply(
    run: Run,
    { account, side, changes }: Part,
  ): Promise<Outcome<AccountState, AccountEvent>> {
    const { moderationId, now } = run;
    const rewardIds = Object.fromEntries(
      changes.map(({ referralId }) => [
        referralId,
        idWithin(account, `${referralId}/referred/${moderationId}`),
      ]),
    );
    return this.send(run, account, {
      type: 'ApplyModeration',
      moderationId,
      side,
      changes,
      rewardIds,
      refunded: side === 'referrer' ? await this.refundedOf(run, changes) : [],
      now,
    });
  }

  /** Referrers come first: the holds keep a refund from being recorded in the meantime. */
  private async refundedOf(
    { meta }: Run,
    changes: readonly SideChanges[],
  ): Promise<readonly string[]> {
    const refunded: string[] = [];
    for (const { referralId, referrer } of changes) {
      const account = referrer === 'APPROVED' ? accountOfId(referralId) : undefined;
      if (account === undefined) continue;
      const stream = this.names.accountStream(meta.scope, account);
      const { state } = await this.streams.accounts.load(stream);
      if (referralOf(state, referralId)?.dateRefunded !== undefined) refunded.push(referralId);
    }
    return refunded;
  }

  /** Sends one command to one account; a moderation that holds the account is completed first. */
  private async send(
    { meta, moderationId, sameLog }: Run,
    account: AccountRef,
    command: AccountStep,
  ): Promise<Outcome<AccountState, AccountEvent>> {
    const stream = this.names.accountStream(meta.scope, account);
    const accountMeta = stepMeta(meta, account, command);
    const resolver = new NeedResolver(this.sources, accountMeta, account);
    const decideNow = (state: AccountState): Promise<Decision<AccountEvent>> => {
      sameLog();
      return resolver.decide((provided) => decideStep(state, command, provided));
    };
    // Others wait for the hold that this step ends.
    let goesFirst = command.type !== 'PrepareModeration';
    const until = elapsed() + WAIT_MS_MAX;
    for (;;) {
      const outcome = await this.streams.accounts.handle(stream, accountMeta, decideNow, {
        goesFirst,
      });
      if (outcome.kind === 'in-need') await resolver.resolve(outcome.needs);
      else if (outcome.kind === 'held') {
        await this.waitForOther(meta, moderationId, outcome.heldBy, until);
        goesFirst = true;
      } else {
        await resolver.settle(outcome.kind === 'accepted' ? outcome.events : []);
        return outcome;
      }
    }
  }

  /**
   * An account that was absent or refused when it was prepared is not held, and another moderation
   * can hold it before the run is repeated: then the two hold each other's accounts.
   * @throws {CircularWait} {TooBusy}
   */
  private async waitForOther(
    meta: CommandMeta,
    moderationId: string,
    heldBy: string,
    until: number,
  ): Promise<void> {
    const own = keyOf(meta.scope, moderationId);
    const other = keyOf(meta.scope, heldBy);
    for (let next: string | undefined = other; next !== undefined; next = this.awaited.get(next))
      if (next === own) throw new CircularWait();
    this.awaited.set(own, other);
    try {
      await this.completed(meta, heldBy, until);
    } finally {
      this.awaited.delete(own);
    }
  }

  /** Idempotent. */
  private step(
    meta: CommandMeta,
    moderationId: string,
    command: ModerationCommand,
    sameLog?: () => void,
  ) {
    const stream = this.names.moderationStream(meta.scope, moderationId);
    return this.streams.moderations.handle(stream, meta, (state) => {
      sameLog?.();
      return decide(state, command);
    });
  }

  /** A step that depends on what the run did to the accounts. */
  private stepOf({ meta, moderationId, sameLog }: Run, command: ModerationCommand) {
    return this.step(stepWithoutKey(meta, command.type), moderationId, command, sameLog);
  }
}

function decideStep(
  state: AccountState,
  step: AccountStep,
  provided: Provided,
): Decision<AccountEvent> {
  switch (step.type) {
    case 'PrepareModeration':
      return prepareModeration(state, step);
    case 'ApplyModeration':
      return applyModeration(state, { ...step, provided });
    case 'ReleaseModeration':
      return releaseModeration(state, step);
  }
}

/**
 * An account remembers preparing and applying like keyed requests, so that a late process cannot
 * prepare again and overwrite a newer moderation. Releasing must work for each hold.
 */
function stepMeta(meta: CommandMeta, account: AccountRef, command: AccountStep): CommandMeta {
  if (command.type === 'ReleaseModeration') return { ...meta, commandId: newId() };
  const commandId = deterministicId(
    meta.commandId,
    `${command.type} ${account} ${'side' in command ? command.side : ''}`,
  );
  return { ...meta, commandId, idempotency: { key: commandId, fingerprint: command.type } };
}

/** With the request's key and fingerprint, by which the stream recognises the request. */
const requestMeta = (meta: CommandMeta): CommandMeta => ({
  ...meta,
  commandId: deterministicId(meta.commandId, 'RequestModeration'),
});

const stepWithoutKey = (meta: CommandMeta, step: string): CommandMeta => ({
  ...meta,
  commandId: deterministicId(meta.commandId, step),
  idempotency: null,
});

/** The id of the nth moderation of the key, from 0; without a key: of the command. */
export function moderationIdOf(
  { scope, commandId, idempotency }: CommandMeta,
  nth: number,
): string {
  const command =
    idempotency === null
      ? commandId
      : deterministicId(`${scope.tenant}/${scope.mode}/${idempotency.key}`, 'request');
  const first = deterministicId(command, 'moderation');
  return nth === 0 ? first : deterministicId(first, nth);
}

const keyOf = ({ tenant, mode }: Scope, moderationId: string): string =>
  `${tenant}/${mode}/${moderationId}`;

/** The work per account, in one order for all moderations. */
function partsOf(items: readonly ModerationItem[]): Part[] {
  const parts = new Map<
    string,
    { account: AccountRef; side: SideOfAccount; changes: SideChanges[] }
  >();
  const add = (
    account: AccountRef,
    side: SideOfAccount,
    { referralId, referred, referrer, seen, reason }: ModerationItem,
  ): void => {
    const key = `${account} ${side}`;
    const part = parts.get(key) ?? { account, side, changes: [] };
    part.changes.push({ referralId, referred, referrer, seen, reason: reason?.[side] });
    parts.set(key, part);
  };
  for (const item of items) {
    add(item.referredAccount, 'referred', item);
    if (item.referrer !== undefined) add(item.referrerAccount, 'referrer', item);
  }
  return [...parts.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, part]) => part);
}
