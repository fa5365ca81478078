import pLimit from 'p-limit';
import { isKnown } from '../event-log/known-events.js';
import { describeFailure } from './describe-failure.js';
import { retryStream, type RetryParts } from './retry-stream.js';

export interface RetriesParts extends RetryParts {
  /** Whether this release can read events of that type and version. Default: by its schemas. */
  readonly isKnown?: ((type: string, version: number | null) => boolean) | undefined;
}

const BATCH = 32;
const AT_ONCE = 8;

/** Retries parked reactions. Safe in any number of processes concurrently. */
export class Retries {
  private running: Promise<void> | undefined;

  constructor(private readonly parts: RetriesParts) {}

  /** Retries all that are due; a batch without any success ends it. Concurrent callers share it. */
  due(signal: AbortSignal): Promise<void> {
    this.running ??= this.batches(signal, () => this.parts.parked.dueStreams(BATCH)).finally(
      () => (this.running = undefined),
    );
    return this.running;
  }

  /** In a process that does not lead: the leader may be of an older release. */
  async readable(signal: AbortSignal): Promise<void> {
    const knows = this.parts.isKnown ?? isKnown;
    const known = (await this.parts.parked.unknownEvents()).filter(({ type, version }) =>
      knows(type, version),
    );
    if (known.length > 0)
      await this.batches(signal, () => this.parts.parked.heldBackBy(known, BATCH));
  }

  /** One try each. */
  async streams(streams: readonly string[], signal: AbortSignal): Promise<number> {
    const limit = pLimit(AT_ONCE);
    const released = await limit.map(
      streams,
      async (stream) => !signal.aborted && this.isReleased(stream, signal),
    );
    return released.filter(Boolean).length;
  }

  private async batches(
    signal: AbortSignal,
    next: () => Promise<readonly string[]>,
  ): Promise<void> {
    for (let released = 1; released > 0 && !signal.aborted;)
      released = await this.streams(await next(), signal);
  }

  private async isReleased(stream: string, signal: AbortSignal): Promise<boolean> {
    const { parked } = this.parts;
    try {
      await retryStream(this.parts, stream, signal);
    } catch (error) {
      await parked.postpone(await parked.ofStream(stream), describeFailure(error));
    }
    return (await parked.ofStream(stream)).length === 0;
  }
}
