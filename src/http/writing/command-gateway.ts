import {
  type AccountOutcome,
  AccountCommandEnvelope,
  AuditCommandEnvelope,
  ModerationCommandEnvelope,
  type Commands,
} from '../../command-handling/commands.js';
import type { AccountCommand } from '../../domain/account/account.decider.js';
import type { AccountEvent, PersonId } from '../../domain/account/account.events.js';
import type { OpenAccount } from '../../domain/account/account.state.js';
import type { ModerationAction } from '../../domain/moderation/moderation.decider.js';
import type { AccountRef, Scope } from '../../domain/scope.js';
import { metaOf, type CommandMeta } from '../../event-log/envelope.js';
import type { PersonalMembers } from '../../idempotency/idempotency-key.js';
import { ApiError, unavailable } from '../edge/api-error.js';
import type { Call } from '../credentials/call.js';
import type { OwnWrites, ClientRead } from './own-writes.js';
import { refusalAnswer } from './refusal-answers.js';
import type { WriteAnswer, Writes } from './writes.js';

/** The part of a call that a read needs. */
export type ReadCall = Pick<Call, 'scope' | 'headers' | 'reply' | 'departure' | 'aside'>;

/** The account after a write, with the write's events. */
export interface Written {
  readonly state: OpenAccount;
  readonly events: readonly AccountEvent[];
}

export interface AccountWrite {
  readonly call: Call;
  /** A function if the account may be missing: its refusal is then stored with the key. */
  readonly account: AccountRef | (() => AccountRef);
  readonly command: AccountCommand;
  /** Checks the caller's rights before the idempotency key is looked up. */
  readonly check?: AccountCommand | undefined;
  /** Makes the answer's body. */
  readonly respond: (written: Written) => unknown;
  /**
   * Whose keys encrypt the stored answer's members. Default: the write's person, or the account.
   */
  readonly personalFields?: (written: Written, body: unknown) => readonly PersonalMembers[];
  readonly status?: number;
}

/** The default subject of a stored answer: the write's person, or the account. */
function defaultSubject({ state, events }: Written, body: unknown): readonly PersonalMembers[] {
  const about = events.find((event) => 'person' in event);
  const subject = about && 'person' in about ? about.person : state.account;
  return [{ subject, members: typeof body === 'object' && body !== null ? Object.keys(body) : [] }];
}

/** The controllers' access to the ledger: commands, and reads that wait for earlier writes. */
export class CommandGateway {
  constructor(
    private readonly commands: Commands,
    private readonly writes: Writes,
    private readonly ownWrites: OwnWrites,
    /** Types of events that trigger a policy. */
    private readonly triggering: ReadonlySet<string>,
    /** Accounts with an event that this release cannot read. */
    private readonly unreadableAccounts: () => Promise<ReadonlySet<AccountRef>>,
  ) {}

  /** Sends a command and answers with the result of `respond`. @throws {ApiError} for a refusal. */
  write({
    call,
    account,
    command,
    check,
    respond,
    personalFields = defaultSubject,
    status = 200,
  }: AccountWrite): Promise<unknown> {
    const accountOf = () => (typeof account === 'function' ? account() : account);
    const write = async (meta: CommandMeta): Promise<WriteAnswer> => {
      const outcome = await this.accepted(meta, accountOf(), command);
      const { events, state, position, replayed } = outcome;
      if (state.status === 'absent') throw new Error('an accepted write left no account');
      // Even without events, the write may follow a recent one of another process that triggers a
      // policy.
      const triggersPolicy =
        events.length === 0 || events.some((event) => this.triggering.has(event.type));
      const body = await respond({ state, events });
      return {
        status,
        body,
        named: personalFields({ state, events }, body),
        position,
        triggersPolicy,
        replayed,
      };
    };
    return this.writes.answer(
      call,
      write,
      check && (async (meta) => void (await this.accepted(meta, accountOf(), check))),
    );
  }

  /** @throws {ApiError} for a refusal. */
  private async accepted(meta: CommandMeta, account: AccountRef, request: AccountCommand) {
    const outcome: AccountOutcome = await this.commands.execute(
      new AccountCommandEnvelope(meta, account, request),
    );
    if (outcome.kind === 'refused') throw refusalAnswer(outcome.refused, outcome.details);
    return outcome;
  }

