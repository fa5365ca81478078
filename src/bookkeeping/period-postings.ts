import { countedAt } from '../domain/fact.js';
import { AccountPostings, type Entry, type Posting } from './postings.js';

/** The period of the figures, in epoch milliseconds. */
export interface Span {
  /** Earlier entries belong to the opening. */
  readonly from: number;
  /** Later entries do not count. */
  readonly to: number;
  /** Dates up to here have passed. */
  readonly clock: number;
}

/** Receives the postings of an entry, or of passed dates; false: they belong to the opening. */
export type PostingsReceiver = (postings: readonly Posting[], isWithin: boolean) => void;

/**
 * Posts an account's entries in log order and sorts the postings by the time of their entries.
 * The orders differ after an entry under a test clock that was ahead: a later entry may redeem a
 * reward with a later time. Each posting counts in one period.
 */
export class PeriodPostings {
  readonly postings = new AccountPostings();
  private isOpened = false;
  private isClosed = false;

  constructor(
    private readonly span: Span,
    private readonly take: PostingsReceiver,
  ) {}

  /** Posts the next entry of the log. */
  post(entry: Entry): void {
    const { from, to } = this.span;
    const at = countedAt(entry);
    if (at >= from) this.open();
    if (at > to) this.close();
    const posted = this.postings.post(entry);
    if (at <= to) this.take(posted, at >= from);
  }

  /** After the last entry. */
  end(): void {
    this.open();
    this.close();
  }

  private open(): void {
    if (this.isOpened) return;
    this.isOpened = true;
    const { from, clock } = this.span;
    if (from > -Infinity) this.take(this.postings.settle(Math.min(from - 1, clock)), false);
  }

  private close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.take(this.postings.settle(this.span.clock), true);
  }
}

/** The entries up to the last one within the period, in log order. */
export const entriesWithin = (entries: readonly Entry[], to: number): readonly Entry[] =>
  entries.slice(0, entries.findLastIndex((entry) => countedAt(entry) <= to) + 1);
