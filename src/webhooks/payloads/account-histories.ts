import { LRUCache } from 'lru-cache';
import { EventCodec } from '../../event-log/codec.js';
import { LogWentBack, type EventLog, type RecordedEvent } from '../../event-log/event-log.js';
import { pages } from '../../event-log/event-pages.js';
import { KeyedQueue } from '../../foundation/keyed-queue.js';
import type { SubjectId } from '../../domain/personal.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import type { SubjectKeys } from '../../privacy/subject-keys.js';
import { AccountHistory } from './account-history.js';

/** Estimated memory of all cached histories. */
const KEPT_BYTES = 128 * 1024 * 1024;

/** Skips `UserEventReceived`: these events are large, and no payload shows them. */
const isRelevant = ({ type }: RecordedEvent): boolean => type !== 'UserEventReceived';
const hasCode = ({ type }: RecordedEvent): boolean => type === 'ReferralCodeAssigned';

export interface HistoryParts {
  readonly log: Pick<EventLog, 'readStream' | 'epoch'>;
  readonly codec: EventCodec;
  /** See `maskedCodec`. */
  readonly masked: EventCodec;
  readonly names: Pick<KeyedNames, 'digest'>;
}

/**
 * Caches the histories of accounts; each read continues from the cached end. They hold personal
 * values only encrypted, so an erasure evicts none.
 */
export class AccountHistories {
  readonly #kept: LRUCache<string, AccountHistory>;
  /** Callers bound the number of waiting reads. */
  readonly #turns = new KeyedQueue();

  /** @param bytesMax of all cached histories; a larger one is cached alone. */
  constructor(
    private readonly parts: HistoryParts,
    bytesMax = KEPT_BYTES,
  ) {
    this.#kept = new LRUCache({
      maxSize: bytesMax,
      sizeCalculation: ({ bytes }) => Math.min(Math.ceil(bytes), bytesMax),
    });
  }

  /**
   * Includes the newest event of the stream. Later reads extend the same object, so its methods
   * take a revision.
   * @throws {EventLogUnavailable} {UnreadableEvent}, when keys cannot be read.
   */
  upToDate(stream: string): Promise<AccountHistory> {
    return this.#turns.run(stream, () => this.readUpToDate(stream));
  }

  private async readUpToDate(stream: string): Promise<AccountHistory> {
    for (;;) {
      const history = this.#kept.get(stream) ?? new AccountHistory();
      this.#kept.delete(stream);
      try {
        await this.readNewEvents(stream, history);
        this.#kept.set(stream, history);
        return history;
      } catch (error) {
        if (!(error instanceof LogWentBack)) throw error;
      }
    }
  }

  /** The keyed digest of a code within a history. */
  digestOf(code: string): string {
    return this.parts.names.digest('code of a history', code.toLowerCase());
  }

  /** @throws {LogWentBack} when the log lost events that were read. */
  private async readNewEvents(stream: string, history: AccountHistory): Promise<void> {
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
    const { codec, masked } = this.parts;
    const decoded = await masked.decodeAll(page.filter(isRelevant));
    for (const { event, recorded } of await codec.decodeAll(page.filter(hasCode))) {
      if (event.type === 'ReferralCodeAssigned' && event.code.value !== null)
        history.recordCode(event.person, this.digestOf(event.code.value), recorded.revision);
    }
    for (const one of decoded) history.record(one);
    history.store(page);
    const last = page.at(-1);
    if (last !== undefined) history.setEnd(last, epoch);
  }
}

/**
 * Decodes events with null in place of personal values, without reading keys, so that the results
 * may be cached. On an erasure it evicts the people's keys from the cache `keys`, because the
 * notification about the erasure may arrive later.
 */
export function maskedCodec(keys: Pick<SubjectKeys, 'forget'>): EventCodec {
  const none = new Map<SubjectId, Buffer | null>();
  return new EventCodec({
    load: () => Promise.resolve(none),
    loadOrCreate: () => Promise.resolve(none),
    destroy: () => Promise.resolve(),
    forget: (subjects) => keys.forget(subjects),
  });
}
