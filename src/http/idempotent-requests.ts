import type { Pool } from 'pg';
import { ProcessPresence } from '../postgres/process-presence.js';
import { openBytes, sealBytes } from '../privacy/subject-keys.js';
import type { Scope } from '../domain/scope.js';
import { ApiError } from './api-error.js';

/** An answer as it was given, to be given again. */
export interface KeptAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly position: string | null;
}

/** A request that carries an idempotency key; both parts as keyed hashes. */
export interface KeyedRequest {
  readonly scope: Scope;
  readonly key: string;
  readonly fingerprint: string;
}

/**
 * Remembers answers by idempotency key. It is a memory for answers only: that an effect happens once is promised by the log, where the
 * key rides with the events. So a process may die at any point: whoever comes with the key next finds its claim abandoned, runs the
 * request again, and the log answers with the effect that stands there.
 */
export class IdempotentRequests {
  constructor(
    private readonly pool: Pool,
    private readonly presence: ProcessPresence,
    private readonly sealingKey: Buffer,
  ) {}

  /**
   * The kept answer, or undefined: the caller is to run the request, then `keep` its answer or `abandon` it.
   * @throws {ApiError} IDEMPOTENCY_KEY_REUSED for another request, REQUEST_IN_PROGRESS while the first one runs.
   */
  async claim(request: KeyedRequest): Promise<KeptAnswer | undefined> {
    const { scope, key, fingerprint } = request;
    const { rowCount } = await this.pool.query(
      `insert into ledger.idempotency_keys as known (tenant, mode, key, fingerprint, owner) values ($1, $2, $3, $4, $5)
       on conflict (tenant, mode, key) do update set owner = excluded.owner
       where known.answer is null and known.fingerprint = excluded.fingerprint and ${ProcessPresence.isGone('known.owner')}`,
      [scope.tenant, scope.mode, key, fingerprint, this.presence.id],
    );
    if (rowCount === 1) return undefined;
    const { rows } = await this.pool.query<{ fingerprint: string; answer: Buffer | null }>(
      'select fingerprint, answer from ledger.idempotency_keys where tenant = $1 and mode = $2 and key = $3',
      [scope.tenant, scope.mode, key],
    );
    const [known] = rows;
    // Abandoned between the two statements: the client's next try claims it.
    if (!known) throw new ApiError('REQUEST_IN_PROGRESS');
    if (known.fingerprint !== fingerprint) throw new ApiError('IDEMPOTENCY_KEY_REUSED');
    if (known.answer === null) throw new ApiError('REQUEST_IN_PROGRESS');
    return JSON.parse(openBytes(this.sealingKey, known.answer, contextOf(request)).toString()) as KeptAnswer;
  }

  async keep(request: KeyedRequest, answer: KeptAnswer): Promise<void> {
    const sealed = sealBytes(this.sealingKey, Buffer.from(JSON.stringify(answer)), contextOf(request));
    await this.update(request, 'update ledger.idempotency_keys set answer = $4 where tenant = $1 and mode = $2 and key = $3', [sealed]);
  }

  /** The request came to no answer that is worth keeping (an outage): the next try runs it again. */
  async abandon(request: KeyedRequest): Promise<void> {
    await this.update(request, 'delete from ledger.idempotency_keys where tenant = $1 and mode = $2 and key = $3 and answer is null', []);
  }

  /** Removes what is older than the promise of seven days. @returns how many. */
  async purge(olderThanDays = 8): Promise<number> {
    const { rowCount } = await this.pool.query(`delete from ledger.idempotency_keys where created_at < now() - make_interval(days => $1)`, [
      olderThanDays,
    ]);
    return rowCount ?? 0;
  }

  private async update({ scope, key }: KeyedRequest, statement: string, values: readonly unknown[]): Promise<void> {
    await this.pool.query(statement, [scope.tenant, scope.mode, key, ...values]);
  }
}

const contextOf = ({ scope, key }: KeyedRequest): string => `${scope.tenant}/${scope.mode}/${key}`;
