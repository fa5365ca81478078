import { randomUUID } from 'node:crypto';
import type { AccountCommand } from '../../../src/domain/account/account.decider.js';
import type { CodeOwners } from '../../../src/command-handling/needs/code-owners.js';
import { openCommandHandling } from '../../../src/command-handling/open-command-handling.js';
import { openCommandBus } from '../../../src/command-handling/command-bus.js';
import {
  type AccountOutcome,
  AccountCommandEnvelope,
  ModerationCommandEnvelope,
  type Commands,
  type ModerationOutcome,
} from '../../../src/command-handling/commands.js';
import type { ErasureProcess } from '../../../src/command-handling/processes/erasure-process.js';
import type { ModerationProcess } from '../../../src/command-handling/processes/moderation-process.js';
import {
  forgetSubjects,
  openStreams,
  type Streams,
} from '../../../src/command-handling/streams.js';
import type { TenantDirectory } from '../../../src/tenants/tenant-directory.js';
import { TenantCommands } from '../../../src/command-handling/tenant-commands.js';
import type { AccountEvent } from '../../../src/domain/account/account.events.js';
import type { OpenAccount, RewardState } from '../../../src/domain/account/account.state.js';
import type { ModerationAction } from '../../../src/domain/moderation/moderation.decider.js';
import type { RewardValue } from '../../../src/domain/program.js';
import { DEFAULT_PROGRAM } from '../../../src/domain/tenant/program-document.js';
import type { ProgramDocument } from '../../../src/domain/tenant/tenant.decider.js';
import { EventCodec } from '../../../src/event-log/codec.js';
import type { Actor, CommandMeta } from '../../../src/event-log/envelope.js';
import type { EventLog } from '../../../src/event-log/event-log.js';
import { PostgresEventLog } from '../../../src/event-log/postgres/postgres-event-log.js';
import { openPool } from '../../../src/postgres/database.js';
import { KeyedNames } from '../../../src/privacy/keyed-names.js';
import { PostgresKeyRows, type KeyRow, type KeyRows } from '../../../src/privacy/key-rows.js';
import { FixedSealer } from '../../../src/privacy/sealed-bytes.js';
import { WrappedKeys, type SubjectKeys } from '../../../src/privacy/subject-keys.js';
import { createTestDatabase } from '../../support/database.js';
import { aReward, NO_CHANGES, PAID } from '../../domain/support/commands.js';
import { InMemoryEventLog } from '../../support/in-memory-event-log.js';
import { GatedLog } from './troubled-logs.js';

const SCOPE = { tenant: 'demo', mode: 'live' } as const;
const NAMES = new KeyedNames(Buffer.alloc(32, 1));
const WRAPPING_KEY = Buffer.alloc(32, 2);

/** The rows of keys that the processes of one ledger in memory share. */
class KeyRowsInMemory implements KeyRows {
  private readonly wrapped = new Map<string, Buffer | null>();

  find(subjects: readonly string[]): Promise<readonly KeyRow[]> {
    const rows = subjects.map((subject) => ({ subject, wrapped: this.wrapped.get(subject) }));
    return Promise.resolve(rows.filter((row): row is KeyRow => row.wrapped !== undefined));
  }

  create(rows: Parameters<KeyRows['create']>[0]): Promise<void> {
    for (const { subject, wrapped } of rows)
      if (!this.wrapped.has(subject)) this.wrapped.set(subject, wrapped);
    return Promise.resolve();
  }

  destroy(subjects: readonly string[]): Promise<void> {
    for (const subject of subjects) this.wrapped.set(subject, null);
    return Promise.resolve();
  }
}

/**
 * One log with the tenant `demo`, and as many processes on it as a test needs. Nothing but the log
 * and the rows of keys is shared between them: in memory, or in a database of their own.
 */
export class SharedLedger {
  private readonly closing: (() => Promise<unknown>)[] = [];
  private readonly keyRows = new KeyRowsInMemory();

  private constructor(
    private readonly databaseUrl?: string,
    private readonly log = new InMemoryEventLog(),
  ) {}

