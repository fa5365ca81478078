import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { deterministicId } from '../command-handling/deterministic-id.js';
import { ProcessPresence } from '../postgres/process-presence.js';
import { nameOf, type ClaimedCommand, type KeyedRequest } from './idempotency-key.js';

/**
 * The owner of a released claim: no process has this id, so the next request takes it over. The row
 * stays, since the effect may be recorded although its answer was lost: a different request with
 * the key must not receive that effect as its own.
 */
const NOBODY = 0;

/** As long as a recorded effect answers for its key: after that, the key is free. */
const IS_OLD = "known.created_at < now() - interval '7 days'";

/** The row of a key: its request's fingerprint and its sealed answer. */
export interface AnswerRow {
  readonly fingerprint: string;
  readonly answer: Buffer | null;
}

/**
 * The rows of `ledger.idempotency_keys`, one per key. Raw SQL: claims and answers are single
 * statements that race each other.
 */
export class AnswerRows {
  constructor(
    private readonly pool: Pool,
    private readonly presence: ProcessPresence,
  ) {}

  /** False after the end of this process's presence. */
  get isOpen(): boolean {
    return !this.pool.ended;
  }

  /**
   * Undefined when the key is taken: by another live process, an answer, or another request. The
   * command id is kept from the first try, so that an effect with a lost answer is found again; but
   * never longer than an effect answers for its key.
   */
  async take(request: KeyedRequest): Promise<ClaimedCommand | undefined> {
    const { scope, key, fingerprint } = request;
    const { rows } = await this.pool.query<{ commandId: string | null; askedAt: string }>(
      `insert into ledger.idempotency_keys as known (tenant, mode, key, fingerprint, owner, command_id)
       values ($1, $2, $3, $4, $5, $6)
       on conflict (tenant, mode, key) do update set
         owner = excluded.owner,
         command_id = case when ${IS_OLD} then excluded.command_id else known.command_id end,
         created_at = case when ${IS_OLD} then excluded.created_at else known.created_at end
       where known.answer is null and known.fingerprint = excluded.fingerprint
         and (known.owner = excluded.owner or ${ProcessPresence.isGone('known.owner')})
       returning command_id as "commandId", extract(epoch from clock_timestamp()) * 1000 as "askedAt"`,
      [scope.tenant, scope.mode, key, fingerprint, this.presence.id, randomUUID()],
    );
    const [row] = rows;
    // Earlier releases derived the command id from the key and stored none.
    return (
      row && {
        commandId: row.commandId ?? deterministicId(nameOf(request), 'request'),
        askedAt: Number(row.askedAt),
      }
    );
  }

  async find({ scope, key }: KeyedRequest): Promise<AnswerRow | undefined> {
    const { rows } = await this.pool.query<AnswerRow>(
      'select fingerprint, answer from ledger.idempotency_keys where tenant = $1 and mode = $2 and key = $3',
      [scope.tenant, scope.mode, key],
    );
    return rows[0];
  }

  /**
   * Stores the answer even if the claim is gone (released late for an earlier try), for the full
   * time from now.
   * @param logPosition the log's position as a number; undefined: unknown.
   */
  async keep(
    { scope, key, fingerprint }: KeyedRequest,
    answer: Buffer,
    logPosition?: bigint,
  ): Promise<void> {
    await this.pool.query(
      `insert into ledger.idempotency_keys as known (tenant, mode, key, fingerprint, owner, answer, log_position)
       values ($1, $2, $3, $4, $5, $6, $7)
       on conflict (tenant, mode, key) do update set
         answer = excluded.answer, created_at = excluded.created_at, log_position = excluded.log_position
       where known.fingerprint = excluded.fingerprint`,
      [scope.tenant, scope.mode, key, fingerprint, this.presence.id, answer, logPosition ?? null],
    );
  }

  /** Leaves the claim without an owner: the next request with the key runs. */
  async forgetAnswer({ scope, key }: KeyedRequest): Promise<void> {
    await this.pool.query(
      `update ledger.idempotency_keys set answer = null, owner = $4
       where tenant = $1 and mode = $2 and key = $3 and answer is not null`,
      [scope.tenant, scope.mode, key, NOBODY],
    );
  }

  /** Deletes a claim of this process. */
  async drop({ scope, key, fingerprint }: KeyedRequest): Promise<void> {
    await this.pool.query(
      `delete from ledger.idempotency_keys
       where tenant = $1 and mode = $2 and key = $3 and fingerprint = $4 and owner = $5 and answer is null`,
      [scope.tenant, scope.mode, key, fingerprint, this.presence.id],
    );
  }

  /** Releases a claim of this process. */
  async release({ scope, key }: KeyedRequest): Promise<void> {
    await this.pool.query(
      `update ledger.idempotency_keys set owner = $5
       where tenant = $1 and mode = $2 and key = $3 and answer is null and owner = $4`,
      [scope.tenant, scope.mode, key, this.presence.id, NOBODY],
    );
  }
}
