import type { LedgerMode } from '../../src/domain/scope.js';
import { isCountsByName, isDecimalText } from '../../src/projecting/stored-values.js';
import { TableOf } from '../../src/projecting/table.js';
import type { CreditItem } from './movement.js';

/** Days are those of UTC, `YYYY-MM-DD`. */
export type DailyCountRow = {
  readonly tenant: string;
  readonly mode: LedgerMode;
  readonly day: string;
  readonly conversions: number;
  readonly rewards_granted: number;
};

export const dailyCounts = new TableOf<DailyCountRow>({
  name: 'daily_counts',
  columns: {
    tenant: 'text not null',
    mode: 'text not null',
    day: 'text not null',
    conversions: 'bigint not null',
    rewards_granted: 'bigint not null',
  },
  primaryKey: ['tenant', 'mode', 'day'],
  indexes: {},
});

/**
 * Changes of available credit per day and unit. Outstanding at the end of a day: the sum up to it
 * of imported + issued − redeemed − expired − cancelled + restored. Amounts are decimal texts,
 * since sums of a tenant may exceed 2^53.
 */
export type DailyCreditRow = {
  readonly tenant: string;
  readonly mode: LedgerMode;
  readonly day: string;
  /** In lower case: units are compared without case. */
  readonly unit_key: string;
  /** As first spelled on that day. */
  readonly unit: string;
  readonly issued: string;
  readonly redeemed: string;
  readonly expired: string;
  /** Includes the credit of people who were forgotten. */
  readonly cancelled: string;
  readonly restored: string;
  readonly imported: string;
};

export const dailyCredit = new TableOf<DailyCreditRow>({
  name: 'daily_credit',
  columns: {
    tenant: 'text not null',
    mode: 'text not null',
    day: 'text not null',
    unit_key: 'text not null',
    unit: 'text not null',
    issued: 'text not null',
    redeemed: 'text not null',
    expired: 'text not null',
    cancelled: 'text not null',
    restored: 'text not null',
    imported: 'text not null',
  },
  primaryKey: ['tenant', 'mode', 'day', 'unit_key'],
  indexes: {},
  checks: {
    issued: isDecimalText,
    redeemed: isDecimalText,
    expired: isDecimalText,
    cancelled: isDecimalText,
    restored: isDecimalText,
    imported: isDecimalText,
  },
});

/** A reward of credit, as far as movements depend on it. */
export type CreditItemRow = CreditItem & {
  readonly reward_id: string;
  readonly tenant: string;
  readonly mode: LedgerMode;
  readonly person: string;
  readonly unit_key: string;
  /** When the clock will change what is outstanding, unless an event does before. */
  readonly due_at: number | null;
};

export const creditItems = new TableOf<CreditItemRow>({
  name: 'credit_items',
  columns: {
    reward_id: 'text not null',
    tenant: 'text not null',
    mode: 'text not null',
    person: 'text not null',
    unit_key: 'text not null',
    phase: 'text not null',
    cancelled: 'boolean not null',
    assigned: 'bigint not null',
    redeemed: 'bigint not null',
    date_scheduled_for: 'bigint',
    date_expires: 'bigint',
    redeems_automatically: 'boolean not null',
    due_at: 'bigint',
  },
  primaryKey: ['reward_id'],
  indexes: {
    by_person: { definition: '(person)' },
    due: { definition: '(tenant, mode, due_at) where due_at is not null' },
  },
});

/** A person's available credit, which an erasure ends immediately, whatever its rewards. */
export type CreditHolderRow = {
  readonly person: string;
  readonly tenant: string;
  readonly mode: LedgerMode;
  /** By unit in lower case: of every unit that the person ever had. */
  readonly available: Readonly<Record<string, number>>;
};

export const creditHolders = new TableOf<CreditHolderRow>({
  name: 'credit_holders',
  columns: {
    person: 'text not null',
    tenant: 'text not null',
    mode: 'text not null',
    available: 'jsonb not null',
  },
  primaryKey: ['person'],
  indexes: {},
  checks: { available: isCountsByName },
});
