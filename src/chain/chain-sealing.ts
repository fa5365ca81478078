import type { EventLog, RecordedEvent } from '../event-log/event-log.js';
import { CHAIN_START, markOf, nextLink, type ChainLink } from './chain-link.js';
import type { ChainNames } from './chain-names.js';
import {
  sealText,
  type ChainCheckpoint,
  type ChainSeal,
  type SealedEvents,
  type SealStore,
  type SealStores,
} from './chain-seals.js';
import type { ChainSigner } from './chain-signer.js';
import {
  isLogSealed,
  LOG_START,
  nextLogLink,
  sealLog,
  type LogLink,
  type SealingStop,
} from './log-seal.js';

export interface ChainSealingOptions {
  readonly seals: SealStores;
  readonly log: EventLog;
  readonly chains: ChainNames;
  readonly signer: ChainSigner;
  /** Events of the log per set of seals. */
  readonly batchMax?: number;
}

export interface SealedBatch {
  /** Newly sealed events; 0: none were left, or another process sealed them. */
  readonly events: number;
  readonly checkpoint: ChainCheckpoint;
  /** Skipped chains: this installation did not sign their newest seal. */
  readonly broken: readonly string[];
  /** Null: no obstacle. */
  readonly stopped: SealingStop | null;
}

/** Hashing a batch blocks the process for some milliseconds. */
const BATCH_MAX = 1_000;

/**
 * Seals new events in log order, chain by chain. Several processes may do so concurrently: a batch
 * is written only if the checkpoint that it started from has not moved.
 * Skips a chain whose newest seal was not signed here: a new seal would sign content of unknown
 * origin.
 */
export class ChainSealing {
  constructor(private readonly options: ChainSealingOptions) {}

  /** Seals the next batch. @throws {EventLogUnavailable} and the database's errors. */
  async sealNext(): Promise<SealedBatch> {
    const { log, batchMax = BATCH_MAX } = this.options;
    const seals = this.options.seals(await log.id());
    const checkpoint = await seals.checkpoint();
    const before = await this.logLinkAt(seals, checkpoint);
    if (typeof before === 'string') return { events: 0, checkpoint, broken: [], stopped: before };
    const events = await log.readAll(checkpoint.position, batchMax);
    const last = events.at(-1);
    if (last === undefined) return { events: 0, checkpoint, broken: [], stopped: null };
    const { made, broken } = await this.sealsOver(seals, events);
    const after = sealLog(this.options.signer, seals.logId, events.reduce(nextLogLink, before));
    if (!(await seals.add(checkpoint, after, made))) return this.nothing(seals, broken);
    const moved = {
      position: last.position,
      events: after.events,
      version: checkpoint.version + 1n,
    };
    return { events: events.length, checkpoint: moved, broken, stopped: null };
  }

  /** The seal of the whole log at the checkpoint, or the reason why it must not be continued. */
  private async logLinkAt(
    seals: SealStore,
    checkpoint: ChainCheckpoint,
  ): Promise<LogLink | SealingStop> {
    const { log, signer, batchMax = BATCH_MAX } = this.options;
    const seal = await seals.logSeal();
    if (seal === undefined)
      return (await log.head()) === undefined && checkpoint.position === undefined
        ? this.begun(seals)
        : 'seal-removed';
    if (!isLogSealed(signer, seals.logId, seal)) return 'seal-signature';
    if (await seals.isLossOpen()) return 'lost';
    if (
      seal.position !== null &&
      !(await log.holds({ position: seal.position, eventId: seal.eventId ?? '' }))
    )
      return 'removed';
    if (seal.events > checkpoint.events)
      return (await seals.checkpoint()).version === checkpoint.version ? 'seal-signature' : seal;
    let link: LogLink = seal;
    // A release without seals of the whole log has sealed chains meanwhile.
    while (link.events < checkpoint.events) {
      const events = await log.readAll(
        link.position ?? undefined,
        Math.min(batchMax, checkpoint.events - link.events),
      );
      if (events.length === 0) return 'removed';
      link = events.reduce(nextLogLink, link);
    }
    return link;
  }

  private async begun(seals: SealStore): Promise<LogLink> {
    await seals.begin(this.options.signer);
    return LOG_START;
  }

  /** Seals up to the current head. @param onProgress gets the number of sealed events. */
  async sealToHead({
    signal,
    onProgress,
  }: {
    signal?: AbortSignal | undefined;
    onProgress?: (events: number) => void;
  } = {}): Promise<SealedBatch> {
    const { log } = this.options;
    const head = await log.head();
    const broken = new Set<string>();
    for (let sealed = 0; ;) {
      const batch = await this.sealNext();
      sealed += batch.events;
      for (const chain of batch.broken) broken.add(chain);
      onProgress?.(batch.checkpoint.events);
      if (batch.stopped !== null) return { ...batch, events: sealed, broken: [...broken] };
      const isAtEnd =
        batch.events === 0 && (await log.readAll(batch.checkpoint.position, 1)).length === 0;
      if (isAtEnd || signal?.aborted || log.compare(batch.checkpoint.position, head) >= 0)
        return { events: sealed, checkpoint: batch.checkpoint, broken: [...broken], stopped: null };
    }
  }

  private async nothing(seals: SealStore, broken: readonly string[]): Promise<SealedBatch> {
    return { events: 0, checkpoint: await seals.checkpoint(), broken, stopped: null };
  }

  private async sealsOver(
    seals: SealStore,
    events: readonly RecordedEvent[],
  ): Promise<{
    readonly made: readonly (ChainSeal & SealedEvents)[];
    readonly broken: readonly string[];
  }> {
    const { chains, signer } = this.options;
    const parts = new Map<string, RecordedEvent[]>();
    for (const event of events) {
      for (const chain of chains.ofStream(event.stream)) {
        const part = parts.get(chain) ?? [];
        parts.set(chain, part);
        part.push(event);
      }
    }
    const newest = new Map(
      (await seals.newest([...parts.keys()])).map((seal) => [seal.chain, seal]),
    );
    const broken = [...newest.values()]
      .filter((seal) => !signer.isSigned(sealText(seals.logId, seal), seal.signature))
      .map(({ chain }) => chain);
    const made = [...parts]
      .filter(([chain]) => !broken.includes(chain))
      .map(([chain, part]) =>
        this.seal(seals.logId, chain, newest.get(chain) ?? CHAIN_START, part),
      );
    return { made, broken };
  }

  private seal(
    logId: string,
    chain: string,
    before: ChainLink,
    part: readonly RecordedEvent[],
  ): ChainSeal & SealedEvents {
    let link = before;
    const marks = part.map((event) => markOf((link = nextLink(link, event))));
    const seal = { ...link, chain, position: link.position ?? '' };
    return {
      ...seal,
      signature: this.options.signer.sign(sealText(logId, seal)),
      ids: part.map(({ id }) => id),
      positions: part.map(({ position }) => position),
      marks,
    };
  }
}
