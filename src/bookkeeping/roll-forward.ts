import { LEDGER_ACCOUNTS, type LedgerAccount, type Posting } from './postings.js';
import { effectOn } from './statement.js';

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

/** What a posting did to available credit; undefined: nothing. */
export function movementOf(
  posting: Posting,
): { readonly movement: Movement; readonly amount: number } | undefined {
  const effect = effectOn('available', posting);
  return effect === 0 ? undefined : movedBy(posting, effect);
}

function movedBy(
  { debit, credit }: Posting,
  effect: number,
): { readonly movement: Movement; readonly amount: number } {
  const movement = effect > 0 ? FROM[debit] : TO[credit];
  return { movement, amount: ADDS[movement] ? effect : -effect };
}

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
    const effect = effectOn('available', posting);
    if (!inPeriod) {
      sums.opening += BigInt(effect);
      return;
    }
    if (isLate(posting)) sums.recordedLate += 1;
    if (effect === 0) return;
    const { movement, amount: moved } = movedBy(posting, effect);
    sums.moved[movement] += BigInt(moved);
  }

  addOverdue(unitKey: string, spelled: string): void {
    this.of(unitKey, spelled).overdue += 1;
  }

  /** `tooLarge`: the units with a sum beyond 2^53, which JSON cannot represent exactly. */
  result(): { readonly units: readonly RollForward[]; readonly tooLarge: readonly string[] } {
    const sorted = [...this.units].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sums]) => sums);
    return {
      units: sorted.filter(isExact).map(rollForward),
      tooLarge: sorted.filter((sums) => !isExact(sums)).map(({ unit }) => unit),
    };
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

const zeros = () =>
  Object.fromEntries(LEDGER_ACCOUNTS.map((account) => [account, 0n])) as Record<
    LedgerAccount,
    bigint
  >;

const total = (sums: Readonly<Record<LedgerAccount, bigint>>): bigint =>
  Object.values(sums).reduce((sum, amount) => sum + amount, 0n);

/** No figure is larger than the debits or the credits. */
const isExact = ({ debit, credit }: UnitSums): boolean =>
  [total(debit), total(credit)].every((sum) => sum <= BigInt(Number.MAX_SAFE_INTEGER));

function rollForward({
  unit,
  opening,
  moved,
  debit,
  credit,
  recordedLate,
  overdue,
}: UnitSums): RollForward {
  return {
    unit,
    opening: Number(opening),
    issued: Number(moved.issued),
    redeemed: Number(moved.redeemed),
    expired: Number(moved.expired),
    cancelled: Number(moved.cancelled),
    restored: Number(moved.restored),
    closing: Number(credit.available - debit.available),
    scheduled: Number(credit.scheduled - debit.scheduled),
    trialBalance: LEDGER_ACCOUNTS.map((ledgerAccount) => ({
      ledgerAccount,
      debit: Number(debit[ledgerAccount]),
      credit: Number(credit[ledgerAccount]),
    })),
    debits: Number(total(debit)),
    credits: Number(total(credit)),
    recordedLate,
    overdue,
  };
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
