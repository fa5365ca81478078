import { createHash } from 'node:crypto';
import type { EventLog, Position, RecordedEvent } from '../../event-log/event-log.js';
import { firstPosition } from '../../event-log/first-recorded.js';
import { headOf, LogReader, type Patience } from './log-reader.js';

export interface ComparisonOptions extends Patience {
  /** The last event of the source that is compared; null: the source is empty. */
  readonly upTo: Position | null;
  /** A position of the source to translate into one of the target. */
  readonly translate: Position | null;
  readonly onProgress?: (events: number) => void;
}

/**
 * Reads both logs again from the start and compares a digest of each stream over the bytes that
 * each store returns. Memory: a name and two digests for each stream. @throws {Stopped} @throws
 * {EventLogUnavailable}
 */
export async function compareLogs(source: EventLog, target: EventLog, options: ComparisonOptions) {
  const { upTo, translate, onProgress } = options;
  const left = new LogReader(source, options, upTo);
  const right = new LogReader(target, options, await headOf(target, options));
  const [ours, theirs] = [new LogDigests(), new LogDigests()];
  let translated: Position | null = null;
  let targetHead: Position | null = null;
  let otherOrigins = 0;
  for (;;) {
    const [expected, found] = await Promise.all([left.ahead(), right.ahead()]);
    const count =
      Math.min(expected.length, found.length) || Math.max(expected.length, found.length);
    if (count === 0) break;
    for (let index = 0; index < count; index++) {
      const [event, copy] = [expected[index], found[index]];
      if (event) ours.add(event);
      if (copy) theirs.add(copy);
      if (event && copy && !isSameOrigin(event, copy)) otherOrigins += 1;
      if (translate !== null && event?.position === translate) translated = copy?.position ?? null;
    }
    targetHead = found[Math.min(count, found.length) - 1]?.position ?? targetHead;
    if (expected.length > 0) left.take(count);
    if (found.length > 0) right.take(count);
    onProgress?.(left.count);
  }
  const digest = ours.digest();
  const isSame = digest === theirs.digest();
  const differences = isSame ? [] : ours.differences(theirs);
  return {
    events: left.count,
    streams: ours.streams,
    /** SHA-256 over the events of the source in order, without recording times and positions. */
    digest,
    /** Names of streams whose digests differ, or that one side lacks. */
    differences,
    /** False although no stream differs: the logs hold the same streams in another order. */
    isOrderSame: isSame || differences.length > 0,
    /** Events with other original times or positions: a log was copied by an earlier release. */
    otherOrigins,
    targetHead,
    /** The position in the target of the event of `translate`; null: the target has none. */
    translated,
  };
}

const isSameOrigin = (a: RecordedEvent, b: RecordedEvent): boolean =>
  a.recordedAt === b.recordedAt && firstPosition(a) === firstPosition(b);

/** One digest of the log in its order, and one of each stream. */
class LogDigests {
  private readonly whole = createHash('sha256');
  private readonly chains = new Map<string, string>();

  add({ stream, id, revision, type, data, metadata }: RecordedEvent): void {
    const head = JSON.stringify([stream, id, String(revision), type, Buffer.byteLength(data)]);
    // A binary string takes a fifth of the memory of a buffer, and every stream has one.
    const event = createHash('sha256')
      .update(this.chains.get(stream) ?? '', 'binary')
      .update(head)
      .update(data)
      .update(metadata)
      .digest('binary');
    this.chains.set(stream, event);
    this.whole.update(event, 'binary');
  }

  get streams(): number {
    return this.chains.size;
  }

  digest(): string {
    return this.whole.digest('hex');
  }

  differences(other: LogDigests): readonly string[] {
    const names = new Set([...this.chains.keys(), ...other.chains.keys()]);
    return [...names].filter((name) => this.chains.get(name) !== other.chains.get(name)).sort();
  }
}
