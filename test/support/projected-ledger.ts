import type pg from 'pg';
import { AccountQueries } from '../../projections/accounts/queries.js';
import { accountProjectors } from '../../projections/account-projectors.js';
import { DailyFigureQueries } from '../../projections/daily-figures/queries.js';
import { ReferralCodeQueries } from '../../projections/referral-codes/queries.js';
import { ReferralQueries } from '../../projections/referrals/queries.js';
import { RewardBalanceQueries } from '../../projections/reward-balances/queries.js';
import { RewardQueries } from '../../projections/rewards/queries.js';
import { CustomerSearchQueries } from '../../projections/users/search-queries.js';
import { UserQueries } from '../../projections/users/queries.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { CustomerReads } from '../../src/operations/customers/lists/customer-lists.js';
import { openPool } from '../../src/postgres/database.js';
import { LiveGenerations } from '../../src/projecting/generations/live-generations.js';
import { LiveReads } from '../../src/projecting/following/live-reads.js';
import { postgresProjectionStores } from '../../src/projecting/following/projection-stores.js';
import type { TestAccount } from './account-events.js';
import { createTestDatabase } from './database.js';
import { FollowedProjections, type FollowedProjectionsOptions } from './followed.js';
import { InMemoryEventLog } from './in-memory-event-log.js';
import { TestLedger } from './test-ledger.js';

/** Read models over a log in memory and a database, with as many runners as a test starts. */
export class ProjectedLedger {
  private readonly runners: FollowedProjections[] = [];
  private readonly pools: pg.Pool[] = [];
  /** Kept as a service keeps them, with the texts that they have compiled. */
  private readonly liveReads = new Map<string, unknown>();
  readonly log = new InMemoryEventLog();
  readonly ledger = new TestLedger(this.log);
  readonly pool: pg.Pool;
  readonly generations: LiveGenerations;

  private constructor(private readonly database: Awaited<ReturnType<typeof createTestDatabase>>) {
    this.pool = this.openPool();
    this.generations = new LiveGenerations(this.pool, accountProjectors);
  }

  static async open(): Promise<ProjectedLedger> {
    return new ProjectedLedger(await createTestDatabase());
  }

  /** A pool of a process that is going to be killed: it is never ended. */
  openDoomedPool(applicationName: string): pg.Pool {
    return openPool({ url: this.database.url, max: 10, applicationName });
  }

  openPool(max = 10): pg.Pool {
    const pool = openPool({ url: this.database.url, max, applicationName: 'test' });
    this.pools.push(pool);
    return pool;
  }

  startRunner({
    pool = this.pool,
    projectors = accountProjectors,
    ...over
  }: Partial<FollowedProjectionsOptions> & { readonly pool?: pg.Pool } = {}): FollowedProjections {
    const runner = new FollowedProjections({
      stores: postgresProjectionStores(pool, projectors),
      log: this.log,
      decode: this.ledger.decode,
      projectors,
      generations: this.generations,
      ...over,
    });
    this.runners.push(runner);
    runner.start();
    return runner;
  }

  /** Events of an account happen, and the read models (of the first runner) have them. */
  async given(account: TestAccount, ...events: readonly AccountEvent[]): Promise<void> {
    const position = await this.ledger.happened(account, ...events);
    const [runner] = this.runners;
    const projections = accountProjectors.map(({ name }) => name);
    if (!(await runner?.waitFor(position, projections, 10_000)))
      throw new Error('the read models did not come so far');
  }

  readonly accounts = () => new AccountQueries(this.reads('accounts'));
  readonly users = () => new UserQueries(this.reads('users'));
  readonly search = () => new CustomerSearchQueries(this.reads('users'));
  readonly codes = () => new ReferralCodeQueries(this.reads('referral-codes'));
  readonly referrals = () => new ReferralQueries(this.reads('referrals'));
  readonly rewards = () => new RewardQueries(this.reads('rewards'));
  readonly balances = () => new RewardBalanceQueries(this.reads('reward-balances'));
  /** @param now of the ledger. */
  customers(now: () => number): CustomerReads {
    const reads = (readModel: string): LiveReads<never> => this.reads(readModel);
    const tenants = { find: async () => undefined, now: async () => now() };
    return new CustomerReads({ reads, balances: this.balances(), tenants, pool: this.pool });
  }

  readonly days = () => new DailyFigureQueries(this.reads('daily-figures'));

  async close(): Promise<void> {
    await Promise.all(this.runners.map((runner) => runner.stop()));
    await Promise.all(this.pools.map((pool) => pool.end()));
    await this.database.drop();
  }

  private reads<Tables>(projection: string): LiveReads<Tables> {
    const known = this.liveReads.get(projection) as LiveReads<Tables> | undefined;
    if (known) return known;
    const reads = new LiveReads<Tables>(this.pool, this.generations, projection);
    this.liveReads.set(projection, reads);
    return reads;
  }
}
