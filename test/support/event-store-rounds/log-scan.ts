import { z } from 'zod';
import type { EventLog, Position, RecordedEvent } from '../../../src/event-log/event-log.js';

const PAGE = 1_000;

const storedMetadata = z.object({ command: z.string(), key: z.string().optional() });
/** The subjects of an event: a moderation names each of its referrals. */
const storedData = z.object({ rewardId: z.string().optional(), referralId: z.string().nullish() });

export interface ScanResult {
  /** The violated rules. */
  readonly faults: readonly string[];
  /** Streams with new events. */
  readonly streams: ReadonlySet<string>;
}

/**
 * Reads the log through its port from where it ended the last time, and checks the invariants:
 * positions rise, the revisions of a stream are dense, no event is recorded twice, and a command
 * with a key has one effect.
 */
export class LogScan {
  private position: Position | undefined;
  /** The newest revision of each stream. */
  private readonly revisions = new Map<string, bigint>();
  private readonly ids = new Set<string>();
  /** The effects of each command with a key, and the place of its last one. */
  private readonly effects = new Set<string>();
  private readonly lastOfCommand = new Map<string, bigint>();

  /** Number of events read so far. */
  get events(): number {
    return this.ids.size;
  }

  async advance(log: EventLog): Promise<ScanResult> {
    const faults: string[] = [];
    const streams = new Set<string>();
    for (;;) {
      const page = await log.readAll(this.position, PAGE);
      for (const event of page) {
        streams.add(event.stream);
        faults.push(...this.judge(log, event));
      }
      if (page.length < PAGE) return { faults, streams };
    }
  }

  private judge(log: EventLog, event: RecordedEvent): string[] {
    const { id, stream, revision, position } = event;
    const faults: string[] = [];
    if (log.compare(this.position, position) >= 0)
      faults.push(`position ${position} comes after ${this.position ?? 'nothing'}`);
    this.position = position;
    const expected = (this.revisions.get(stream) ?? -1n) + 1n;
    if (revision !== expected)
      faults.push(`revision ${revision} of a stream is where ${expected} should be`);
    this.revisions.set(stream, revision);
    if (this.ids.has(id)) faults.push(`the event ${id} stands twice`);
    this.ids.add(id);
    return [...faults, ...this.judgeEffect(event)];
  }

  /**
   * One command, one append: its events are adjacent, and no two of them are about the same
   * subject.
   */
  private judgeEffect({ stream, revision, type, data, metadata }: RecordedEvent): string[] {
    const { command, key } = storedMetadata.parse(JSON.parse(metadata));
    if (key === undefined) return [];
    const faults: string[] = [];
    const place = `${stream}/${command}`;
    const before = this.lastOfCommand.get(place);
    if (before !== undefined && revision !== before + 1n)
      faults.push(`a command with a key wrote twice to a stream, at ${before} and ${revision}`);
    this.lastOfCommand.set(place, revision);
    const { rewardId, referralId } = storedData.parse(JSON.parse(data));
    const effect = `${place}/${type}/${rewardId ?? ''}/${referralId ?? ''}`;
    if (this.effects.has(effect)) faults.push(`a command with a key had the effect ${type} twice`);
    this.effects.add(effect);
    return faults;
  }
}
