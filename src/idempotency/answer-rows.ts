import { sql, type ExpressionBuilder } from 'kysely';
import type { Pool } from 'pg';
import { newId } from '../foundation/world.js';
import type { LedgerTables } from '../postgres/ledger-tables.js';
import { ProcessPresence } from '../postgres/process-presence.js';
import { compiledOnce, fetchRow, run, tables, type Given } from '../postgres/statements.js';
import type { ClaimedCommand, KeyedRequest } from './idempotency-key.js';

const TABLE = 'ledger.idempotency_keys';

/**
 * The owner of a released claim: no process has this id, so the next request takes it over. The row
 * stays, since the effect may be recorded although its answer was lost: a different request with
 * the key must not receive it.
 */
const NO_OWNER = 0n;

/** The row of a key: its request's fingerprint and its sealed answer. */
export interface AnswerRow {
  readonly fingerprint: string;
  readonly answer: Buffer | null;
}

/** Each call is one statement: processes race. A claim lapses with its process. */
export class PostgresAnswerRows {
  constructor(
    private readonly pool: Pool,
    private readonly presence: ProcessPresence,
  ) {}

  /** False at the end of this process. */
  get isOpen(): boolean {
    return !this.pool.ended;
  }

  /**
   * Undefined: another live process, an answer, or another request has the key. The command id of
   * the first try is kept as long as an effect answers for its key, so that an effect with a lost
   * answer is found again.
   */
  async take(request: KeyedRequest): Promise<ClaimedCommand | undefined> {
    const claim = { ...claimOf(request), owner: this.presence.id, commandId: newId() };
    return fetchRow(this.pool, TAKE(claim));
  }

  find(request: KeyedRequest): Promise<AnswerRow | undefined> {
    return fetchRow(this.pool, FIND(keyOf(request)));
  }

  /**
   * Stores the answer even if the claim is gone (released late for an earlier try), for the full
   * time from now.
   * @param logPosition the log's position as a number; undefined: unknown.
   */
  async keep(request: KeyedRequest, answer: Buffer, logPosition?: bigint): Promise<void> {
    const { id: owner } = this.presence;
    const kept = { ...claimOf(request), owner, answer, logPosition: logPosition ?? null };
    await run(this.pool, KEEP(kept));
  }

  /** Leaves the claim without an owner: the next request with the key runs. */
  async forgetAnswer(request: KeyedRequest): Promise<void> {
    await run(
      this.pool,
      tables
        .updateTable(TABLE)
        .set({ answer: null, owner: NO_OWNER })
        .where((eb) => eb.and(keyOf(request)))
        .where('answer', 'is not', null),
    );
  }

  /** Deletes a claim of this process. */
  async drop(request: KeyedRequest): Promise<void> {
    await run(
      this.pool,
      tables
        .deleteFrom(TABLE)
        .where((eb) => eb.and(claimOf(request)))
        .where('owner', '=', BigInt(this.presence.id))
        .where('answer', 'is', null),
    );
  }

  /** Releases a claim of this process. */
  async release(request: KeyedRequest): Promise<void> {
    await run(
      this.pool,
      tables
        .updateTable(TABLE)
        .set({ owner: NO_OWNER })
        .where((eb) => eb.and(keyOf(request)))
        .where('owner', '=', BigInt(this.presence.id))
        .where('answer', 'is', null),
    );
  }
}

export type AnswerRows = Pick<PostgresAnswerRows, keyof PostgresAnswerRows>;

interface Key {
  readonly tenant: string;
  readonly mode: string;
  readonly key: string;
}
type Claim = Key & { readonly fingerprint: string; readonly owner: number };

const keyOf = ({ scope: { tenant, mode }, key }: KeyedRequest): Key => ({ tenant, mode, key });
const claimOf = (request: KeyedRequest): Omit<Claim, 'owner'> => ({
  ...keyOf(request),
  fingerprint: request.fingerprint,
});

/** As long as a recorded effect answers for its key: after that, the key is free. */
const isOld = (eb: ExpressionBuilder<LedgerTables, typeof TABLE>) =>
  sql<boolean>`${eb.ref(`${TABLE}.created_at`)} < now() - interval '7 days'`;

const KEY = ['tenant', 'mode', 'key'] as const;

const keyGiven = ({ tenant, mode, key }: Given<Key>) => ({ tenant, mode, key });

const claimGiven = (given: Given<Claim>) => ({
  ...keyGiven(given),
  fingerprint: given.fingerprint,
  owner: given.owner,
});

const TAKE = compiledOnce(
  'idempotency_keys.take',
  (given: Given<Claim & { readonly commandId: string }>) =>
    tables
      .insertInto(TABLE)
      .values({ ...claimGiven(given), command_id: given.commandId })
      .onConflict((conflict) =>
        conflict
          .columns(KEY)
          .doUpdateSet((eb) => ({
            owner: eb.ref('excluded.owner'),
            command_id: eb
              .case()
              .when(isOld(eb))
              .then(eb.ref('excluded.command_id'))
              .else(eb.ref(`${TABLE}.command_id`))
              .end(),
            created_at: eb
              .case()
              .when(isOld(eb))
              .then(eb.ref('excluded.created_at'))
              .else(eb.ref(`${TABLE}.created_at`))
              .end(),
          }))
          .where(`${TABLE}.answer`, 'is', null)
          .whereRef(`${TABLE}.fingerprint`, '=', 'excluded.fingerprint')
          .where((eb) =>
            eb.or([
              eb(`${TABLE}.owner`, '=', eb.ref('excluded.owner')),
              ProcessPresence.isGone(eb.ref(`${TABLE}.owner`)),
            ]),
          ),
      )
      .returning([
        'command_id as commandId',
        sql<number>`(extract(epoch from clock_timestamp()) * 1000)::float8`.as('askedAt'),
      ]),
);

const FIND = compiledOnce('idempotency_keys.find', (given: Given<Key>) =>
  tables
    .selectFrom(TABLE)
    .select(['fingerprint', 'answer'])
    .where((eb) => eb.and(keyGiven(given))),
);

const KEEP = compiledOnce(
  'idempotency_keys.keep',
  (given: Given<Claim & { readonly answer: Buffer; readonly logPosition: bigint | null }>) =>
    tables
      .insertInto(TABLE)
      .values({ ...claimGiven(given), answer: given.answer, log_position: given.logPosition })
      .onConflict((conflict) =>
        conflict
          .columns(KEY)
          .doUpdateSet((eb) => ({
            answer: eb.ref('excluded.answer'),
            created_at: eb.ref('excluded.created_at'),
            log_position: eb.ref('excluded.log_position'),
          }))
          .whereRef(`${TABLE}.fingerprint`, '=', 'excluded.fingerprint'),
      ),
);
