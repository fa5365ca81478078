import { LEDGER_ACCOUNTS, type LedgerAccount, type Posting } from './postings.js';
import { effectOnAvailable } from './statement.js';

/**
 * All accounts' credit in one unit over a period: opening + issued − redeemed − expired − cancelled
 * + restored = closing. Only available credit: scheduled credit is issued on its date.
 */
export interface RollForward {
  /** In the first account's spelling. */
  readonly unit: string;
  readonly opening: number;
  readonly issued: number;
  readonly redeemed: number;
  readonly expired: number;
  /** Includes the credit of people who were forgotten. */
  readonly cancelled: number;
  readonly restored: number;
  readonly closing: number;
  /** Scheduled at the end of the period; in no other figure here. */
  readonly scheduled: number;
  /** Since the first event of the ledger. */
  readonly trialBalance: readonly TrialBalanceLine[];
  readonly debits: number;
  readonly credits: number;
  /**
   * Dates within the period that the log recorded more than an hour late. The figures follow the
   * dates.
   */
  readonly recordedLate: number;
  /** Dates of more than an hour ago that no event records. The figures include them. */
  readonly overdue: number;
}

export interface TrialBalanceLine {
  readonly ledgerAccount: LedgerAccount;
  readonly debit: number;
  readonly credit: number;
}

const LATE_MS = 3_600_000;

type Movement = 'issued' | 'redeemed' | 'expired' | 'cancelled' | 'restored';

/** The movement that a transfer from or to each ledger account means. */
const FROM: Readonly<Record<LedgerAccount, Movement>> = {
  programme: 'issued',
  scheduled: 'issued',
  available: 'issued',
  redeemed: 'redeemed',
  expired: 'expired',
  cancelled: 'restored',
  forfeited: 'cancelled',
};
const TO: Readonly<Record<LedgerAccount, Movement>> = { ...FROM, cancelled: 'cancelled' };
const ADDS: Readonly<Record<Movement, boolean>> = {
  issued: true,
  restored: true,
  redeemed: false,
  expired: false,
  cancelled: false,
};

interface UnitSums {
  readonly unit: string;
  opening: bigint;
  readonly moved: Record<Movement, bigint>;
  readonly debit: Record<LedgerAccount, bigint>;
  readonly credit: Record<LedgerAccount, bigint>;
  recordedLate: number;
  overdue: number;
}

/**
 * Adds up the accounts of a tenant, one after the other. The sums are exact for any number of
 * accounts.
 */
export class RollForwardSums {
  private readonly units = new Map<string, UnitSums>();

  /** @param inPeriod whether the posting is within the period; otherwise it is before it. */
  addPosting(posting: Posting, spelled: string, inPeriod: boolean): void {
    const sums = this.of(posting.unitKey, spelled);
    const amount = BigInt(posting.amount);
    sums.debit[posting.debit] += amount;
    sums.credit[posting.credit] += amount;
    const effect = effectOnAvailable(posting);
    if (!inPeriod) {
      sums.opening += BigInt(effect);
      return;
    }
    if (isLate(posting)) sums.recordedLate += 1;
    if (effect === 0) return;
    const movement = effect > 0 ? FROM[posting.debit] : TO[posting.credit];
    sums.moved[movement] += ADDS[movement] ? BigInt(effect) : -BigInt(effect);
  }

  addOverdue(unitKey: string, spelled: string): void {
    this.of(unitKey, spelled).overdue += 1;
  }

  result(): RollForward[] {
    return [...this.units]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, sums]) => rollForward(sums));
  }

  private of(unitKey: string, spelled: string): UnitSums {
    const known = this.units.get(unitKey);
    if (known) return known;
    const sums: UnitSums = {
      unit: spelled,
      opening: 0n,
      debit: zeros(),
      credit: zeros(),
      recordedLate: 0,
      overdue: 0,
      moved: { issued: 0n, redeemed: 0n, expired: 0n, cancelled: 0n, restored: 0n },
    };
    this.units.set(unitKey, sums);
    return sums;
  }
}

const isLate = ({ byClock, type, entry, effectiveAt }: Posting): boolean =>
  !byClock &&
  (type === 'available' || type === 'expired') &&
  entry.recordedAt - effectiveAt > LATE_MS;

const zeros = (): Record<LedgerAccount, bigint> => ({
  programme: 0n,
  scheduled: 0n,
  available: 0n,
  redeemed: 0n,
  expired: 0n,
  cancelled: 0n,
  forfeited: 0n,
});

function rollForward({
  unit,
  opening,
  moved,
  debit,
  credit,
  recordedLate,
  overdue,
}: UnitSums): RollForward {
  const total = (sums: Record<LedgerAccount, bigint>): bigint =>
    Object.values(sums).reduce((sum, amount) => sum + amount, 0n);
  return {
    unit,
    opening: exact(opening),
    issued: exact(moved.issued),
    redeemed: exact(moved.redeemed),
    expired: exact(moved.expired),
    cancelled: exact(moved.cancelled),
    restored: exact(moved.restored),
    closing: exact(credit.available - debit.available),
    scheduled: exact(credit.scheduled - debit.scheduled),
    trialBalance: LEDGER_ACCOUNTS.map((ledgerAccount) => ({
      ledgerAccount,
      debit: exact(debit[ledgerAccount]),
      credit: exact(credit[ledgerAccount]),
    })),
    debits: exact(total(debit)),
    credits: exact(total(credit)),
    recordedLate,
    overdue,
  };
}

/** @throws {RangeError} instead of an inexact figure. */
function exact(amount: bigint): number {
  const number = Number(amount);
  if (!Number.isSafeInteger(number))
    throw new RangeError('a sum is beyond 2^53 and cannot be represented exactly');
  return number;
}

/** The contradictions between the figures; empty: none. */
export function faultsOf(
  figures: RollForward,
): readonly { readonly ledger: number; readonly against: number; readonly kind: string }[] {
  const { opening, issued, redeemed, expired, cancelled, restored, closing, debits, credits } =
    figures;
  const rolled = opening + issued - redeemed - expired - cancelled + restored;
  return [
    ...(rolled === closing ? [] : [{ kind: 'roll-forward', ledger: rolled, against: closing }]),
    ...(debits === credits ? [] : [{ kind: 'trial-balance', ledger: debits, against: credits }]),
  ];
}
