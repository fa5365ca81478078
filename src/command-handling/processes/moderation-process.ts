import { randomUUID } from 'node:crypto';
import { decide as decideAccount } from '../../domain/account/account.decider.js';
import type { AccountEvent } from '../../domain/account/account.events.js';
import type { AccountState } from '../../domain/account/account.state.js';
import type {
  ApplyModeration,
  PrepareModeration,
  ReleaseModeration,
  SideChanges,
  SideOfAccount,
} from '../../domain/account/moderation-of-account.js';
import {
  decide,
  type ModerationCommand,
  type ModerationItem,
} from '../../domain/moderation/moderation.decider.js';
import type { Refusal } from '../../domain/refusal.js';
import type { AccountRef, Scope } from '../../domain/scope.js';
import type { CommandMeta } from '../../event-log/envelope.js';
import type { Position } from '../../event-log/event-log.js';
import { idWithin, type KeyedNames } from '../../privacy/keyed-names.js';
import { deterministicId } from '../deterministic-id.js';
import type { Outcome } from '../handle-command.js';
import { REPLAYED_MS } from '../handled-commands.js';
import { NeedResolver, type NeedSources } from '../needs/need-resolver.js';
import type { Streams } from '../streams.js';

/** What an account is told in a moderation; what it needs for it is got on the way. */
type AccountStep = PrepareModeration | Omit<ApplyModeration, 'provided'> | ReleaseModeration;

/** What one account has to do in a moderation, as one of its sides. */
interface Part {
  readonly account: AccountRef;
  readonly side: SideOfAccount;
  readonly changes: readonly SideChanges[];
}

export interface ModerationResult {
  /** Empty: applied everywhere. Else why not, and nothing changed. */
  readonly reasons: readonly string[];
  /**
   * Of the last event of the moderation's own stream, which comes behind all of its steps, whoever
   * took them.
   */
  readonly position: Position | null;
}

/** What was asked of each referral, by its id; undefined: leaves that side alone. */
export type Sides = ReadonlyMap<string, Pick<ModerationItem, 'referred' | 'referrer'>>;

/** A stream of moderations, and what stands in it. */
export interface PlaceOfRequest {
  readonly moderationId: string;
  readonly holds: 'nothing' | 'this-request' | 'another-request';
}

/** What a drive came to; absent: no such moderation was recorded when it looked. */
type Driven = ModerationResult | 'absent';

/**
 * Carries a recorded moderation to its end. Whoever calls it goes on where the last one stopped:
 * the request itself, a command that meets the hold, or the job that looks after what a crash left.
 * Accounts are prepared in one fixed order, so two moderations that share accounts cannot wait for
 * each other.
 */
export class ModerationProcess {
  /**
   * The drive under way of each moderation: whoever meets the hold meanwhile waits for that one.
   */
  private readonly driving = new Map<string, Promise<Driven>>();

  constructor(
    private readonly streams: Streams,
    private readonly names: KeyedNames,
    private readonly sources: NeedSources,
  ) {}

