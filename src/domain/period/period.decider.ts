import { Map } from 'immutable';
import type { Personal } from '../personal.js';
import type { Decision } from '../decision.js';
import { refused } from '../refusal.js';

/**
 * The months of a tenant's ledger that finance has closed. Entries belong to the month of their
 * recording, so the figures of a past month cannot change; closing records a person's approval.
 */
export type PeriodEvent =
  | ({ readonly type: 'PeriodClosed'; readonly at: number } & PeriodRemark)
  | ({ readonly type: 'PeriodReopened'; readonly at: number } & PeriodRemark);

export interface PeriodRemark {
  /** `YYYY-MM`, in UTC. */
  readonly period: string;
  /** Encrypted with the key of its author. */
  readonly comment: Personal<string>;
  readonly by: Personal<string>;
}

export interface Closing extends Omit<PeriodRemark, 'period'> {
  readonly at: number;
}

export interface PeriodsState {
  readonly closed: Map<string, Closing>;
}

export const initialState: PeriodsState = { closed: Map() };

export function evolve({ closed }: PeriodsState, event: PeriodEvent): PeriodsState {
  const { type, period, at, comment, by } = event;
  switch (type) {
    case 'PeriodClosed':
      return { closed: closed.set(period, { at, comment, by }) };
    case 'PeriodReopened':
      return { closed: closed.delete(period) };
  }
}

export interface ChangePeriod extends PeriodRemark {
  readonly type: 'ClosePeriod' | 'ReopenPeriod';
  /** The last millisecond of the period, since the epoch. */
  readonly endsAt: number;
  readonly now: number;
}

export function decide(
  { closed }: PeriodsState,
  { type, period, endsAt, comment, by, now: at }: ChangePeriod,
): Decision<PeriodEvent> {
  switch (type) {
    case 'ClosePeriod':
      if (at <= endsAt) return refused('PERIOD_NOT_OVER');
      if (closed.has(period)) return refused('PERIOD_ALREADY_CLOSED');
      return { events: [{ type: 'PeriodClosed', at, period, comment, by }] };
    case 'ReopenPeriod':
      if (!closed.has(period)) return refused('PERIOD_NOT_CLOSED');
      return { events: [{ type: 'PeriodReopened', at, period, comment, by }] };
  }
}
