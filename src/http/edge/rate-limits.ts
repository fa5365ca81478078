import type { Pool } from 'pg';
import type { ReadableStreams } from '../../command-handling/readable-streams.js';
import type { Scope } from '../../domain/scope.js';
import { CALL_WINDOWS, type CountedCall, type OpenRules } from '../../domain/tenant/open-rules.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';

/** One client's call of one tenant. `address`: the client's, as text; stored as a keyed hash. */
export interface ClientCall {
  readonly tenant: { readonly alias: string; readonly openRules: OpenRules };
  readonly call: CountedCall;
  readonly address: string;
}

export interface CallCount {
  /** The number of calls per window, and its length. */
  readonly limit: number;
  readonly windowSeconds: number;
  /** Calls left in the window after this one. */
  readonly left: number;
  /** Until the next window; at least 1. */
  readonly resetSeconds: number;
  readonly isExceeded: boolean;
}

/**
 * Counts calls per tenant, kind of call and address, for all processes together. A window begins
 * with a client's first call, the next one with the first call after its end. One statement counts
 * and checks, so that concurrent calls cannot pass together.
 */
export class RateLimits {
  constructor(
    private readonly pool: Pick<Pool, 'query'>,
    private readonly names: KeyedNames,
    private readonly streams: Pick<ReadableStreams, 'accounts'>,
  ) {}

  async count({ tenant, call, address }: ClientCall): Promise<CallCount> {
    const { calls: byDefault, windowSeconds } = CALL_WINDOWS[call];
    const limit = tenant.openRules.rateLimits[call] ?? byDefault;
    const client = this.names.digest('client', tenant.alias, address);
    // Calls beyond the limit are not counted, so that the number cannot overflow.
    const { rows } = await this.pool.query<{ calls: number; left_seconds: number }>(
      `insert into ledger.call_counts as known (tenant, call, client, began, calls) values ($1, $2, $3, now(), 1)
       on conflict (tenant, call, client) do update set
         calls = case when known.began <= now() - make_interval(secs => $4) then 1 else least(known.calls, $5) + 1 end,
         began = case when known.began <= now() - make_interval(secs => $4) then now() else known.began end
       returning calls, ceil(extract(epoch from began + make_interval(secs => $4) - now()))::integer as left_seconds`,
      [tenant.alias, call, client, windowSeconds, limit],
    );
    const [{ calls, left_seconds: leftSeconds } = { calls: 1, left_seconds: windowSeconds }] = rows;
    return {
      limit,
      windowSeconds,
      left: Math.max(0, limit - calls),
      resetSeconds: Math.max(1, leftSeconds),
      isExceeded: calls > limit,
    };
  }

  /** Whether the user exists, according to the log; ids as the client sent them. */
  async isKnown(scope: Scope, accountId: string, userId: string): Promise<boolean> {
    const { state } = await this.streams.accounts.load(
      this.names.accountStream(scope, this.names.accountRef(scope, accountId)),
    );
    return state.status === 'open' && state.personsByUserId.has(userId);
  }

  /** Deletes windows that have ended, whatever their length. @returns how many. */
  async purge(): Promise<number> {
    const longest = Math.max(
      ...Object.values(CALL_WINDOWS).map(({ windowSeconds }) => windowSeconds),
    );
    const { rowCount } = await this.pool.query(
      'delete from ledger.call_counts where began < now() - make_interval(secs => $1)',
      [longest],
    );
    return rowCount ?? 0;
  }
}