  static async open(program?: ProgramDocument, log?: InMemoryEventLog): Promise<SharedLedger> {
    return new SharedLedger(undefined, log).withTenant(program);
  }

  static async onPostgres(program?: ProgramDocument): Promise<SharedLedger> {
    const database = await createTestDatabase();
    const ledger = new SharedLedger(database.url);
    ledger.closing.push(() => database.drop());
    return ledger.withTenant(program);
  }

  get url(): string {
    if (this.databaseUrl === undefined) throw new Error('the ledger is in memory');
    return this.databaseUrl;
  }

  private async withTenant(program: ProgramDocument = DEFAULT_PROGRAM): Promise<SharedLedger> {
    const { tenantCommands } = await this.process();
    const made = await tenantCommands.create({
      alias: SCOPE.tenant,
      programType: 'API_ONLY',
      openEndpoints: false,
      program,
    });
    if ('refused' in made) throw new Error(`the tenant was refused: ${made.refused}`);
    return this;
  }

  /** @param around wraps the process's log, e.g. to let it fail. */
  async process({
    around = (log: EventLog) => log,
    clock,
  }: { around?: (log: EventLog) => EventLog; clock?: () => number } = {}): Promise<TestProcess> {
    if (this.databaseUrl === undefined)
      return new TestProcess(around(this.log), this.keyRows, clock, () => Promise.resolve());
    const log = await PostgresEventLog.open({ url: this.url });
    const pool = openPool({ url: this.url, max: 3, applicationName: 'test' });
    let closed: Promise<void> | undefined;
    const close = (): Promise<void> => (closed ??= log.close().then(() => pool.end()));
    this.closing.unshift(close);
    return new TestProcess(around(log), new PostgresKeyRows(pool), clock, close);
  }

  async gated(
    stops: ConstructorParameters<typeof GatedLog>[1],
  ): Promise<{ readonly process: TestProcess; readonly gate: GatedLog }> {
    const process = await this.process({ around: (log) => new GatedLog(log, stops) });
    return { process, gate: process.log as GatedLog };
  }

  async close(): Promise<void> {
    for (const step of this.closing) await step();
  }
}

/** One process of the service between HTTP and the log. */
export class TestProcess {
  readonly names = NAMES;
  readonly keys: SubjectKeys;
  readonly codec: EventCodec;
  readonly streams: Streams;
  readonly owners: CodeOwners;
  readonly tenantCommands: TenantCommands;
  readonly moderations: ModerationProcess;
  readonly erasures: ErasureProcess;
  readonly commands: Commands;
  readonly tenants: TenantDirectory;
  /** Announces to the other processes that a tenant has changed. */
  announceTenant: (alias: string) => Promise<void> = () => Promise.resolve();

  constructor(
    readonly log: EventLog,
    rows: KeyRows,
    clock: () => number = Date.now,
    /** Gives its connections back before the end of the test file. */
    readonly close: () => Promise<void>,
  ) {
    const keys = new WrappedKeys(rows, new FixedSealer(WRAPPING_KEY));
    this.keys = keys;
    this.codec = new EventCodec(keys);
    this.streams = openStreams(log, this.codec);
    const handling = openCommandHandling({
      log,
      codec: this.codec,
      names: NAMES,
      keys,
      streams: this.streams,
      announceErasure: (subjects) => {
        keys.forget(subjects);
        forgetSubjects(this.streams, subjects);
        return Promise.resolve();
      },
      announceTenant: (alias) => this.announceTenant(alias),
      clock,
    });
    this.tenants = handling.tenants;
    this.owners = handling.owners;
    this.moderations = handling.moderations;
    this.erasures = handling.erasures;
    this.commands = openCommandBus(handling);
    const actor = { kind: 'system' as const, id: 'test' };
    const sealer = new FixedSealer(Buffer.alloc(32, 3));
    this.tenantCommands = new TenantCommands(this.commands, this.streams, NAMES, sealer, actor);
  }

