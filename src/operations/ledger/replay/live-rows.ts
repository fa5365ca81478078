import type { Pool, PoolClient } from 'pg';
import { accountProjectors } from '../../../../projections/account-projectors.js';
import { accounts } from '../../../../projections/accounts/table.js';
import { codeOwners, referralCodes } from '../../../../projections/referral-codes/table.js';
import {
  creditHolders,
  creditItems,
  dailyCounts,
  dailyCredit,
} from '../../../../projections/daily-figures/table.js';
import { referralRewards, referrals } from '../../../../projections/referrals/table.js';
import { balanceItems, balances } from '../../../../projections/reward-balances/table.js';
import { redemptions, rewards } from '../../../../projections/rewards/table.js';
import { userAccounts, users } from '../../../../projections/users/table.js';
import type { Scope } from '../../../domain/scope.js';
import { beginSnapshot, endSnapshot } from '../../../postgres/transaction.js';
import { liveCheckpoints, type Checkpoint } from '../../../projecting/checkpoints.js';
import { countUnfinishedErasures } from '../../../projecting/following/erasure-pieces.js';
import { type ReadModel } from '../../../projecting/generations/generations.js';
import { followedGenerations } from '../../../projecting/generations/live-generations.js';
import { quoted, schemaOf } from '../../../projecting/identifiers.js';
import type { ReadModelTable, Row } from '../../../projecting/projector.js';
import { NotDone, type Outcome } from '../../outcome.js';
import type { AccountKeys } from './folded-account.js';

/** The values that rows of one batch's accounts are found by. */
export interface BatchKeys extends AccountKeys {
  readonly accountRefs: readonly string[];
}

interface Place {
  readonly readModel: string;
  readonly table: ReadModelTable;
  readonly column: string;
  readonly values: (keys: BatchKeys) => readonly string[];
  /** Every row names its account, so rows without an account can be counted. */
  readonly isCounted?: boolean;
}

const refs = ({ accountRefs }: BatchKeys): readonly string[] => accountRefs;
const people = ({ persons }: BatchKeys): readonly string[] => persons;

/** The columns that find the rows of an account, each by an index. */
const PLACES: readonly Place[] = [
  { readModel: 'accounts', table: accounts, column: 'account_ref', values: refs, isCounted: true },
  { readModel: 'users', table: users, column: 'account_ref', values: refs, isCounted: true },
  { readModel: 'users', table: userAccounts, column: 'account_ref', values: refs, isCounted: true },
  {
    readModel: 'referral-codes',
    table: codeOwners,
    column: 'person',
    values: people,
    isCounted: true,
  },
  {
    readModel: 'referral-codes',
    table: referralCodes,
    column: 'person',
    values: people,
    isCounted: true,
  },
  {
    readModel: 'referrals',
    table: referrals,
    column: 'referred_account_ref',
    values: refs,
    isCounted: true,
  },
  {
    readModel: 'referrals',
    table: referralRewards,
    column: 'referral_id',
    values: ({ rewardedReferralIds }) => rewardedReferralIds,
  },
  { readModel: 'rewards', table: rewards, column: 'account_ref', values: refs, isCounted: true },
  {
    readModel: 'rewards',
    table: redemptions,
    column: 'reward_id',
    values: ({ rewardIds }) => rewardIds,
    isCounted: true,
  },
  {
    readModel: 'reward-balances',
    table: balances,
    column: 'account_ref',
    values: refs,
    isCounted: true,
  },
  {
    readModel: 'reward-balances',
    table: balanceItems,
    column: 'person',
    values: people,
    isCounted: true,
  },
  {
    readModel: 'daily-figures',
    table: creditItems,
    column: 'person',
    values: people,
    isCounted: true,
  },
  {
    readModel: 'daily-figures',
    table: creditHolders,
    column: 'person',
    values: people,
    isCounted: true,
  },
];

export const READ_MODELS: readonly string[] = [
  ...new Set(PLACES.map(({ readModel }) => readModel)),
];

/** With their tables. */
export const COMPARED: readonly ReadModel[] = accountProjectors.filter(({ name }) =>
  READ_MODELS.includes(name),
);

