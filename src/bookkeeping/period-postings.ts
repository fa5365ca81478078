import { AccountPostings, momentOf, type Entry, type Posting } from './postings.js';

/** The part of an account's history that figures are of. All in epoch milliseconds. */
export interface Span {
  /** Earlier entries are in the opening. */
  readonly from: number;
  /** Later entries do not count. */
  readonly to: number;
  /** Dates up to here have passed. */
  readonly clock: number;
}

/** Postings of one entry, or of dates that passed; false: they are in the opening. */
export type TakePostings = (postings: readonly Posting[], isWithin: boolean) => void;

/**
 * Posts the entries of an account in the order of the log, and sorts the postings by the times of
 * their entries. The two orders differ after an entry under a clock that was ahead: a later entry
 * may redeem a reward whose grant carries a later time. Each posting counts in one period.
 */
export class PeriodPostings {
  readonly postings = new AccountPostings();
  private isOpened = false;
  private isClosed = false;

  constructor(
    private readonly span: Span,
    private readonly take: TakePostings,
  ) {}

  /** The next entry of the log. */
  post(entry: Entry): void {
    const { from, to } = this.span;
    const at = momentOf(entry);
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

/** The entries up to the last one that counts: those between keep the order of the log. */
export const upToLastWithin = (entries: readonly Entry[], to: number): readonly Entry[] =>
  entries.slice(0, entries.findLastIndex((entry) => momentOf(entry) <= to) + 1);
