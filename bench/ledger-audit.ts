import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { pino } from 'pino';
import { accountProjectors } from '../projections/account-projectors.js';
import { AccountQueries } from '../projections/accounts/queries.js';
import { ReferralCodeQueries } from '../projections/referral-codes/queries.js';
import { ReferralQueries } from '../projections/referrals/queries.js';
import { RewardBalanceQueries } from '../projections/reward-balances/queries.js';
import { RewardQueries } from '../projections/rewards/queries.js';
import { rewards as rewardsTable, type RewardContent } from '../projections/rewards/table.js';
import { UserQueries } from '../projections/users/queries.js';
import { loadConfig } from '../src/config/config.js';
import { openCore, type Core } from '../src/stores/core.js';
import { accountFacts, rewardFacts, userFacts } from '../src/domain/account/account.facts.js';
import { amountLeft, type OpenAccount } from '../src/domain/account/account.state.js';
import type { AccountRef, Scope } from '../src/domain/scope.js';
import type { EventLog, Position } from '../src/event-log/event-log.js';
import { rewardJson } from '../src/presenting/reward.response.js';
import { accountRefOf } from '../src/privacy/keyed-names.js';
import { liveCheckpoints } from '../src/projecting/checkpoints.js';
import { LiveGenerations } from '../src/projecting/generations/live-generations.js';
import { LiveReads } from '../src/projecting/following/live-reads.js';

/**
 * Checks the books from inside, next to the running service: whether the log is in order, and
 * whether the read models agree with it.
 */
export interface LedgerAudit {
  readonly log: EventLog;
  /**
   * The faults in the log's own tables (in Postgres), and what is parked; empty when all is in
   * order.
   */
  logFaults(): Promise<string[]>;
  /** Whether all read models are at the head of the log. */
  isUpToDate(): Promise<boolean>;
  /**
   * Whether the policies have recorded that they have processed the whole log; a running service
   * records it now and then, and when it stops.
   */
  isReactedTo(): Promise<boolean>;
  /**
   * Folds every account's stream, and compares with the read models.
   * @returns the differences, and the number of compared accounts.
   */
  differences(): Promise<{ readonly accounts: number; readonly faults: string[] }>;
  close(): Promise<void>;
}

const PAGE = 1_000;

interface Check {
  readonly fault: string;
  readonly sql: string;
}

/** What the log keeps in Postgres, when it is there. */
const LOG_TABLE_CHECKS: readonly Check[] = [
  {
    fault: 'positions are not 1 to the head',
    sql: `select 1 from ledger.log_head h where (select count(*) from ledger.events) <> h.position
          or h.position > 0 and ((select min(position) from ledger.events) <> 1 or (select max(position) from ledger.events) <> h.position)`,
  },
  {
    fault: 'the revisions of a stream are not dense, or not what its row says',
    sql: `select e.stream from ledger.events e left join ledger.streams s using (stream) group by e.stream, s.revision
          having min(e.revision) <> 0 or max(e.revision) <> count(*) - 1 or s.revision is distinct from max(e.revision)`,
  },
  {
    fault: 'a stream has a row and no event',
    sql: `select s.stream from ledger.streams s where not exists (select from ledger.events e where e.stream = s.stream)`,
  },
  {
    fault: 'an event id is recorded twice',
    sql: `select event_id from ledger.events group by event_id having count(*) > 1`,
  },
  {
    // One command, one append: its events lie side by side and count their places from 0.
    fault: 'a command with a key had an effect twice in a stream',
    sql: `select stream from ledger.events where metadata::jsonb ? 'key' group by stream, metadata::jsonb ->> 'command'
          having max(revision) - min(revision) + 1 <> count(*) or max(append_offset) <> count(*) - 1 or min(append_offset) <> 0`,
  },
];

const PARKING_CHECKS: readonly Check[] = [
  { fault: 'a stream is parked', sql: `select stream from ledger.parked_streams` },
  { fault: 'a reaction is parked', sql: `select stream from ledger.parked_reactions` },
];

/**
 * Opens the stores of a data folder next to the service that runs on it.
 * @param environment the service's environment, as far as it names the log.
 */
