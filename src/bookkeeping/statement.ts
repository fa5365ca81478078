import type { Position } from '../event-log/event-log.js';
import { inChunks } from '../foundation/in-chunks.js';
import { digestOf } from '../foundation/canonical-json.js';
import { PeriodPostings } from './period-postings.js';
import type { Entry, LedgerAccount, Posting } from './postings.js';

/**
 * An account's credit and movements per unit. Times are ISO 8601, amounts are integers in the unit;
 * forgotten texts are null.
 */
export type Statement = Awaited<ReturnType<typeof statementOf>>;

export type StatementLine = ReturnType<typeof lineOf>;

/** A reward that the payment provider has paid. */
export interface ProviderPayment {
  readonly rewardId: string;
  readonly paidAt: string;
  /** The provider's id of the payment or discount. */
  readonly externalReference: string | null;
}

export interface StatementInput {
  readonly account: string;
  readonly position: Position | null;
  /** In the order of the log. */
  readonly entries: readonly Entry[];
  readonly paid?: readonly ProviderPayment[];
  /** Earlier postings belong to the opening; undefined: it is zero. Epoch milliseconds. */
  readonly from: number | undefined;
  /** Later entries do not count; undefined: all count. Epoch milliseconds. */
  readonly until?: number | undefined;
  /** Dates up to here have passed. Epoch milliseconds. */
  readonly clock: number;
  readonly unit: string | undefined;
}

/** Deterministic to the byte. @param turn lets other work run during a long account. */
export async function statementOf(
  { account, position, entries, paid = [], from, until, clock, unit }: StatementInput,
  turn: () => Promise<void> = async () => undefined,
) {
  const wanted = unit?.toLowerCase();
  const opening = new Map<string, number>();
  const within: Posting[] = [];
  const span = { from: from ?? -Infinity, to: until ?? Infinity, clock };
  const period = new PeriodPostings(span, (posted, isWithin) => {
    for (const posting of posted) {
      const { unitKey } = posting;
      if (!isWithin)
        opening.set(unitKey, (opening.get(unitKey) ?? 0) + effectOn('available', posting));
      else if (wanted === undefined || unitKey === wanted) within.push(posting);
    }
  });
  for (const some of inChunks(entries, ENTRIES_IN_A_TURN)) {
    for (const entry of some) period.post(entry);
    await turn();
  }
  period.end();
  const lines = new Map<string, StatementLine[]>();
  const balances = new Map(opening);
  for (const some of inChunks(within.filter(isShown), ENTRIES_IN_A_TURN)) {
    for (const posting of some) {
      const { unitKey } = posting;
      const amount = effectOn('available', posting);
      const balance = (balances.get(unitKey) ?? 0) + amount;
      balances.set(unitKey, balance);
      const ofUnit = lines.get(unitKey) ?? [];
      ofUnit.push(lineOf(posting, amount, balance));
      lines.set(unitKey, ofUnit);
    }
    await turn();
  }
  const units = [...period.postings.units]
    .filter(([key]) => wanted === undefined || key === wanted)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, spelled]) => ({
      unit: spelled,
      /** Available credit, like the closing: assigned less redeemed of available rewards. */
      opening: opening.get(key) ?? 0,
      closing: balances.get(key) ?? 0,
      lines: lines.get(key) ?? [],
    }));
  /** `rewards`: paid by the payment provider, oldest first; missing if there are none. */
  const document = { account, position, units, ...(paid.length > 0 && { rewards: paid }) };
  /** SHA-256 of the rest of the document in canonical JSON, hex. */
  return { ...document, digest: digestOf(document) };
}

const ENTRIES_IN_A_TURN = 250;

/** Moves between other ledger accounts do not concern the account's owner. */
const isShown = ({ debit, credit }: Posting): boolean =>
  [debit, credit].some((account) => account === 'available' || account === 'scheduled');

export function effectOn(account: LedgerAccount, { debit, credit, amount }: Posting): number {
  if (credit === account) return amount;
  return debit === account ? -amount : 0;
}

function lineOf(
  { entry, effectiveAt, type, rewardId, byClock, adjustment }: Posting,
  amount: number,
  balance: number,
) {
  const { eventId, position, recordedAt } = entry;
  const recorded = iso(recordedAt);
  return {
    eventId,
    position,
    recordedAt: recorded,
    effectiveAt: effectiveAt === recordedAt ? recorded : iso(effectiveAt),
    type,
    actor: byClock ? 'system:clock' : entry.actor,
    rewardId,
    /** The change of the balance; 0 for scheduled credit. */
    amount,
    balance,
    ...(adjustment && {
      reason: adjustment.reason.value,
      proposedBy: adjustment.by.value,
      approvedBy: adjustment.approvedBy.value,
    }),
  };
}

const iso = (time: number): string => new Date(time).toISOString();