  send(
    accountId: string,
    request: AccountCommand,
    meta: CommandMeta = aRequest(),
  ): Promise<AccountOutcome> {
    return this.commands.execute(new AccountCommandEnvelope(meta, refOf(accountId), request));
  }

  sync(
    accountId: string,
    status: 'TRIAL' | 'PAID' | 'CANCELLED' = 'TRIAL',
    codes: readonly string[] = [],
    meta?: CommandMeta,
  ): Promise<AccountOutcome> {
    const subscription = status === 'PAID' ? PAID : { status };
    const of = { accountId, subscription, currency: undefined, codes };
    return this.send(accountId, { type: 'SyncAccount', ...of }, meta);
  }

  upsert(
    accountId: string,
    userId: string,
    over: Partial<Extract<AccountCommand, { type: 'UpsertUser' }>> = {},
    meta?: CommandMeta,
  ): Promise<AccountOutcome> {
    return this.send(accountId, { type: 'UpsertUser', userId, ...NO_CHANGES, ...over }, meta);
  }

  async userWithCode(accountId: string, userId: string, referralCode: string): Promise<void> {
    accepted(await this.sync(accountId));
    accepted(await this.upsert(accountId, userId, { referralCode }));
  }

  async convertedReferral(accountId: string, code: string): Promise<string> {
    accepted(await this.sync(accountId, 'TRIAL', [code]));
    accepted(await this.upsert(accountId, 'user'));
    accepted(await this.sync(accountId, 'PAID'));
    return (await this.referralOf(accountId)).referralId;
  }

  async reward(accountId: string, userId: string, value: RewardValue): Promise<string> {
    const [granted] = accepted(await this.send(accountId, aReward(userId, value))).events;
    if (granted?.type !== 'RewardGranted') throw new Error('no reward was given');
    return granted.rewardId;
  }

  moderate(
    actions: Readonly<Record<string, ModerationAction>>,
    meta: CommandMeta = aRequest(),
  ): Promise<ModerationOutcome> {
    return this.commands.execute(
      new ModerationCommandEnvelope(
        meta,
        Object.entries(actions).map(([referralId, action]) => ({ referralId, action })),
      ),
    );
  }

  async account(accountId: string): Promise<OpenAccount> {
    const { state } = await this.streams.accounts.load(
      NAMES.accountStream(SCOPE, refOf(accountId)),
    );
    if (state.status === 'absent') throw new Error(`there is no account ${accountId}`);
    return state;
  }

  async referralOf(accountId: string): Promise<NonNullable<OpenAccount['referral']>> {
    const { referral } = await this.account(accountId);
    if (!referral) throw new Error(`the account ${accountId} is not referred`);
    return referral;
  }

  async rewardsOf(accountId: string): Promise<RewardState[]> {
    return [...(await this.account(accountId)).rewards.values()];
  }

  async factsOf(accountId: string): Promise<readonly AccountEvent[]> {
    return (await this.recordedOf(this.names.accountStream(SCOPE, refOf(accountId)))).map(
      ({ event }) => event as AccountEvent,
    );
  }

  async recordedOf(stream: string) {
    return this.codec.decodeAll(await arrayOf(this.log.readStream(stream)));
  }
}

export const refOf = (accountId: string): string => NAMES.accountRef(SCOPE, accountId);

/**
 * A command of its own, as a request without an idempotency key makes it; with one, the same key is
 * the same command.
 */
export function aRequest(key?: string): CommandMeta {
  const commandId = key ?? randomUUID();
  const actor: Actor = { kind: 'api-key', id: 'live-1' };
  const idempotency = key === undefined ? null : { key: `hash of ${key}`, fingerprint: 'the same' };
  return {
    scope: SCOPE,
    commandId,
    correlationId: commandId,
    causationId: commandId,
    actor,
    idempotency,
  };
}

export function accepted(outcome: AccountOutcome): Extract<AccountOutcome, { kind: 'accepted' }> {
  if (outcome.kind !== 'accepted')
    throw new Error(`refused: ${outcome.refused} ${outcome.details.join(', ')}`);
  return outcome;
}

export async function arrayOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
