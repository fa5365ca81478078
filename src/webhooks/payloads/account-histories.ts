import { LRUCache } from 'lru-cache';
import type { EventCodec } from '../../event-log/codec.js';
import { LogWentBack, type EventLog, type RecordedEvent } from '../../event-log/event-log.js';
import { pages } from '../../event-log/event-pages.js';
import { Turns } from '../../foundation/turns.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import { AccountHistory } from './account-history.js';

/** Estimated memory of all histories that are kept. */
const KEPT_BYTES = 128 * 1024 * 1024;

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
 * The histories of accounts, kept up to a limit of memory, or one that is larger; each read
 * continues from what is kept. They hold no personal value but encrypted ones, so that an erasure
 * evicts none.
 */
export class AccountHistories {
  readonly #kept: LRUCache<string, AccountHistory>;
  /** The callers bound how many wait. */
  readonly #turns = new Turns();

  /** @param bytesMax of all that are kept together; a larger one is kept alone. */
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
   * Includes the newest event of the stream. It grows when others read it on: what is asked of it
   * is asked for a revision.
   * @throws {EventLogUnavailable} {UnreadableEvent}, when keys cannot be read.
   */
  upToDate(stream: string): Promise<AccountHistory> {
    return this.#turns.take(stream, () => this.readUpToDate(stream));
  }

  private async readUpToDate(stream: string): Promise<AccountHistory> {
    for (;;) {
      const history = this.#kept.get(stream) ?? new AccountHistory();
      this.#kept.delete(stream);
      try {
        await this.readOn(stream, history);
        this.#kept.set(stream, history);
        return history;
      } catch (error) {
        if (!(error instanceof LogWentBack)) throw error;
      }
    }
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
