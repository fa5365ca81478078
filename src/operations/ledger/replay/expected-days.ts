import {
  creditHolders,
  creditItems,
  dailyCounts,
  dailyCredit,
} from '../../../../projections/daily-figures/table.js';
import {
  AccountPostings,
  POSTED_TYPES,
  type Entry,
  type PostedEvent,
} from '../../../bookkeeping/postings.js';
import { movementOf } from '../../../bookkeeping/roll-forward.js';
import type { AccountEvent } from '../../../domain/account/account.events.js';
import { amountLeft, unitKey, type RewardState } from '../../../domain/account/account.state.js';
import type { ReadModelTable, Row } from '../../../projecting/projector.js';
import type { Difference } from './difference.js';
import { isAboutPerson, isAboutReward, type ExpectedRow } from './expected-row.js';
import { presentRewards } from './expected-rewards.js';
import type { FoldedAccount, KnownEvent } from './folded-account.js';

/** What days should say, as the ledger says. */

export const DAILY_FIGURES = 'daily-figures';

/** Rewards of credit, and what their owners have. */
export function expectedCredit({ state }: FoldedAccount): ExpectedRow[] {
  if (state.status === 'absent') return [];
  const available = new Map<string, Map<string, number>>();
  const items = presentRewards(state).flatMap((reward): ExpectedRow[] => {
    const { value, rewardId, person, phase, dateCancelled, redeemed } = reward;
    if (value.type !== 'CREDIT') return [];
    const key = unitKey(value.unit);
    const ofPerson = available.get(person) ?? new Map<string, number>();
    available.set(person, ofPerson);
    ofPerson.set(key, (ofPerson.get(key) ?? 0) + availableOf(reward));
    return [
      {
        table: creditItems,
        key: [rewardId],
        isAbout: isAboutReward(rewardId),
        values: {
          person,
          unit_key: key,
          phase,
          cancelled: dateCancelled !== null,
          assigned: value.assignedCredit,
          redeemed,
          date_scheduled_for: reward.dateScheduledFor,
          date_expires: reward.dateExpires,
          redeems_automatically: reward.redeemsAutomatically,
        },
      },
    ];
  });
  const holders = [...available].map(([person, ofPerson]) => ({
    table: creditHolders,
    key: [person],
    isAbout: isAboutPerson(person),
    values: { available: Object.fromEntries(ofPerson) },
  }));
  return [...items, ...holders];
}

const availableOf = (reward: RewardState): number =>
  reward.dateCancelled === null && reward.phase === 'AVAILABLE' ? amountLeft(reward) : 0;

type Figures = Map<string, bigint>;

const IS_POSTED: ReadonlySet<AccountEvent['type']> = new Set(POSTED_TYPES);
const isPosted = (event: AccountEvent): event is PostedEvent => IS_POSTED.has(event.type);

const COUNTS = ['conversions', 'rewards_granted'] as const;
const MOVEMENTS = ['issued', 'redeemed', 'expired', 'cancelled', 'restored'] as const;

/** The sums of a tenant's days: each account adds its own. */
export class ExpectedDays {
  /** By day, and by day and unit, as the tables are keyed. */
  private readonly counts = new Map<string, Figures>();
  private readonly credit = new Map<string, Figures>();
  private isComparable = true;

  /** @param events undefined: the account cannot be compared, and so cannot the sums. */
  add(events: readonly KnownEvent[] | undefined): void {
    if (events === undefined) this.isComparable = false;
    const postings = new AccountPostings();
    for (const { event, eventId } of events ?? []) {
      const day = new Date(event.at).toISOString().slice(0, 10);
      if (event.type === 'ReferralConverted') book(this.counts, [day], 'conversions', 1);
      if (event.type === 'RewardGranted') book(this.counts, [day], 'rewards_granted', 1);
      if (!isPosted(event)) continue;
      const entry: Entry = { event, eventId, position: '', recordedAt: event.at, actor: '' };
      for (const posting of postings.post(entry)) {
        const moved = movementOf(posting);
        if (moved) book(this.credit, [day, posting.unitKey], moved.movement, moved.amount);
      }
    }
  }

  /** @param live all rows of the tenant and mode. */
  differences(live: {
    readonly counts: readonly Row[];
    readonly credit: readonly Row[];
  }): Difference[] {
    if (!this.isComparable) return [];
    return [
      ...compare(dailyCounts, COUNTS, this.counts, live.counts),
      ...compare(dailyCredit, MOVEMENTS, this.credit, live.credit),
    ];
  }
}

function book(
  sums: Map<string, Figures>,
  key: readonly string[],
  name: string,
  amount: number,
): void {
  const text = key.join('/');
  const figures = sums.get(text) ?? new Map<string, bigint>();
  sums.set(text, figures);
  figures.set(name, (figures.get(name) ?? 0n) + BigInt(amount));
}

const amountOf = (stored: unknown): bigint =>
  typeof stored === 'string' || typeof stored === 'number' ? BigInt(stored) : 0n;

function compare(
  table: ReadModelTable,
  names: readonly string[],
  ledger: ReadonlyMap<string, Figures>,
  live: readonly Row[],
): Difference[] {
  // Within a tenant and mode.
  const keyOf = (row: Row): string =>
    table.primaryKey
      .slice(2)
      .map((column) => String(row[column]))
      .join('/');
  const rows = new Map(live.map((row) => [keyOf(row), row]));
  return [...new Set([...ledger.keys(), ...rows.keys()])].sort().flatMap((key) => {
    const [figures, row] = [ledger.get(key), rows.get(key)];
    return names.flatMap((name): Difference[] => {
      const [said, shown] = [figures?.get(name) ?? 0n, amountOf(row?.[name])];
      if (said === shown) return [];
      return [
        {
          account: 'all',
          readModel: DAILY_FIGURES,
          field: `${table.name}/${key}.${name}`,
          ledger: String(said),
          live: String(shown),
          eventIds: [],
        },
      ];
    });
  });
}
