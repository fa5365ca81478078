import type { Position } from '../event-log/event-log.js';
import { digestOf } from '../foundation/canonical-json.js';
import { AccountPostings, type Entry, type Posting, type PostingType } from './postings.js';

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
}

export interface StatementOf {
  readonly account: string;
  readonly position: Position | null;
  /** Of one account, in order, and no later than the statement. */
  readonly entries: readonly Entry[];
  /** Default: none. */
  readonly paid?: readonly PaidReward[];
  /** Earlier postings are in the opening; undefined: the opening is zero. Epoch milliseconds. */
  readonly from: number | undefined;
  /** Dates up to here have passed. Epoch milliseconds. */
  readonly clock: number;
  readonly unit: string | undefined;
}

/** Pure: the same input gives the same bytes. */
export function statementOf({
  account,
  position,
  entries,
  paid = [],
  from,
  clock,
  unit,
}: StatementOf): Statement {
  const postings = new AccountPostings();
  const isBefore = ({ recordedAt }: Entry): boolean => from !== undefined && recordedAt < from;
  for (const entry of entries) if (isBefore(entry)) postings.post(entry);
  if (from !== undefined) postings.settle(from - 1);
  const opening = postings.available();
  const lines = [
    ...entries.filter((entry) => !isBefore(entry)).flatMap((entry) => postings.post(entry)),
    ...postings.settle(clock),
  ];
  const wanted = unit?.toLowerCase();
  const units = [...postings.units]
    .filter(([key]) => wanted === undefined || key === wanted)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, spelled]) =>
      unitOf(
        spelled,
        opening.get(key) ?? 0,
        lines.filter(({ unitKey }) => unitKey === key),
      ),
    );
  const document = { account, position, units, ...(paid.length > 0 && { rewards: paid }) };
  return { ...document, digest: digestOf(document) };
}

function unitOf(unit: string, opening: number, postings: readonly Posting[]): StatementUnit {
  let balance = opening;
  const lines = postings.filter(isShown).map((posting): StatementLine => {
    const amount = effectOnAvailable(posting);
    balance += amount;
    return lineOf(posting, amount, balance);
  });
  return { unit, opening, closing: balance, lines };
}

/** Moves between the other ledger accounts do not concern the account's owner. */
const isShown = ({ debit, credit }: Posting): boolean =>
  [debit, credit].some((account) => account === 'available' || account === 'scheduled');

export function effectOnAvailable({ debit, credit, amount }: Posting): number {
  if (credit === 'available') return amount;
  return debit === 'available' ? -amount : 0;
}

function lineOf(
  { entry, effectiveAt, type, rewardId, byClock, adjustment }: Posting,
  amount: number,
  balance: number,
): StatementLine {
  const { eventId, position, recordedAt } = entry;
  return {
    eventId,
    position,
    recordedAt: iso(recordedAt),
    effectiveAt: iso(effectiveAt),
    type,
    actor: byClock
      ? 'system:clock'
      : adjustment
        ? `operator:${adjustment.by.value ?? 'anonymous'}`
        : entry.actor,
    rewardId,
    amount,
    balance,
  };
}

const iso = (time: number): string => new Date(time).toISOString();