  /** Forgets a user or an account; answers when the keys are destroyed. @throws {ApiError} */
  forget(
    call: Call,
    account: AccountRef,
    asked: Extract<AccountCommand, { type: 'ForgetUser' | 'ForgetAccount' }>,
  ): Promise<unknown> {
    return this.writes.answer(call, async (meta) => {
      const { position, replayed } = await this.accepted(meta, account, asked);
      return { status: 204, body: undefined, position, triggersPolicy: true, replayed };
    });
  }

  /** Records the access to a person's data before they are shown. */
  async recordAccess(call: Call, account: AccountRef, person: PersonId): Promise<void> {
    const { id, scope, actor } = call;
    const meta = metaOf(scope, { kind: 'api-key', id: actor.id }, id);
    await this.commands.execute(
      new AuditCommandEnvelope({ ...meta, correlationId: id }, account, person),
    );
  }

  /** Unsubscribes a person from mails. @returns the address; undefined: the person is gone. */
  async unsubscribe(
    scope: Scope,
    account: AccountRef,
    person: PersonId,
  ): Promise<string | undefined> {
    const meta = metaOf(scope, { kind: 'anyone', id: 'anyone' }, 'a link in a mail');
    const request = { type: 'UnsubscribeFromMails', person } as const;
    const outcome: AccountOutcome = await this.commands.execute(
      new AccountCommandEnvelope(meta, account, request),
    );
    if (outcome.kind !== 'accepted' || outcome.state.status === 'absent') return undefined;
    return outcome.state.users.get(person)?.profile?.email ?? undefined;
  }

  /** All or nothing. @throws {ApiError} MODERATION_NOT_POSSIBLE with a reason per line. */
  moderate(
    call: Call,
    actions: readonly { readonly referralId: string; readonly action: ModerationAction }[],
  ): Promise<unknown> {
    return this.writes.answer(call, async (meta) => {
      const { refused, reasons, position, replayed } = await this.commands.execute(
        new ModerationCommandEnvelope(meta, actions),
      );
      if (refused) throw refusalAnswer(refused);
      if (reasons.length > 0) throw refusalAnswer('MODERATION_NOT_POSSIBLE', reasons);
      return { status: 200, body: {}, position, triggersPolicy: true, replayed };
    });
  }

  /** Another kind of write, once per idempotency key. @throws {ApiError} for a refusal. */
  answer(call: Call, write: (meta: CommandMeta) => Promise<WriteAnswer>): Promise<unknown> {
    return this.writes.answer(call, write);
  }

  /**
   * Waits, bounded, until the projections include earlier writes and the client's position. Missing
   * earlier writes are reported in `Ledger-Stale`.
   * @param account of the rows; undefined: a list, or an account named by a row.
   * @throws {ApiError} POSITION_INVALID, POSITION_NOT_REACHED; 503 for an account with an event
   * that this release cannot read.
   */
  async readable(
    call: ReadCall,
    projections: readonly string[],
    account?: AccountRef,
  ): Promise<void> {
    const atLeast = call.headers['ledger-position-at-least'];
    if (Array.isArray(atLeast)) throw new ApiError('POSITION_INVALID');
    const { scope } = call;
    // Most reads do not wait, and need neither signal nor timer.
    const shown = { scope, projections };
    if (atLeast !== undefined || !this.ownWrites.includesAllWrites(shown))
      await this.waitFor(call, { ...shown, atLeast });
    if (account !== undefined) await this.refuseUnreadable(account);
  }

  private async waitFor(call: ReadCall, read: Omit<ClientRead, 'departure'>): Promise<void> {
    const departure = call.departure();
    const stale = await call.aside(() => this.ownWrites.visible({ ...read, departure }));
    if (stale) void call.reply.header('Ledger-Stale', stale.included ?? 'none');
  }

  /** @throws {ApiError} 503 if the account has an event that this release cannot read. */
  async refuseUnreadable(account: AccountRef): Promise<void> {
    if ((await this.unreadableAccounts()).has(account)) throw unavailable();
  }
}
