import { LRUCache } from 'lru-cache';
import { RollForwardSums, type RollForward } from '../../bookkeeping/roll-forward.js';
import {
  AccountPostings,
  POSTED_TYPES,
  type Entry,
  type LedgerAccount,
} from '../../bookkeeping/postings.js';
import { effectOn } from '../../bookkeeping/statement.js';
import type { Decoded } from '../../event-log/codec.js';
import { LogWentBack, type StreamEnd } from '../../event-log/event-log.js';
import { pages } from '../../event-log/event-pages.js';
import { Turns } from '../../foundation/turns.js';
import { decodeTypes, entryOf, type LogReads } from '../ledger/ledger-entries.js';

/** Credit of a unit. */
export type ShownUnit = ReturnType<CreditFold['unitsAt']>[number];

interface CreditPoint {
  readonly at: number;
  readonly balance: number;
}

const POINTS_MAX = 400;
const CREDIT_TYPES: ReadonlySet<string> = new Set(POSTED_TYPES);

/** The credit of one account, by its events in order. Keeps no value that identifies a person. */
export class CreditFold {
  private readonly postings = new AccountPostings();
  private readonly sums = new RollForwardSums();
  private readonly points = new Map<string, CreditPoint[]>();
  private settledAt = -Infinity;
  private rewardCount = 0;

  /** Number of rewards that it keeps. */
  get rewards(): number {
    return this.rewardCount;
  }

  /** @returns false: the event is of a time that was settled, and the fold begins anew. */
  add(decoded: Decoded): boolean {
    if (!CREDIT_TYPES.has(decoded.event.type)) return true;
    const entry = withoutPeople(entryOf(decoded));
    if (entry.event.at <= this.settledAt) return false;
    if (entry.event.type === 'RewardGranted') this.rewardCount += 1;
    this.post(this.postings.post(entry), entry.recordedAt);
    return true;
  }

  /** @param clock epoch milliseconds: dates up to here have passed. */
  unitsAt(clock: number) {
    this.settledAt = Math.max(this.settledAt, clock);
    this.post(this.postings.settle(clock), clock);
    return this.sums.result().units.map((unit) => this.unit(unit));
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

  private unit({ unit, closing, scheduled, redeemed, expired, trialBalance }: RollForward) {
    const heldBy = (account: LedgerAccount): number => {
      const line = trialBalance.find(({ ledgerAccount }) => ledgerAccount === account);
      return line === undefined ? 0 : line.credit - line.debit;
    };
    const points = this.points.get(unit.toLowerCase()) ?? [];
    return {
      unit,
      // Of nothing 0, and not the negative zero of a minus alone.
      assigned: 0 - heldBy('programme'),
      available: closing,
      pending: scheduled,
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

interface Remembered {
  readonly fold: CreditFold;
  readonly end: StreamEnd;
}

/** By estimate. */
const HEAP_PER_REWARD = 1_500;
const HEAP_PER_ACCOUNT = 64 * 1024;

/**
 * The credit of the accounts that operators looked at, so that a further look reads what was
 * recorded since. Full, it forgets those that were not looked at for longest.
 */
export class RememberedCredit {
  private readonly remembered: LRUCache<string, Remembered>;
  private readonly turns = new Turns();

  /** @param bytesMax a larger account is not remembered. */
  constructor(bytesMax = 256 * 1024 * 1024) {
    this.remembered = new LRUCache({
      maxSize: bytesMax,
      sizeCalculation: ({ fold }) => HEAP_PER_ACCOUNT + HEAP_PER_REWARD * fold.rewards,
    });
  }

  /**
   * @param end the newest event that counts.
   * @param clock dates up to here have passed.
   * @throws {UnreadableEvent}
   */
  unitsAt(
    core: LogReads,
    stream: string,
    end: StreamEnd,
    clock: number,
  ): Promise<readonly ShownUnit[]> {
    return this.turns.take(stream, async () =>
      (await this.foldUpTo(core, stream, end)).unitsAt(clock),
    );
  }

  private async foldUpTo(core: LogReads, stream: string, end: StreamEnd): Promise<CreditFold> {
    const before = this.remembered.get(stream);
    this.remembered.delete(stream);
    const isOfThisLog = before?.end.epoch === end.epoch && before.end.revision <= end.revision;
    const fold =
      (isOfThisLog ? await folded(core, stream, end, before) : undefined) ??
      (await folded(core, stream, end, undefined));
    if (fold === undefined) throw new Error('a new fold takes every event');
    this.remembered.set(stream, { fold, end });
    return fold;
  }
}

/** Undefined: what was remembered no longer fits. */
async function folded(
  { log, codec }: LogReads,
  stream: string,
  end: StreamEnd,
  before: Remembered | undefined,
): Promise<CreditFold | undefined> {
  const fold = before?.fold ?? new CreditFold();
  const limit = Number(end.revision - (before?.end.revision ?? -1n));
  if (limit === 0) return fold;
  try {
    for await (const page of pages(log.readStream(stream, { end: before?.end, limit })))
      for (const decoded of await decodeTypes(codec, page, CREDIT_TYPES))
        if (!fold.add(decoded)) return undefined;
    return fold;
  } catch (error) {
    if (before !== undefined && error instanceof LogWentBack) return undefined;
    throw error;
  }
}
