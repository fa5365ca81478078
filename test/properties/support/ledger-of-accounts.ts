import type { AccountRequest } from '../../../src/domain/account/requests/account-request.js';
import { openCommandHandling } from '../../../src/command-handling/open-command-handling.js';
import { openCommandBus } from '../../../src/command-handling/command-bus.js';
import {
  type AccountOutcome,
  AccountCommandEnvelope,
  ModerationCommandEnvelope,
  type Commands,
  type ModerationOutcome,
} from '../../../src/command-handling/commands.js';
import { deterministicId } from '../../../src/command-handling/deterministic-id.js';
import {
  moderationIdOf,
  type ModerationProcess,
} from '../../../src/command-handling/processes/moderation-process.js';
import { openStreams, type Streams } from '../../../src/command-handling/streams.js';
import { TenantCommands } from '../../../src/command-handling/tenant-commands.js';
import type { AccountEvent } from '../../../src/domain/account/account.events.js';
import type { AccountState } from '../../../src/domain/account/account.state.js';
import type { DomainEvent } from '../../../src/domain/events.js';
import type { ModerationAction } from '../../../src/domain/moderation/moderation.decider.js';
import type { ProgramDocument } from '../../../src/domain/tenant/tenant.decider.js';
import { EventCodec } from '../../../src/event-log/codec.js';
import type { Actor, CommandMeta } from '../../../src/event-log/envelope.js';
import type { EventLog, Position } from '../../../src/event-log/event-log.js';
import { POLICIES } from '../../../src/policies/policies.js';
import { KeyedNames } from '../../../src/privacy/keyed-names.js';
import { FixedSealer } from '../../../src/privacy/sealed-bytes.js';
import { decodeAny } from '../../../src/projecting/decode-events.js';
import type { LedgerEvent } from '../../../src/projecting/projector.js';
import { InMemoryEventLog } from '../../support/in-memory-event-log.js';
import { InMemorySubjectKeys } from '../../support/in-memory-subject-keys.js';

export const SCOPE = { tenant: 'demo', mode: 'live' } as const;
export const NAMES = new KeyedNames(Buffer.alloc(32, 1));
const MANY = 100_000;

/**
 * A whole ledger in memory, from commands to policies, with as many processes on it as wanted: its
 * log is all that they share.
 */
export class LedgerOfAccounts {
  readonly log = new InMemoryEventLog();
  private readonly keys = new InMemorySubjectKeys();
  private readonly codec = new EventCodec(this.keys);
  private reactedTo: Position | undefined;

  static async open(program: ProgramDocument): Promise<LedgerOfAccounts> {
    const ledger = new LedgerOfAccounts();
    await ledger.process().createTenant(program);
    return ledger;
  }

  /** @param around wraps the process's log, e.g. to let it fail. */
  process(around: (log: EventLog) => EventLog = (log) => log): LedgerProcess {
    return new LedgerProcess(around(this.log), this.codec, this.keys);
  }

  /**
   * The policies react to what is new. Each reaction is carried out twice: once is promised, at
   * least.
   */
  async react(process: LedgerProcess): Promise<void> {
    for (;;) {
      const page = await this.log.readAll(this.reactedTo, MANY);
      const last = page.at(-1);
      if (!last) return;
      for (const event of await this.decoded(page)) {
        for (const policy of POLICIES.filter(({ handles }) => handles.has(event.event.type))) {
          for (const reaction of policy.react(event)) {
            if (reaction.kind !== 'command') continue;
            const meta = metaOf(deterministicId(event.eventId, policy.name), {
              kind: 'policy',
              id: policy.name,
            });
            const carryOut = () =>
              process.commands.execute(
                new AccountCommandEnvelope(meta, reaction.account, reaction.request),
              );
            await Promise.all([carryOut(), carryOut()]);
          }
        }
      }
      this.reactedTo = last.position;
    }
  }

