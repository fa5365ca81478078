import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Pool } from 'pg';
import type { CurrentOperators, KeyHolder } from '../../config/operators.js';
import { newBytes } from '../../foundation/world.js';
import { fetchRow, now, run, tables } from '../../postgres/statements.js';

export const SESSION_SECONDS = 8 * 3_600;
const TOKEN_BYTES = 32;
/** Of one operator; a further one ends the oldest. */
const SESSIONS_MAX = 20;

/**
 * The sessions of operators in the console, for all processes together. Postgres holds the hash of
 * a session's token; the token itself is known to the browser alone.
 */
export class OperatorSessions {
  constructor(
    private readonly pool: Pick<Pool, 'query'>,
    private readonly operators: CurrentOperators,
  ) {}

  /** @returns the token. @throws DatabaseUnavailable */
  async begin({ operator: { name }, keySha256 }: KeyHolder): Promise<string> {
    const token = newBytes(TOKEN_BYTES).toString('base64url');
    await run(
      this.pool,
      tables.insertInto('ledger.operator_sessions').values({
        token_sha256: hashOf(token),
        operator: name,
        key_sha256: keySha256,
        ends: sql<Date>`now() + make_interval(secs => ${SESSION_SECONDS})`,
      }),
    );
    await this.dropOld(name);
    return token;
  }

  /**
   * The operator who signed in, with the roles of this moment; those are undefined when the key no
   * longer counts. Undefined: the session is unknown or over. @throws DatabaseUnavailable
   */
  async find(token: string) {
    const found = await fetchRow(
      this.pool,
      tables
        .selectFrom('ledger.operator_sessions')
        .where('token_sha256', '=', hashOf(token))
        .where('ends', '>', now)
        .select(['operator', 'key_sha256']),
    );
    if (found === undefined) return undefined;
    const { operator: name, key_sha256: keySha256 } = found;
    return { name, operator: (await this.operators.now()).operatorWithKey(name, keySha256) };
  }

  /** Also for a session that is over already. @throws DatabaseUnavailable */
  async end(token: string): Promise<void> {
    await run(
      this.pool,
      tables.deleteFrom('ledger.operator_sessions').where('token_sha256', '=', hashOf(token)),
    );
  }

  /** Leaves those that another sign-in is deleting: two that wait for each other would fail. */
  private async dropOld(name: string): Promise<void> {
    const sessions = tables.selectFrom('ledger.operator_sessions').select('token_sha256');
    const surplus = sessions
      .where('operator', '=', name)
      .orderBy('began', 'desc')
      .offset(SESSIONS_MAX);
    const old = sessions
      .where((eb) => eb.or([eb('ends', '<=', now), eb('token_sha256', 'in', surplus)]))
      .forUpdate()
      .skipLocked();
    const dropped = tables.deleteFrom('ledger.operator_sessions');
    await run(this.pool, dropped.where('token_sha256', 'in', old));
  }
}

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();
