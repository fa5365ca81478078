import { pause } from '../foundation/pause.js';

/** Who waits for the turn of one key. */
interface Line<T> {
  readonly first: T[];
  readonly others: T[];
  /** How many have their turn. */
  served: number;
}

export interface WaitingLinesParts<T> {
  /** Limit of a key, those that have their turn included. */
  readonly waitingMax: number;
  /** How many of these, in order and at least the first, may have their turn together. */
  readonly together: (waiting: readonly T[]) => number;
  /** A turn. Never rejects. @returns those that have to wait for the next turn. */
  readonly serve: (key: string, served: readonly T[]) => Promise<readonly T[]>;
}

/**
 * Turns per key, in order of arrival; different keys run in parallel. Who waits meanwhile may have
 * the next turn together.
 */
export class WaitingLines<T> {
  private readonly lines = new Map<string, Line<T>>();

  constructor(private readonly parts: WaitingLinesParts<T>) {}

  /**
   * @param goesFirst before those that arrived and have not waited for this turn yet.
   * @throws {TooBusy} when the line of the key is full.
   */
  enter(key: string, one: T, goesFirst = false): void {
    const line = this.lines.get(key);
    if (line === undefined) {
      const begun: Line<T> = { first: [], others: [one], served: 0 };
      this.lines.set(key, begun);
      void this.serveAll(key, begun);
      return;
    }
    const { served, first, others } = line;
    if (served + lengthOf(line) >= this.parts.waitingMax) throw new TooBusy();
    (goesFirst ? first : others).push(one);
  }

  /** Those that wait for their turn leave. @returns them, in order. */
  leave(key: string): readonly T[] {
    const line = this.lines.get(key);
    return line === undefined ? [] : [...line.first.splice(0), ...line.others.splice(0)];
  }

  private async serveAll(key: string, line: Line<T>): Promise<void> {
    while (lengthOf(line) > 0) {
      const from = line.first.length > 0 ? line.first : line.others;
      const served = from.splice(0, this.parts.together(from));
      line.served = served.length;
      const left = await this.parts.serve(key, served);
      line.served = 0;
      if (left.length > 0) from.unshift(...left);
      // Who was answered together mostly asks again together: those who ask for the next turn first
      // would have it alone, and the others wait for that one, turn after turn.
      else if (served.length > 1 && lengthOf(line) < served.length) await pause(0);
    }
    this.lines.delete(key);
  }
}

/** The line is full. Nothing was changed. */
export class TooBusy extends Error {
  override readonly name = 'TooBusy';
  constructor(message = 'too many commands wait for the same stream') {
    super(message);
  }
}

/** How many wait. */
const lengthOf = ({ first, others }: Line<unknown>): number => first.length + others.length;
