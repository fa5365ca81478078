import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { ChainNames } from '../../src/chain/chain-names.js';
import { ChainSealing } from '../../src/chain/chain-sealing.js';
import { sealsIn } from '../../src/chain/chain-seals.js';
import { ChainSigner } from '../../src/chain/chain-signer.js';
import { beginLogSeal } from '../../src/chain/log-seal.js';
import type { DigestDocument } from '../../src/chain/digest-document.js';
import type { Scope } from '../../src/domain/scope.js';
import type { EventLog, NewEvent, Position, RecordedEvent } from '../../src/event-log/event-log.js';
import { PostgresEventLog } from '../../src/event-log/postgres/postgres-event-log.js';
import type { LossAcknowledgement } from '../../src/operations/ledger/loss-acknowledgement.js';
import type { Verification } from '../../src/operations/ledger/ledger-verification.js';
import { openPool } from '../../src/postgres/database.js';
import { KeyedNames } from '../../src/privacy/keyed-names.js';
import { createTestDatabase, type TestDatabase } from './database.js';
import { acknowledgeLoss, ledgerDigest, verifyLedger } from './operations.js';

export const ACME: Scope = { tenant: 'acme', mode: 'live' };

/** A log, by default in a database of its own, with what its chains need. */
export class ChainedLedger {
  readonly names = new KeyedNames(Buffer.alloc(32, 7));
  readonly chains = new ChainNames(this.names);
  readonly chainSigner = new ChainSigner(Buffer.alloc(32, 9));
  readonly sealing: ChainSealing;

  private constructor(
    private readonly database: TestDatabase,
    readonly pool: pg.Pool,
    readonly log: EventLog,
    batchMax: number,
  ) {
    this.sealing = new ChainSealing({
      seals: sealsIn(pool),
      log,
      chains: this.chains,
      signer: this.chainSigner,
      batchMax,
    });
  }

  /** @param log another one than that of the database. */
  static async open({
    log,
    batchMax = 1_000,
  }: { readonly log?: EventLog; readonly batchMax?: number } = {}): Promise<ChainedLedger> {
    const database = await createTestDatabase();
    const pool = openPool({ url: database.url, max: 4, applicationName: 'test' });
    const ledger = new ChainedLedger(
      database,
      pool,
      log ?? (await PostgresEventLog.open({ url: database.url })),
      batchMax,
    );
    await beginLogSeal(pool, await ledger.log.id(), ledger.chainSigner);
    return ledger;
  }

  /** One event in the stream of an account. */
  async happened(account: string, scope: Scope = ACME): Promise<Position> {
    return this.append(this.names.accountStream(scope, account), [anEvent(account)]);
  }

  async append(stream: string, events: readonly NewEvent[]): Promise<Position> {
    const first = await this.log.append(stream, 'no-stream', events);
    const result =
      first.kind === 'appended' ? first : await this.log.append(stream, first.actual, events);
    if (result.kind === 'conflict') throw new Error(`another writer appends to ${stream}`);
    return result.position;
  }

  /** Tenants with settings and accounts, both modes, taking turns; four sets of seals. */
  async filled(rounds = 4): Promise<this> {
    await this.append(this.names.tenantRegisterStream(), [anEvent('register')]);
    for (const alias of ['acme', 'other'])
      await this.append(this.names.tenantStream(alias), [anEvent(alias)]);
    for (let round = 0; round < rounds; round++) {
      for (const account of ['a', 'b', 'c']) await this.happened(account);
      await this.happened('a', { tenant: 'acme', mode: 'test' });
      await this.happened('a', { tenant: 'other', mode: 'live' });
      await this.append(this.names.codeStream(ACME, `code${round}`), [
        anEvent('code'),
        anEvent('code again'),
      ]);
      await this.sealing.sealToHead();
    }
    return this;
  }

  async events(): Promise<readonly RecordedEvent[]> {
    return this.log.readAll(undefined, 10_000);
  }

  async eventsOf(scope: Scope): Promise<readonly RecordedEvent[]> {
    return (await this.events()).filter(({ stream }) =>
      this.chains.ofStream(stream).includes(this.chains.of(scope)),
    );
  }

  async verify(scope: Scope = ACME, outside?: DigestDocument): Promise<Verification> {
    return verifyLedger(this, {
      scope,
      outside,
      signal: new AbortController().signal,
    });
  }

  async digest(scope: Scope = ACME, sign = true): Promise<DigestDocument> {
    return ledgerDigest(this, { scope, sign });
  }

  /** As the command does, but for its audit events. */
  acknowledge(): Promise<LossAcknowledgement> {
    const options = {
      reason: 'a fail-over',
      by: { name: 'test', channel: 'cli' } as const,
      signal: new AbortController().signal,
    };
    return acknowledgeLoss(this, options);
  }

  async close(): Promise<void> {
    await this.log.close();
    await this.pool.end();
    await this.database.drop();
  }
}

const anEvent = (text: string): NewEvent => ({
  id: randomUUID(),
  type: 'Ärger.Begun',
  data: `{"text": ${JSON.stringify(`${text} é😀`)},  "big": 123456789012345678901234567890}`,
  metadata: '{"v":1,"dup":1,"dup":2}',
});