  /** Every fact of every account, with the account's stream. */
  async facts(): Promise<readonly { readonly stream: string; readonly event: AccountEvent }[]> {
    const all = await this.decoded(await this.log.readAll(undefined, MANY));
    return all
      .filter(({ accountRef }) => accountRef !== '')
      .map(({ stream, event }) => ({ stream, event: event as AccountEvent }));
  }

  private async decoded(
    page: Parameters<ReturnType<typeof decodeAny>>[0],
  ): Promise<LedgerEvent<DomainEvent>[]> {
    return (await decodeAny(this.codec)(page)).map((event) => {
      if ('undecodable' in event) throw new Error(event.undecodable);
      return event;
    });
  }
}

export class LedgerProcess {
  readonly commands: Commands;
  readonly streams: Streams;
  private readonly tenants: TenantCommands;
  private readonly moderationProcess: ModerationProcess;

  constructor(log: EventLog, codec: EventCodec, keys: InMemorySubjectKeys) {
    this.streams = openStreams(log, codec);
    const { streams } = this;
    const handling = openCommandHandling({
      log,
      codec,
      names: NAMES,
      keys,
      streams,
      announceErasure: () => Promise.resolve(),
      announceTenant: () => Promise.resolve(),
    });
    this.moderationProcess = handling.moderations;
    this.commands = openCommandBus(handling);
    const actor = { kind: 'system' as const, id: 'test' };
    this.tenants = new TenantCommands(
      this.commands,
      streams,
      NAMES,
      new FixedSealer(Buffer.alloc(32, 3)),
      actor,
    );
  }

  async createTenant(program: ProgramDocument): Promise<void> {
    await this.tenants.create({
      alias: SCOPE.tenant,
      programType: 'API_ONLY',
      openEndpoints: true,
      program,
    });
  }

  /** @param key the same key is the same request. */
  send(accountId: string, request: AccountRequest, key: string): Promise<AccountOutcome> {
    const account = NAMES.accountRef(SCOPE, accountId);
    return this.commands.execute(new AccountCommandEnvelope(metaOf(key), account, request));
  }

  /** Moderates the referral of an account, if it has one. */
  async moderate(accountId: string, action: ModerationAction, key: string): Promise<void> {
    const state = await this.account(accountId);
    if (state.status === 'open' && state.referral)
      await this.moderateReferral(state.referral.referralId, action, key);
  }

  moderateReferral(
    referralId: string,
    action: ModerationAction,
    key: string,
  ): Promise<ModerationOutcome> {
    return this.commands.execute(
      new ModerationCommandEnvelope(metaOf(key), [{ referralId, action }]),
    );
  }

  /**
   * Carries what was requested under this key to its end, as the job does that looks after a crash.
   */
  async finishModeration(key: string): Promise<void> {
    const {
      scope: _scope,
      commandId: _id,
      ...cause
    } = metaOf(key, { kind: 'job', id: 'finish-moderation' });
    await this.moderationProcess.drive(SCOPE, moderationIdOf(metaOf(key), 0), {
      ...cause,
      idempotency: null,
    });
  }

  async account(accountId: string): Promise<AccountState> {
    return (
      await this.streams.accounts.load(
        NAMES.accountStream(SCOPE, NAMES.accountRef(SCOPE, accountId)),
      )
    ).state;
  }
}

function metaOf(commandId: string, actor: Actor = { kind: 'api-key', id: 'key' }): CommandMeta {
  const idempotency =
    actor.kind === 'policy' ? null : { key: `hash of ${commandId}`, fingerprint: 'the same' };
  return {
    scope: SCOPE,
    commandId,
    correlationId: commandId,
    causationId: commandId,
    actor,
    idempotency,
  };
}

/** The stream of an account, as its facts name it. */
export const streamOf = (accountId: string): string =>
  NAMES.accountStream(SCOPE, NAMES.accountRef(SCOPE, accountId));
