import { sql } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { ProcessPresence } from '../../postgres/process-presence.js';
import { fetchRows, run } from '../../postgres/statements.js';
import { inTransaction } from '../../postgres/transaction.js';
import { lockEndpoints, type EndpointName } from './delivery-rows.js';

/**
 * A process counts as dead when it was absent for this long: each is absent for a moment after a
 * crash of the database or a lost connection.
 */
const GONE_FOR_MS = 5_000;

/** Frees what processes had claimed that died since: their time would free it later. */
export class ClaimsOfTheDead {
  /** When a process was absent first, by its presence's name. */
  private readonly absentSince = new Map<number, number>();

  /** @param process this one, as its presence names it. */
  constructor(
    private readonly pool: Pool,
    private readonly process: number,
  ) {}

  /**
   * Call it every few seconds. @returns how many claims it freed.
   * @param now on a clock that never goes back.
   * @throws while the database is unavailable.
   */
  async free(now: number): Promise<number> {
    const rows = await inTransaction(this.pool, async (client) => {
      await readByIndex(client);
      return fetchRows(
        client,
        sql<{ process: number }>`
          with claiming as materialized (
            select distinct claimed_by from ledger.webhook_deliveries
            where leased_until is not null and claimed_by <> ${this.process}
          )
          select claimed_by as process from claiming
          where ${ProcessPresence.isGone(sql`claimed_by`)}`,
      );
    });
    const absent = new Set(rows.map(({ process }) => process));
    for (const process of [...this.absentSince.keys()])
      if (!absent.has(process)) this.absentSince.delete(process);
    for (const process of absent)
      if (!this.absentSince.has(process)) this.absentSince.set(process, now);
    const dead = [...absent].filter(
      (process) => now - (this.absentSince.get(process) ?? now) >= GONE_FOR_MS,
    );
    return dead.length === 0 ? 0 : freeClaimsOf(this.pool, dead);
  }
}

/**
 * Claims are few, and have an index of their own. Until many rows that were just inserted are
 * analyzed, the planner takes nearly all of them for claimed and reads the whole table: 0.15 s for
 * 1 000 000 rows, each second, in each process.
 */
async function readByIndex(client: PoolClient): Promise<void> {
  await client.query('set local enable_seqscan = off');
}

async function freeClaimsOf(pool: Pool, processes: readonly number[]): Promise<number> {
  const isTheirs = sql`leased_until is not null and claimed_by = any(${[...processes]}::integer[])`;
  return inTransaction(pool, async (client) => {
    await readByIndex(client);
    const endpoints = await fetchRows(
      client,
      sql<EndpointName>`
        select distinct tenant, mode, endpoint_id as "endpointId"
        from ledger.webhook_deliveries where ${isTheirs}`,
    );
    await lockEndpoints(client, endpoints);
    return run(
      client,
      sql`
        with freed as (
          update ledger.webhook_deliveries
          set leased_until = null, claimed_by = null, next_attempt_at = now()
          where ${isTheirs}
          returning tenant, mode, endpoint_id
        ), due as (
          update ledger.webhook_endpoints
          set due_at = least(due_at, now()), full_until = null
          where (tenant, mode, endpoint_id) in (select tenant, mode, endpoint_id from freed)
        )
        select from freed`,
    );
  });
}