export async function openLedgerAudit(
  dataDir: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<LedgerAudit> {
  const config = loadConfig({ DATA_DIR: dataDir, ...environment });
  const checks =
    config.eventStore === undefined ? [...LOG_TABLE_CHECKS, ...PARKING_CHECKS] : PARKING_CHECKS;
  const core = await openCore({
    config,
    logger: pino({ level: 'silent' }),
    actor: { kind: 'system', id: 'audit' },
    applicationName: 'ledger-audit',
  });
  const readModels = openReadModels(core);
  return {
    log: core.log,
    logFaults: async () => {
      const faults: string[] = [];
      for (const { fault, sql } of checks) {
        const { rowCount } = await core.pool.query(sql);
        if (rowCount !== 0) faults.push(`${fault} (${rowCount} times)`);
      }
      return faults;
    },
    isUpToDate: async () => {
      const head = await core.log.head();
      const checkpoints = await liveCheckpoints(core.pool, accountProjectors);
      return (
        checkpoints.length === accountProjectors.length &&
        checkpoints.every(({ position }) => core.log.compare(position, head) >= 0)
      );
    },
    isReactedTo: async () => {
      const { rows } = await core.pool.query<{ position: string | null }>(
        `select position from ledger.handler_checkpoints where name = 'policies'`,
      );
      const [checkpoint] = rows;
      return (
        checkpoint !== undefined &&
        core.log.compare(checkpoint.position ?? undefined, await core.log.head()) >= 0
      );
    },
    differences: async () => {
      const faults: string[] = [];
      let accounts = 0;
      for (const stream of await allStreams(core)) {
        const accountRef = accountRefOf(stream);
        const scope = scopeOf(stream);
        if (accountRef === undefined || scope === undefined) continue;
        const { state } = await core.streams.accounts.load(stream);
        core.streams.accounts.forget(stream);
        if (state.status === 'absent') continue;
        accounts++;
        faults.push(
          ...(await readModels.differences(scope, accountRef, state)).map(
            (fault) => `${state.accountId ?? 'account'}: ${fault}`,
          ),
        );
      }
      return { accounts, faults };
    },
    close: () => core.close(),
  };
}

/** Whether the read models reach the head of the log within the time. */
export async function reachesHead(books: LedgerAudit, withinMs = 10_000): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  while (!(await books.isUpToDate())) {
    if (performance.now() > deadline) return false;
    await delay(10);
  }
  return true;
}

/** Of the log, wherever it is kept. */
async function allStreams({ log }: Core): Promise<ReadonlySet<string>> {
  const streams = new Set<string>();
  for (let after: Position | undefined; ;) {
    const page = await log.readAll(after, PAGE);
    for (const { stream } of page) streams.add(stream);
    if (page.length < PAGE) return streams;
    after = page.at(-1)?.position;
  }
}

/** `referral-account-<mode>.<tenant>.<reference>` */
function scopeOf(stream: string): Scope | undefined {
  const [, mode, tenant] = /-(live|test)\.([^.]+)\.[^.]+$/.exec(stream) ?? [];
  return tenant !== undefined && (mode === 'live' || mode === 'test')
    ? { tenant, mode }
    : undefined;
}

