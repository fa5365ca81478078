import { randomUUID } from 'node:crypto';
import pLimit from 'p-limit';
import type { Core } from '../../src/stores/core.js';
import type { DomainEvent } from '../../src/domain/events.js';
import { DEFAULT_PROGRAM } from '../../src/domain/tenant/program-document.js';
import {
  FilledAccounts,
  MANY_REWARDS,
  TENANTS,
  TOP_REFERRER,
  type FilledStream,
} from './filled-accounts.js';

/** Accounts whose keys are made with one statement, and whose appends the log records together. */
const AT_ONCE = 200;
const APPENDS_AT_ONCE = 64;
const EVENTS_IN_APPEND_MAX = 500;

export interface FilledLedger {
  readonly accounts: FilledAccounts;
  readonly events: number;
  readonly users: number;
  /** Of the live mode, by tenant. */
  readonly apiKeys: ReadonlyMap<string, string>;
}

/**
 * Fills an empty ledger through the port of its log: whole streams in one append, sealed as the
 * service does it. @param onProgress called with the number of accounts that are there.
 */
export async function fillLedger(
  core: Core,
  size: number,
  onProgress: (accounts: number) => void = () => undefined,
): Promise<FilledLedger> {
  const apiKeys = new Map<string, string>();
  for (const alias of TENANTS) {
    const made = await core.tenantCommands.create({
      alias,
      programType: 'API_ONLY',
      openEndpoints: true,
      program: DEFAULT_PROGRAM,
    });
    if ('refused' in made) throw new Error(`tenant ${alias}: ${made.refused}`);
    apiKeys.set(alias, made.liveApiKey);
  }
  const accounts = new FilledAccounts(core.names, size, Date.now());
  const fill = new Fill(core);
  for (const account of [MANY_REWARDS, TOP_REFERRER] as const)
    await fill.append(accounts.special(account));
  for (let first = 0; first < size; first += AT_ONCE) {
    const numbers = Array.from({ length: Math.min(AT_ONCE, size - first) }, (_, n) => first + n);
    await fill.append(numbers.flatMap((number) => accounts.streamsOf(number)));
    onProgress(first + numbers.length);
  }
  return { accounts, events: fill.events, users: fill.users, apiKeys };
}

class Fill {
  events = 0;
  users = 0;
  private readonly limit = pLimit(APPENDS_AT_ONCE);

  constructor(private readonly core: Core) {}

  async append(streams: readonly FilledStream[]): Promise<void> {
    await this.core.keys.loadOrCreate(
      new Set(streams.flatMap(({ events }) => events.flatMap(ownSubjects))),
    );
    await Promise.all(streams.map((stream) => this.limit(() => this.appendOne(stream))));
  }

  private async appendOne({ stream, scope, events }: FilledStream): Promise<void> {
    const { codec, log } = this.core;
    let revision: bigint | 'no-stream' = 'no-stream';
    for (let first = 0; first < events.length; first += EVENTS_IN_APPEND_MAX) {
      const piece: readonly DomainEvent[] = events.slice(first, first + EVENTS_IN_APPEND_MAX);
      const commandId = randomUUID();
      const envelope = {
        ...scope,
        commandId,
        correlationId: commandId,
        causationId: commandId,
        actor: { kind: 'api-key', id: 'bench' },
        idempotency: null,
      } as const;
      const ids = piece.map(() => randomUUID());
      const encoded = await codec.encode(piece, envelope, ids);
      const appended = await log.append(stream, revision, encoded);
      if (appended.kind === 'conflict') throw new Error('another process writes to the ledger');
      ({ revision } = appended);
      this.events += piece.length;
      this.users += piece.filter(({ type }) => type === 'UserIdentified').length;
    }
  }
}

/** The people and the account that an event introduces. */
function ownSubjects(event: DomainEvent): readonly string[] {
  if (event.type === 'AccountOpened') return [event.account];
  return event.type === 'UserIdentified' ? [event.person] : [];
}
