import { LEDGER_ACCOUNTS, type LedgerAccount, type Posting } from './postings.js';
import { effectOn } from './statement.js';

/**
 * Available credit of all accounts in one unit over a period: opening + imported + issued −
 * redeemed − expired − cancelled + restored = closing. Scheduled credit is issued on its date.
 */
export type RollForward = ReturnType<typeof rollForward>;

const LATE_MS = 3_600_000;

type Movement = 'issued' | 'redeemed' | 'expired' | 'cancelled' | 'restored' | 'imported';

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
const ADDS: ReadonlySet<Movement> = new Set(['issued', 'restored', 'imported']);

interface UnitSums {
  /** In the spelling of the first account. */
  readonly unit: string;
  opening: bigint;
  readonly moved: Record<Movement, bigint>;
  readonly debit: Record<LedgerAccount, bigint>;
  readonly credit: Record<LedgerAccount, bigint>;
  recordedLate: number;
  overdue: number;
}

/** Adds up a tenant's accounts, exactly for any number of them. */
export class RollForwardSums {
  private readonly units = new Map<string, UnitSums>();

  /** @param inPeriod false: before the period. */
  addPosting(posting: Posting, spelled: string, inPeriod: boolean): void {
    const { debit, credit, unitKey } = posting;
    const sums = this.of(unitKey, spelled);
    const amount = BigInt(posting.amount);
    sums.debit[debit] += amount;
    sums.credit[credit] += amount;
    const effect = BigInt(effectOn('available', posting));
    if (!inPeriod) {
      sums.opening += effect;
      return;
    }
    if (isLate(posting)) sums.recordedLate += 1;
    if (effect === 0n) return;
    const movement =
      posting.type === 'imported' ? 'imported' : effect > 0n ? FROM[debit] : TO[credit];
    sums.moved[movement] += ADDS.has(movement) ? effect : -effect;
  }

  addOverdue(unitKey: string, spelled: string): void {
    this.of(unitKey, spelled).overdue += 1;
  }

  /** `tooLarge`: units with a sum beyond 2^53, which JSON cannot represent exactly. */
  result(): { readonly units: readonly RollForward[]; readonly tooLarge: readonly string[] } {
    const sorted = [...this.units].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sums]) => sums);
    return {
      units: sorted.filter(isExact).map(rollForward),
      tooLarge: sorted.filter((sums) => !isExact(sums)).map(({ unit }) => unit),
    };
  }

  private of(unitKey: string, spelled: string): UnitSums {
    const sums = this.units.get(unitKey) ?? {
      unit: spelled,
      opening: 0n,
      debit: zeros(),
      credit: zeros(),
      recordedLate: 0,
      overdue: 0,
      moved: { issued: 0n, redeemed: 0n, expired: 0n, cancelled: 0n, restored: 0n, imported: 0n },
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

/** No figure exceeds the debits or the credits. */
const isExact = ({ debit, credit }: UnitSums): boolean =>
  [total(debit), total(credit)].every((sum) => sum <= BigInt(Number.MAX_SAFE_INTEGER));

const rollForward = ({ unit, opening, moved, debit, credit, recordedLate, overdue }: UnitSums) => ({
  unit,
  opening: Number(opening),
  issued: Number(moved.issued),
  redeemed: Number(moved.redeemed),
  expired: Number(moved.expired),
  /** Includes the credit of forgotten people. */
  cancelled: Number(moved.cancelled),
  restored: Number(moved.restored),
  imported: Number(moved.imported),
  closing: Number(credit.available - debit.available),
  /** Scheduled at the end of the period; not part of other figures. */
  scheduled: Number(credit.scheduled - debit.scheduled),
  /** Since the first event of the ledger. */
  trialBalance: LEDGER_ACCOUNTS.map((ledgerAccount) => ({
    ledgerAccount,
    debit: Number(debit[ledgerAccount]),
    credit: Number(credit[ledgerAccount]),
  })),
  debits: Number(total(debit)),
  credits: Number(total(credit)),
  /** Dates of the period that were recorded more than an hour late; figures follow the dates. */
  recordedLate,
  /** Dates of more than an hour ago without an event; figures include them. */
  overdue,
});

/** Contradictions between the figures. */
export function faultsOf(
  figures: RollForward,
): readonly { readonly ledger: number; readonly against: number; readonly kind: string }[] {
  const { opening, imported, issued, redeemed, expired, cancelled, restored } = figures;
  const { closing, debits, credits } = figures;
  const rolled = opening + imported + issued - redeemed - expired - cancelled + restored;
  return [
    ...(rolled === closing ? [] : [{ kind: 'roll-forward', ledger: rolled, against: closing }]),
    ...(debits === credits ? [] : [{ kind: 'trial-balance', ledger: debits, against: credits }]),
  ];
}