function openReadModels(core: Core) {
  const generations = new LiveGenerations(core.pool, accountProjectors);
  const reads = (projection: string) => new LiveReads(core.pool, generations, projection);
  const accounts = new AccountQueries(reads('accounts'));
  const users = new UserQueries(reads('users'));
  const codes = new ReferralCodeQueries(reads('referral-codes'));
  const referrals = new ReferralQueries(reads('referrals'));
  const rewards = new RewardQueries(reads('rewards'));
  const balances = new RewardBalanceQueries(reads('reward-balances'));

  const ofRewards = async (
    scope: Scope,
    accountRef: AccountRef,
    state: OpenAccount,
  ): Promise<string[]> => {
    const read = await rewards.list(scope, { accountRef });
    const folded = [...state.rewards.values()].map((reward) =>
      rewardsTable.rowOf<RewardContent>(rewardFacts(state, accountRef, reward)),
    );
    const shown = (rows: readonly RewardContent[]) =>
      rows
        .map((row) => rewardJson({ ...row, redemptions: null }))
        .sort((a, b) => (a.id < b.id ? -1 : 1));
    const faults = unequal('rewards', shown(read), shown(folded));
    for (const { redemptions, redeemed_credit } of read) {
      const sum = redemptions?.reduce((total, { quantityRedeemed }) => total + quantityRedeemed, 0);
      faults.push(...unequal('sum of a reward’s redemptions', sum ?? null, redeemed_credit));
    }
    return faults;
  };

  const ofBalances = async (
    scope: Scope,
    accountRef: AccountRef,
    state: OpenAccount,
  ): Promise<string[]> => {
    const credit = [...state.rewards.values()].filter(({ value }) => value.type === 'CREDIT');
    const available = credit.filter(
      ({ phase, dateCancelled }) => phase === 'AVAILABLE' && dateCancelled === null,
    );
    const read = (await balances.list(scope, { accountRef, type: 'CREDIT', now: Date.now() })).map(
      (balance) => ({
        redeemed: balance.totalRedeemedCredit,
        available: balance.totalAvailableCredit,
      }),
    );
    const folded = {
      redeemed: credit.reduce((sum, { redeemed }) => sum + redeemed, 0),
      available: available.reduce((sum, reward) => sum + amountLeft(reward), 0),
    };
    return unequal('credit', read, credit.length === 0 ? [] : [folded]);
  };

  const ofReferral = async (
    scope: Scope,
    accountRef: AccountRef,
    { referral }: OpenAccount,
  ): Promise<string[]> => {
    const { items } = await referrals.list(
      scope,
      { referredAccountRef: accountRef },
      { limit: 10, offset: 0 },
    );
    const read = items.map(
      ({
        referralId,
        referredStatus,
        referrerStatus,
        dateReferralStarted,
        dateReferralPaid,
        dateReferralEnded,
      }) => ({
        referralId,
        referredStatus,
        referrerStatus,
        dateReferralStarted,
        dateReferralPaid,
        dateReferralEnded,
      }),
    );
    const folded = referral && {
      referralId: referral.referralId,
      referredStatus: referral.referredStatus,
      referrerStatus: referral.referrerStatus,
      dateReferralStarted: referral.dateStarted,
      dateReferralPaid: referral.datePaid,
      dateReferralEnded: referral.dateEnded,
    };
    return unequal('referral', read, folded ? [folded] : []);
  };

  const ofUsers = async (
    scope: Scope,
    accountRef: AccountRef,
    state: OpenAccount,
  ): Promise<string[]> => {
    const faults: string[] = [];
    const read = await users.byPersons(scope, state.persons.toArray());
    for (const person of state.persons) {
      const folded = userFacts(state, accountRef, person);
      faults.push(...unequal('user', read.get(person), folded));
      for (const code of Object.values(folded?.referralCodes ?? {})) {
        faults.push(
          ...unequal('owner of a code', (await codes.byCode(scope, code))?.person, person),
        );
      }
    }
    return faults;
  };

  return {
    differences: async (
      scope: Scope,
      accountRef: AccountRef,
      state: OpenAccount,
    ): Promise<string[]> =>
      (
        await Promise.all([
          accounts
            .byRef(scope, accountRef)
            .then((read) => unequal('account', read, accountFacts(state))),
          ofUsers(scope, accountRef, state),
          ofRewards(scope, accountRef, state),
          ofBalances(scope, accountRef, state),
          ofReferral(scope, accountRef, state),
        ])
      ).flat(),
  };
}

function unequal(what: string, read: unknown, folded: unknown): string[] {
  // Members that are undefined on one side and missing on the other are the same answer.
  const plain = (value: unknown): unknown =>
    value === undefined ? undefined : JSON.parse(JSON.stringify(value));
  return isDeepStrictEqual(plain(read), plain(folded))
    ? []
    : [
        `${what} reads ${JSON.stringify(read) ?? 'nothing'}, folded ${JSON.stringify(folded) ?? 'nothing'}`,
      ];
}
