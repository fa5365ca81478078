import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { deterministicId } from '../command-handling/deterministic-id.js';
import { ProcessPresence } from '../postgres/process-presence.js';
import { nameOf, type ClaimedCommand, type KeyedRequest } from './idempotency-key.js';

/**
 * The owner of a claim that was given back: no process has this id, so the next one takes it over.
 * The row stays, since the effect may stand in the log although its answer was lost: another
 * request with the key would otherwise be told that effect as its own.
 */
const NOBODY = 0;

/**
 * As long as an effect in the log answers for its key: after that, whoever comes with the key is
 * another command.
 */
const IS_OLD = "known.created_at < now() - interval '7 days'";

/** What is known of a key: whose it is, and its sealed answer. */
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

  /** False once nobody can be reached through it any more. */
  get isOpen(): boolean {
    return !this.pool.ended;
  }

  /**
   * Undefined when somebody has it: another process that lives, or an answer, or another request.
   * The command id is kept from the first try on, so that an effect whose answer was lost is found
   * again; but never for longer than an effect answers for its key.
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
    // Releases before named the command of a key after it, and kept no id in the row.
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
   * The claim may be gone, given back late on behalf of an earlier try; the answer is kept all the
   * same, and for its whole time from now.
   * @param logPosition how far the log was, as a number; left out: not known.
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

  /** The claim is nobody's then: whoever comes with the key next runs the request. */
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

  /** Gives a claim of this process back. */
  async release({ scope, key }: KeyedRequest): Promise<void> {
    await this.pool.query(
      `update ledger.idempotency_keys set owner = $5
       where tenant = $1 and mode = $2 and key = $3 and answer is null and owner = $4`,
      [scope.tenant, scope.mode, key, this.presence.id, NOBODY],
    );
  }
}