  /**
   * Where the request is recorded, or is to be: a moderation has a stream of its own, which is
   * named after the idempotency key. Of a key whose effect is older than it answers for, the next
   * request is another moderation, in the next stream of that key.
   */
  async place(meta: CommandMeta, asked: Sides): Promise<PlaceOfRequest> {
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
      // One of a release that left the key out of the event.
      if (handled.size === 0 && state.requestedAt > (meta.askedAt ?? Date.now()) - REPLAYED_MS)
        return {
          moderationId,
          holds: isOf(state.items, asked) ? 'this-request' : 'another-request',
        };
    }
  }

  /** @param moderationId see `place`. */
  async request(
    meta: CommandMeta,
    moderationId: string,
    items: readonly ModerationItem[],
    now: number,
  ): Promise<ModerationResult & { readonly replayed: boolean; readonly refused?: Refusal }> {
    const requested = await this.step(meta, moderationId, {
      type: 'RequestModeration',
      moderationId,
      items,
      now,
    });
    // Another request with the key was faster, in another process.
    if (requested.kind === 'refused')
      return { refused: requested.refused, reasons: [], position: null, replayed: false };
    const isNew =
      requested.kind === 'accepted' && requested.events.length > 0 && !requested.replayed;
    return { ...(await this.drive(meta.scope, moderationId, meta)), replayed: !isNew };
  }

  /**
   * Carries the moderation to its end. One drive at a time per process: a herd behind a held
   * account shares it, and its failure.
   * @throws {EventLogUnavailable} {TooBusy}
   */
  async drive(
    scope: Scope,
    moderationId: string,
    cause: Omit<CommandMeta, 'scope' | 'commandId'>,
  ): Promise<ModerationResult> {
    const key = `${scope.tenant}/${scope.mode}/${moderationId}`;
    const shared = await this.driving.get(key);
    // One that began before the request was recorded found nothing to do.
    if (shared !== undefined && shared !== 'absent') return shared;
    const meta: CommandMeta = { ...cause, scope, commandId: moderationId, idempotency: null };
    const driven = await (this.driving.get(key) ?? this.begin(key, meta, moderationId));
    return driven === 'absent' ? { reasons: [], position: null } : driven;
  }

  private begin(key: string, meta: CommandMeta, moderationId: string): Promise<Driven> {
    const drive = this.carryOn(meta, moderationId).finally(() => this.driving.delete(key));
    this.driving.set(key, drive);
    return drive;
  }

  private async carryOn(meta: CommandMeta, moderationId: string): Promise<Driven> {
    const now = Date.now();
    const stream = this.names.moderationStream(meta.scope, moderationId);
    let { state, position } = await this.streams.moderations.load(stream);
    if (state.status === 'absent') return 'absent';
    const parts = partsOf(state.items);
    if (state.status === 'requested') {
      const reasons = await this.prepare(meta, moderationId, parts, now);
      await this.step(
        meta,
        moderationId,
        reasons.length > 0
          ? { type: 'RefuseModeration', moderationId, reasons, now }
          : { type: 'AgreeToModeration', moderationId, now },
      );
      // Another driver may have come to another outcome first: what stands in the stream counts.
      ({ state, position } = await this.streams.moderations.load(stream));
    }
    if (state.status === 'agreed') {
      // Referrers first: once a referral says APPROVED, the policy that grants its referrer's
      // reward must find that side approved.
      for (const part of parts)
        if (part.side === 'referrer') await this.apply(meta, moderationId, part, now);
      for (const part of parts)
        if (part.side === 'referred') await this.apply(meta, moderationId, part, now);
      const completed = await this.step(meta, moderationId, {
        type: 'CompleteModeration',
        moderationId,
        now,
      });
      if (completed.kind === 'accepted') ({ position } = completed);
    } else {
      // Refused, or finished by another driver while this one still prepared: nothing may stay
      // held.
      for (const part of parts)
        await this.tell(meta, part.account, { type: 'ReleaseModeration', moderationId, now });
    }
    return { reasons: state.status === 'absent' ? [] : state.reasons, position };
  }

  private async prepare(
    meta: CommandMeta,
    moderationId: string,
    parts: readonly Part[],
    now: number,
  ): Promise<string[]> {
    const reasons: string[] = [];
    for (const { account, side, changes } of parts) {
      const outcome = await this.tell(meta, account, {
        type: 'PrepareModeration',
        moderationId,
        side,
        changes,
        now,
      });
      if (outcome.kind === 'refused') reasons.push(...outcome.details);
    }
    return reasons;
  }

  private apply(
    meta: CommandMeta,
    moderationId: string,
    { account, side, changes }: Part,
    now: number,
  ): Promise<Outcome<AccountState, AccountEvent>> {
    const rewardIds = Object.fromEntries(
      changes.map(({ referralId }) => [
        referralId,
        idWithin(account, `${referralId}/referred/${moderationId}`),
      ]),
    );
    return this.tell(meta, account, {
      type: 'ApplyModeration',
      moderationId,
      side,
      changes,
      rewardIds,
      now,
    });
  }

  /**
   * Sends one command to one account; where another moderation holds it, that one is carried to its
   * end first.
   */
  private async tell(
    meta: CommandMeta,
    account: AccountRef,
    command: AccountStep,
  ): Promise<Outcome<AccountState, AccountEvent>> {
    const stream = this.names.accountStream(meta.scope, account);
    const accountMeta = stepMeta(meta, account, command);
    const resolver = new NeedResolver(this.sources, accountMeta, account);
    for (;;) {
      const outcome = await this.streams.accounts.handle(stream, accountMeta, (state) =>
        decideAccount(
          state,
          command.type === 'ApplyModeration'
            ? { ...command, provided: resolver.provided }
            : command,
        ),
      );
      if (outcome.kind === 'in-need') await resolver.resolve(outcome.needs);
      else if (outcome.kind === 'held') await this.drive(meta.scope, outcome.heldBy, meta);
      else {
        await resolver.settle(outcome.kind === 'accepted' ? outcome.events : []);
        return outcome;
      }
    }
  }

  /** Nothing happens where it was taken before. */
  private step(meta: CommandMeta, moderationId: string, command: ModerationCommand) {
    const stream = this.names.moderationStream(meta.scope, moderationId);
    const stepMeta =
      command.type === 'RequestModeration' ? requestMeta(meta) : stepWithoutKey(meta, command.type);
    return this.streams.moderations.handle(stream, stepMeta, (state) => decide(state, command));
  }
}

