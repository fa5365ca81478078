import { LRUCache } from 'lru-cache';
import type { EventCodec } from '../../event-log/codec.js';
import { LogWentBack, type EventLog, type RecordedEvent } from '../../event-log/event-log.js';
import { pages } from '../../event-log/event-pages.js';
import { Turns } from '../../foundation/turns.js';
import { after, elapsed } from '../../foundation/world.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import { AccountHistory } from './account-history.js';

/** Estimated memory of all histories that are kept. */
const KEPT_BYTES = 128 * 1024 * 1024;

/** Of the accounts whose histories were too large. */
const LARGE_NAMES_MAX = 10_000;
/** A large history that nobody needed for so long goes. */
const LARGE_UNUSED_MS = 60_000;
/** It stays for as long as it took to read, and at least for so long. */
const LARGE_KEPT_MIN_MS = 1_000;
/** Another one is being read, which may take any time. */
const LARGE_READING_MS = 5_000;

/** The only history that may be larger than the limit. */
interface LargeHistory {
  readonly stream: string;
  /** Undefined: it is being read. */
  readonly history: AccountHistory | undefined;
  /** Until then no other replaces it, on the clock that never goes back. */
  readonly until: number;
  readonly forget: () => void;
}

/** There is no memory for this history for now. */
export class HistoryMustWait extends Error {
  override readonly name = 'HistoryMustWait';
  constructor(readonly forMs: number) {
    super('another large account is being told about');
  }
}

/** Large, and nothing that a payload shows. */
const isNeeded = ({ type }: RecordedEvent): boolean => type !== 'UserEventReceived';
const isOfCode = ({ type }: RecordedEvent): boolean => type === 'ReferralCodeAssigned';

export interface HistoryParts {
  readonly log: Pick<EventLog, 'readStream' | 'epoch'>;
  readonly codec: EventCodec;
  /** See `namelessCodec`. */
  readonly nameless: EventCodec;
  readonly names: Pick<KeyedNames, 'digest'>;
}

/**
 * The histories of accounts, kept up to a limit of memory; each read goes on from what is kept. One
 * larger history is kept besides: to read it anew for each payload would take seconds each time,
 * and longer than a claim lasts. They hold no personal value but encrypted ones, so nobody has to
 * evict them.
 */
export class AccountHistories {
  readonly #kept: LRUCache<string, AccountHistory>;
  /** The callers bound how many wait. */
  readonly #turns = new Turns();
  readonly #largeNames = new LRUCache<string, true>({ max: LARGE_NAMES_MAX });
  #large: LargeHistory | undefined;

  /** @param bytesMax of all that are kept together; of larger ones one is kept. */
  constructor(
    private readonly parts: HistoryParts,
    private readonly bytesMax = KEPT_BYTES,
  ) {
    this.#kept = new LRUCache({
      maxSize: bytesMax,
      maxEntrySize: bytesMax,
      sizeCalculation: ({ bytes }) => Math.ceil(bytes),
    });
  }

  /**
   * Includes the newest event of the stream. It grows when others read it on: what is asked of it
   * is asked for a revision.
   * @throws {EventLogUnavailable} {UnreadableEvent} {HistoryMustWait}, when keys cannot be read.
   */
  upToDate(stream: string): Promise<AccountHistory> {
    return this.#turns.take(stream, () => this.readUpToDate(stream));
  }

  private async readUpToDate(stream: string): Promise<AccountHistory> {
    for (;;) {
      const history = this.take(stream);
      const began = elapsed();
      try {
        await this.readOn(stream, history);
        this.keep(stream, history, elapsed() - began);
        return history;
      } catch (error) {
        if (this.#large?.stream === stream) this.#large = undefined;
        if (!(error instanceof LogWentBack)) throw error;
      }
    }
  }

  /** What is kept of it: while it is read on, nobody else has it. @throws {HistoryMustWait} */
  private take(stream: string): AccountHistory {
    const kept = this.#kept.get(stream);
    this.#kept.delete(stream);
    if (kept !== undefined || !this.#largeNames.has(stream)) return kept ?? new AccountHistory();
    const large = this.#large;
    const isKept = large?.stream === stream;
    if (large !== undefined && !isKept) {
      if (large.history === undefined) throw new HistoryMustWait(LARGE_READING_MS);
      if (elapsed() < large.until) throw new HistoryMustWait(large.until - elapsed());
    }
    large?.forget();
    const until = isKept ? large.until : Infinity;
    this.#large = { stream, history: undefined, until, forget: () => undefined };
    return (isKept ? large.history : undefined) ?? new AccountHistory();
  }

  private keep(stream: string, history: AccountHistory, tookMs: number): void {
    const large = this.#large?.stream === stream ? this.#large : undefined;
    if (history.bytes <= this.bytesMax) {
      if (large !== undefined) this.#large = undefined;
      this.#largeNames.delete(stream);
      this.#kept.set(stream, history);
      return;
    }
    this.#largeNames.set(stream, true);
    // It was not known to be a large one, and its place is taken.
    if (large === undefined && this.#large !== undefined) return;
    const until =
      large !== undefined && large.until < Infinity
        ? large.until
        : elapsed() + Math.max(tookMs, LARGE_KEPT_MIN_MS);
    const forget = after(
      LARGE_UNUSED_MS,
      () => {
        if (this.#large?.history === history) this.#large = undefined;
      },
      { keepsProcess: false },
    );
    this.#large = { stream, history, until, forget };
  }

  /** The keyed digest under which a history has a code. */
  digestOf(code: string): string {
    return this.parts.names.digest('code of a history', code.toLowerCase());
  }

  /** @throws {LogWentBack} when the log lost what was read before. */
  private async readOn(stream: string, history: AccountHistory): Promise<void> {
    const { log } = this.parts;
    const { epoch } = log;
    if (history.end !== undefined && history.end.epoch !== epoch) throw new LogWentBack();
    for await (const page of pages(log.readStream(stream, { end: history.end })))
      await this.record(page, history, epoch);
    if (log.epoch !== epoch) throw new LogWentBack();
  }

  private async record(
    page: readonly RecordedEvent[],
    history: AccountHistory,
    epoch: number,
  ): Promise<void> {
    const { codec, nameless } = this.parts;
    const decoded = await nameless.decodeAll(page.filter(isNeeded));
    for (const { event, recorded } of await codec.decodeAll(page.filter(isOfCode))) {
      if (event.type === 'ReferralCodeAssigned' && event.code.value !== null)
        history.recordCode(event.person, this.digestOf(event.code.value), recorded.revision);
    }
    for (const one of decoded) history.record(one);
    history.store(page);
    const last = page.at(-1);
    if (last !== undefined) history.skipTo(last, epoch);
  }
}
