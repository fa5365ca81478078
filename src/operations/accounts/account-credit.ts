import { RollForwardSums, type RollForward } from '../../bookkeeping/roll-forward.js';
import {
  AccountPostings,
  POSTED_TYPES,
  type Entry,
  type LedgerAccount,
} from '../../bookkeeping/postings.js';
import { effectOn } from '../../bookkeeping/statement.js';
import type { AccountEventOf } from '../../domain/account/account.events.js';
import type { Decoded } from '../../event-log/codec.js';
import { countedAt } from '../../domain/fact.js';
import type { StreamEnd } from '../../event-log/event-log.js';
import { decodedIn, entryOf, type LogReads, POSTED } from '../ledger/ledger-entries.js';

/** Credit of a unit. */
export type ShownUnit = ReturnType<CreditFold['unitsAt']>[number];

interface CreditPoint {
  readonly at: number;
  readonly balance: number;
}

const POINTS_MAX = 400;
const CREDIT_TYPES: ReadonlySet<string> = new Set([...POSTED_TYPES, 'RewardWithheld']);
const WITHHELD_MAX = 50;

/**
 * The credit of one account, and the rewards that it did not get, by its events in order. Keeps no
 * value that identifies a person.
 */
export class CreditFold {
  /** The newest ones, the oldest first. */
  withheld: readonly AccountEventOf<'RewardWithheld'>[] = [];
  private readonly postings = new AccountPostings();
  private readonly sums = new RollForwardSums();
  private readonly points = new Map<string, CreditPoint[]>();

  add(decoded: Decoded): void {
    const { event } = decoded;
    if (event.type === 'RewardWithheld')
      this.withheld = [...this.withheld, event].slice(-WITHHELD_MAX);
    if (!POSTED.has(event.type)) return;
    const entry = withoutPeople(entryOf(decoded));
    this.post(this.postings.post(entry), countedAt(entry));
  }

  /** @param clock epoch milliseconds: dates up to here have passed. */
  unitsAt(clock: number) {
    this.post(this.postings.settle(clock), clock);
    const redeemed = this.postings.redeemed();
    return this.sums
      .result()
      .units.map((unit) => this.unit(unit, redeemed.get(unit.unit.toLowerCase()) ?? 0));
  }

  private post(postings: ReturnType<AccountPostings['post']>, at: number): void {
    for (const posting of postings) {
      const spelled = this.postings.units.get(posting.unitKey) ?? posting.unitKey;
      this.sums.addPosting(posting, spelled, true);
      const effect = effectOn('available', posting);
      if (effect === 0) continue;
      const points = this.points.get(posting.unitKey) ?? [];
      points.push({ at, balance: (points.at(-1)?.balance ?? 0) + effect });
      this.points.set(
        posting.unitKey,
        points.length < 2 * POINTS_MAX ? points : points.filter((_, index) => index % 2 === 1),
      );
    }
  }

  private unit({ unit, closing, scheduled, expired, trialBalance }: RollForward, redeemed: number) {
    const heldBy = (account: LedgerAccount): number => {
      const line = trialBalance.find(({ ledgerAccount }) => ledgerAccount === account);
      return line === undefined ? 0 : line.credit - line.debit;
    };
    const points = this.points.get(unit.toLowerCase()) ?? [];
    return {
      unit,
      /** As the API's `totalAssignedCredit`: neither cancelled, expired nor scheduled credit. */
      assigned: redeemed + closing,
      available: closing,
      pending: scheduled,
      /** As the API's `totalRedeemedCredit`: of people who are not forgotten. */
      redeemed,
      expired,
      // Not what moved there: some of it may have been restored, or was never available.
      cancelled: heldBy('cancelled') + heldBy('forfeited'),
      /** The available credit after each movement. */
      points: [...points],
    };
  }
}

/** Postings need neither the owner nor the operators of a correction. */
function withoutPeople(entry: Entry): Entry {
  const { event } = entry;
  const nameless =
    event.type === 'RewardGranted' ? { ...event, owner: { ...event.owner, value: null } } : event;
  return { ...entry, actor: '', event: withoutAdjustment(nameless) };
}

function withoutAdjustment(event: Entry['event']): Entry['event'] {
  if (!('adjustment' in event)) return event;
  const { adjustment: _, ...others } = event;
  return others;
}

/** Up to the event at the end. @throws {UnreadableEvent} */
export async function creditUpTo(
  core: LogReads,
  stream: string,
  { revision }: StreamEnd,
): Promise<CreditFold> {
  const fold = new CreditFold();
  const upTo = { limit: Number(revision) + 1 };
  for await (const decoded of decodedIn(core, stream, CREDIT_TYPES, upTo)) fold.add(decoded);
  return fold;
}
