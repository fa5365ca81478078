import { isKnown } from '../event-log/known-events.js';
import { describeFailure } from './describe-failure.js';
import { takeUp, type TakeUpParts } from './take-up.js';

export interface RetriesParts extends TakeUpParts {
  /** Whether this release knows events of that type and version. Left out: what its schemas say. */
  readonly isKnown?: ((type: string, version: number | null) => boolean) | undefined;
}

const BATCH = 32;
const AT_ONCE = 8;

/** Tries again what stands still. Any number of processes may do so at once. */
export class Retries {
  private running: Promise<void> | undefined;

  constructor(private readonly parts: RetriesParts) {}

  /**
   * All whose time has come; a batch of which nothing could be taken up ends it. Callers that come
   * meanwhile share it.
   */
  due(signal: AbortSignal): Promise<void> {
    this.running ??= this.batches(signal, () => this.parts.parked.dueStreams(BATCH)).finally(
      () => (this.running = undefined),
    );
    return this.running;
  }

  /**
   * What is held back and this release can read, for a process that does not lead: the one that
   * leads may be of an older release.
   */
  async readable(signal: AbortSignal): Promise<void> {
    const knows = this.parts.isKnown ?? isKnown;
    const known = (await this.parts.parked.unknownEvents()).filter(({ type, version }) =>
      knows(type, version),
    );
    if (known.length > 0)
      await this.batches(signal, () => this.parts.parked.heldBackBy(known, BATCH));
  }

  /** These, one try each. */
  async streams(streams: readonly string[], signal: AbortSignal): Promise<number> {
    const waiting = [...streams];
    let released = 0;
    const work = async (): Promise<void> => {
      for (
        let stream = waiting.shift();
        stream !== undefined && !signal.aborted;
        stream = waiting.shift()
      ) {
        if (await this.isReleased(stream, signal)) released += 1;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return released;
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
      await takeUp(this.parts, stream, signal);
    } catch (error) {
      await parked.postpone(await parked.ofStream(stream), describeFailure(error));
    }
    return (await parked.ofStream(stream)).length === 0;
  }
}
