import type { Pool } from 'pg';
import { errorNameAndCode } from '../foundation/describe-error.js';
import { errorCode } from '../foundation/error-code.js';
import { elapsed } from '../foundation/world.js';
import { isRefusedByServer, isUnavailable } from './database.js';

/**
 * Changes nothing, but is written and committed like a write of the service. The exported snapshot
 * is a small file that ends with the transaction: on a full disk it cannot be created, while an
 * update finds room in its own page.
 */
const WRITE =
  'update ledger.identity set master_key_check = master_key_check; select pg_export_snapshot()';

/** Callers share at most one write in this time. */
const REMEMBERED_MS = 1_000;
/** After an outage the recovery shows soon. */
const FAILURE_REMEMBERED_MS = 200;
/** States of a server that restarts. */
const PASSING = /^(08|57)/;
/** On a full disk each try leaves an empty file in the server's folder until its next start. */
const REFUSAL_REMEMBERED_MS = 5_000;

/** The database answers and accepts no writes. */
export class WritesRefused extends Error {
  override readonly name = 'WritesRefused';
}

/** Checks whether the database accepts writes, by trying one. */
export class WriteProbe {
  private outcome: Promise<void> | undefined;
  private nextMs = 0;

  /** @param withinMs the connection is closed without an answer in this time. */
  constructor(
    private readonly pool: Pool,
    private readonly withinMs: number,
  ) {}

  /** @throws {WritesRefused} by the server's answer, or an error of an unavailable one. */
  check(): Promise<void> {
    const now = elapsed();
    if (this.outcome !== undefined && now < this.nextMs) return this.outcome;
    this.nextMs = now + REMEMBERED_MS;
    return (this.outcome = this.write());
  }

  private async write(): Promise<void> {
    // pg reads the limit from a statement, too; its types lack it.
    const statement = { text: WRITE, query_timeout: this.withinMs };
    try {
      await this.pool.query(statement);
    } catch (error) {
      const isRefused = isRefusedByServer(error);
      const isLasting = isRefused && !PASSING.test(errorCode(error) ?? '');
      if (isUnavailable(error))
        this.nextMs = elapsed() + (isLasting ? REFUSAL_REMEMBERED_MS : FAILURE_REMEMBERED_MS);
      if (!isRefused) throw error;
      throw new WritesRefused(`the database accepts no writes: ${errorNameAndCode(error)}`);
    }
  }
}
