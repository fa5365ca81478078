import { sql } from 'kysely';
import type { Pool } from 'pg';
import type { ReadableStreams } from '../../command-handling/readable-streams.js';
import type { Scope } from '../../domain/scope.js';
import { CALL_WINDOWS, type CountedCall, type OpenRules } from '../../domain/tenant/open-rules.js';
import { isRefusedByServer } from '../../postgres/database.js';
import { compiledOnce, fetchRow, run, type Given } from '../../postgres/statements.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import { WindowCounts, type Counted } from './window-counts.js';

interface ClientCall {
  readonly tenant: { readonly alias: string; readonly openRules: OpenRules };
  readonly call: CountedCall;
  /** Address, or mode and user ids; stored as a keyed hash. */
  readonly client: readonly string[];
}

export interface CallCount {
  readonly limit: number;
  readonly windowSeconds: number;
  /** Remaining calls in the window. */
  readonly left: number;
  /** Until the next window; at least 1. */
  readonly resetSeconds: number;
  readonly isExceeded: boolean;
}

/**
 * Counts calls per tenant, kind and client, for all processes. A window begins with a client's
 * first call after the previous one ended. One statement counts and checks, so that concurrent
 * calls cannot both pass. While the database is read-only, each process counts alone.
 */
export class RateLimits {
  private readonly here = new WindowCounts();

  constructor(
    private readonly pool: Pick<Pool, 'query'>,
    private readonly names: KeyedNames,
    private readonly streams: Pick<ReadableStreams, 'accounts'>,
  ) {}

  async count({ tenant, call, client: parts }: ClientCall): Promise<CallCount> {
    const { calls: byDefault, windowSeconds } = CALL_WINDOWS[call];
    const { alias, openRules } = tenant;
    const limit = openRules.rateLimits[call] ?? byDefault;
    const client = this.names.digest('client', alias, ...parts);
    const counting = { tenant: alias, call, client, windowSeconds, limit };
    const { calls, leftSeconds } = await this.counted(counting);
    const resetSeconds = Math.max(1, leftSeconds);
    const left = Math.max(0, limit - calls);
    return { limit, windowSeconds, left, resetSeconds, isExceeded: calls > limit };
  }

  private async counted(counting: Counting): Promise<Counted> {
    const { call, client, windowSeconds } = counting;
    try {
      // Calls beyond the limit are not counted, so that the number cannot overflow.
      const counted = await fetchRow(this.pool, COUNT(counting));
      return counted ?? { calls: 1, leftSeconds: windowSeconds };
    } catch (error) {
      if (!isRefusedByServer(error)) throw error;
      return this.here.add(`${call} ${client}`, windowSeconds);
    }
  }

  /** Whether the user exists in the log; ids as sent. */
  async isKnown(scope: Scope, accountId: string, userId: string): Promise<boolean> {
    const { state } = await this.streams.accounts.load(
      this.names.accountStream(scope, this.names.accountRef(scope, accountId)),
    );
    return state.status === 'open' && state.personsByUserId.has(userId);
  }

  /** Deletes ended windows. @returns their number. */
  async purge(): Promise<number> {
    const longest = Math.max(...Object.values(CALL_WINDOWS).map((one) => one.windowSeconds));
    const isOver = sql`began < now() - make_interval(secs => ${longest})`;
    return run(this.pool, sql`delete from ledger.call_counts where ${isOver}`);
  }
}

interface Counting {
  readonly tenant: string;
  readonly call: string;
  readonly client: string;
  readonly windowSeconds: number;
  readonly limit: number;
}

const COUNT = compiledOnce(
  'call_counts.count',
  ({ tenant, call, client, windowSeconds, limit }: Given<Counting>) => {
    const window = sql`make_interval(secs => ${windowSeconds})`;
    return sql<Counted>`
      insert into ledger.call_counts as known (tenant, call, client, began, calls)
      values (${tenant}, ${call}, ${client}, now(), 1)
      on conflict (tenant, call, client) do update
      set calls = case when known.began <= now() - ${window} then 1
          else least(known.calls, ${limit}) + 1 end,
        began = case when known.began <= now() - ${window} then now() else known.began end
      returning calls,
        ceil(extract(epoch from began + ${window} - now()))::integer as "leftSeconds"`;
  },
);