/**
 * Preparing and applying are remembered by their accounts like a request with a key: a driver that
 * comes late prepares nothing again that was applied already, and so never overwrites a moderation
 * that came after. Releasing must work as often as there is something held.
 */
function stepMeta(meta: CommandMeta, account: AccountRef, command: AccountStep): CommandMeta {
  if (command.type === 'ReleaseModeration') return { ...meta, commandId: randomUUID() };
  const commandId = deterministicId(
    meta.commandId,
    `${command.type} ${account} ${'side' in command ? command.side : ''}`,
  );
  return { ...meta, commandId, idempotency: { key: commandId, fingerprint: command.type } };
}

/** The request rides with its event, so that the stream knows it again. */
const requestMeta = (meta: CommandMeta): CommandMeta => ({
  ...meta,
  commandId: deterministicId(meta.commandId, 'RequestModeration'),
});

const stepWithoutKey = (meta: CommandMeta, step: string): CommandMeta => ({
  ...meta,
  commandId: deterministicId(meta.commandId, step),
  idempotency: null,
});

/**
 * The id of the nth moderation of the command's key, from 0; without a key: of the command alone.
 */
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

const isOf = (items: readonly ModerationItem[], asked: Sides): boolean =>
  items.length === asked.size &&
  items.every(({ referralId, referred, referrer }) => {
    const sides = asked.get(referralId);
    return sides?.referred === referred && sides?.referrer === referrer && asked.has(referralId);
  });

/**
 * The work of each account, in one order for all moderations. A referrer's account takes part only
 * where its side is concerned.
 */
function partsOf(items: readonly ModerationItem[]): Part[] {
  const parts = new Map<
    string,
    { account: AccountRef; side: SideOfAccount; changes: SideChanges[] }
  >();
  const add = (
    account: AccountRef,
    side: SideOfAccount,
    { referralId, referred, referrer }: ModerationItem,
  ): void => {
    const key = `${account} ${side}`;
    const part = parts.get(key) ?? { account, side, changes: [] };
    part.changes.push({ referralId, referred, referrer });
    parts.set(key, part);
  };
  for (const item of items) {
    add(item.referredAccount, 'referred', item);
    if (item.referrer !== undefined) add(item.referrerAccount, 'referrer', item);
  }
  return [...parts.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, part]) => part);
}
