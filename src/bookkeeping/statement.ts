import type { Position } from '../event-log/event-log.js';
import { digestOf } from '../foundation/canonical-json.js';
import { PeriodPostings } from './period-postings.js';
import { type Entry, type LedgerAccount, type Posting, type PostingType } from './postings.js';

/**
 * An account's credit in each unit and its movements. Times are ISO 8601; amounts are integers in
 * the unit.
 */
export interface Statement {
  readonly account: string;
  /** The newest position included; null: the log has no event of the account. */
  readonly position: Position | null;
  readonly units: readonly StatementUnit[];
  /** What the payment provider has paid, oldest first. Absent: nothing. */
  readonly rewards?: readonly PaidReward[];
  /** SHA-256 of the rest of the document in canonical JSON, hex. */
  readonly digest: string;
}

/** A reward that the payment provider has paid. */
export interface PaidReward {
  readonly rewardId: string;
  readonly paidAt: string;
  /** Its id of the payment or the discount; null: forgotten. */
  readonly externalReference: string | null;
}

/**
 * `opening` and `closing` are the available credit: assigned less redeemed of available rewards.
 */
export interface StatementUnit {
  readonly unit: string;
  readonly opening: number;
  readonly closing: number;
  readonly lines: readonly StatementLine[];
}

export interface StatementLine {
  readonly eventId: string;
  readonly position: Position;
  readonly recordedAt: string;
  readonly effectiveAt: string;
  readonly type: PostingType;
  readonly actor: string;
  readonly rewardId: string;
  /** The change of the balance; 0 for scheduled credit. */
  readonly amount: number;
  readonly balance: number;
  /** Of a correction; null: forgotten. */
  readonly reason?: string | null;
  readonly proposedBy?: string | null;
  readonly approvedBy?: string | null;
}

export interface StatementOf {
  readonly account: string;
  readonly position: Position | null;
  /** Of one account, in the order of the log. */
  readonly entries: readonly Entry[];
  /** Default: none. */
  readonly paid?: readonly PaidReward[];
  /** Earlier postings are in the opening; undefined: the opening is zero. Epoch milliseconds. */
  readonly from: number | undefined;
  /** Later entries do not count; undefined: all do. Epoch milliseconds. */
  readonly until?: number | undefined;
  /** Dates up to here have passed. Epoch milliseconds. */
  readonly clock: number;
  readonly unit: string | undefined;
}

/**
 * Pure: the same input gives the same bytes.
 * @param turn lets other work go on: the lines of a long account take long.
 */
export async function statementOf(
  { account, position, entries, paid = [], from, until, clock, unit }: StatementOf,
  turn: () => Promise<void> = async () => undefined,
): Promise<Statement> {
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
  for (const some of inParts(entries)) {
    for (const entry of some) period.post(entry);
    await turn();
  }
  period.end();
  const { postings } = period;
  const shown = new StatementLines(opening);
  for (const some of inParts(within)) {
    for (const posting of some) shown.add(posting);
    await turn();
  }
  const units = [...postings.units]
    .filter(([key]) => wanted === undefined || key === wanted)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, spelled]) => shown.unit(key, spelled));
  const document = { account, position, units, ...(paid.length > 0 && { rewards: paid }) };
  return { ...document, digest: digestOf(document) };
}

const ENTRIES_IN_A_TURN = 250;

function* inParts<T>(entries: readonly T[]): Iterable<readonly T[]> {
  for (let at = 0; at < entries.length; at += ENTRIES_IN_A_TURN)
    yield entries.slice(at, at + ENTRIES_IN_A_TURN);
}

/** Lines of each unit, each with the balance behind it. */
class StatementLines {
  private readonly lines = new Map<string, StatementLine[]>();
  private readonly balances: Map<string, number>;

  /** @param opening the balances before the first line, by unit in lower case. */
  constructor(private readonly opening: ReadonlyMap<string, number>) {
    this.balances = new Map(opening);
  }

  add(posting: Posting): void {
    if (!isShown(posting)) return;
    const { unitKey: key } = posting;
    const amount = effectOn('available', posting);
    const balance = (this.balances.get(key) ?? 0) + amount;
    this.balances.set(key, balance);
    const line = lineOf(posting, amount, balance);
    const lines = this.lines.get(key);
    if (lines === undefined) this.lines.set(key, [line]);
    else lines.push(line);
  }

  unit(key: string, spelled: string): StatementUnit {
    const lines = this.lines.get(key) ?? [];
    const [opening, closing] = [this.opening.get(key) ?? 0, this.balances.get(key) ?? 0];
    return { unit: spelled, opening, closing, lines };
  }
}

/** Moves between the other ledger accounts do not concern the account's owner. */
const isShown = ({ debit, credit }: Posting): boolean => isOwners(debit) || isOwners(credit);

const isOwners = (account: LedgerAccount): boolean =>
  account === 'available' || account === 'scheduled';

export function effectOn(account: LedgerAccount, { debit, credit, amount }: Posting): number {
  if (credit === account) return amount;
  return debit === account ? -amount : 0;
}

function lineOf(
  { entry, effectiveAt, type, rewardId, byClock, adjustment }: Posting,
  amount: number,
  balance: number,
): StatementLine {
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