/** A row of a live read model. */
export interface LiveRow {
  readonly readModel: string;
  readonly table: ReadModelTable;
  readonly row: Row;
}

export interface RowCount {
  readonly readModel: string;
  readonly table: string;
  readonly rows: number;
}

async function refusalOf(
  client: PoolClient,
  checkpoints: ReadonlyMap<string, Checkpoint>,
): Promise<NotDone | undefined> {
  if (READ_MODELS.some((name) => !checkpoints.has(name)))
    return new NotDone({ code: 'NO_READ_MODELS' });
  const { complete, shown } = await followedGenerations(client, COMPARED);
  if (!complete || !shown) return new NotDone({ code: 'READ_MODELS_BEING_REBUILT' });
  return (await countUnfinishedErasures(client, [...checkpoints.values()])) > 0
    ? new NotDone({ code: 'ERASURES_BEING_CLEANED' })
    : undefined;
}

/** The live read models in one snapshot, rows and checkpoints together; writers are not blocked. */
export class ReadModelSnapshot {
  private constructor(
    private readonly client: PoolClient,
    readonly checkpoints: ReadonlyMap<string, Checkpoint>,
  ) {}

  /** Refuses while read models cannot be compared. */
  static async open(pool: Pool): Promise<Outcome<ReadModelSnapshot>> {
    const client = await pool.connect();
    try {
      await beginSnapshot(client);
      const checkpoints = new Map(
        (await liveCheckpoints(client, COMPARED)).map((checkpoint) => [
          checkpoint.projection,
          checkpoint,
        ]),
      );
      const refused = await refusalOf(client, checkpoints);
      if (refused !== undefined) {
        client.release(true);
        return refused;
      }
      return new ReadModelSnapshot(client, checkpoints);
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  async rowsOf(keys: BatchKeys): Promise<LiveRow[]> {
    const found: LiveRow[] = [];
    for (const { readModel, table, column, values } of PLACES) {
      const wanted = values(keys);
      if (wanted.length === 0) continue;
      const { rows } = await this.client.query<{ row: Row }>(
        `select to_json(t) as "row" from ${this.place(readModel, table)} t where t.${quoted(column)} = any ($1::text[])`,
        [wanted],
      );
      for (const { row } of rows) found.push({ readModel, table, row });
    }
    return found;
  }

  /** Number of rows of a tenant and mode, in the tables whose rows all name their account. */
  async counts({ tenant, mode }: Scope): Promise<RowCount[]> {
    const counts: RowCount[] = [];
    for (const { readModel, table } of PLACES.filter(({ isCounted }) => isCounted)) {
      const { rows } = await this.client.query<{ count: string }>(
        `select count(*) as count from ${this.place(readModel, table)} where tenant = $1 and mode = $2`,
        [tenant, mode],
      );
      counts.push({ readModel, table: table.name, rows: Number(rows[0]?.count ?? 0) });
    }
    return counts;
  }

  /** The days of a tenant and mode: sums over all accounts. */
  async days(scope: Scope): Promise<{ readonly counts: Row[]; readonly credit: Row[] }> {
    return {
      counts: await this.all(dailyCounts, scope),
      credit: await this.all(dailyCredit, scope),
    };
  }

  private async all(table: ReadModelTable, { tenant, mode }: Scope): Promise<Row[]> {
    const { rows } = await this.client.query<{ row: Row }>(
      `select to_json(t) as "row" from ${this.place('daily-figures', table)} t where tenant = $1 and mode = $2`,
      [tenant, mode],
    );
    return rows.map(({ row }) => row);
  }

  /** Number of accounts in the read model, for estimating the remaining work. */
  async accountsOf(scope: Scope): Promise<number> {
    const { rows } = await this.client.query<{ count: string }>(
      `select count(*) as count from ${this.place('accounts', accounts)} where tenant = $1 and mode = $2`,
      [scope.tenant, scope.mode],
    );
    return Number(rows[0]?.count ?? 0);
  }

  close(): Promise<void> {
    return endSnapshot(this.client);
  }

  private place(readModel: string, table: ReadModelTable): string {
    return `${quoted(schemaOf(readModel, this.checkpoints.get(readModel)?.generation ?? 0))}.${quoted(table.name)}`;
  }
}
