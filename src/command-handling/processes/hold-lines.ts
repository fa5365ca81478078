import { inTime } from '../../foundation/in-time.js';
import { after, elapsed } from '../../foundation/world.js';
import { TooBusy } from '../stream-queues.js';

/** Who waits: a moderation by its key, or a command. */
type Waiter = string | symbol;

interface Place {
  readonly waiter: Waiter;
  /** Its turn has come. */
  readonly begin: () => void;
}

/** Longest wait of a command or of a run of a moderation, over all holds that it meets. */
const WAIT_MS_MAX = 20_000;
const WAITING_PER_LINE_MAX = 1_000;

/**
 * Who waits at an account for the holds of moderations, in order of arrival. Only the first of a
 * line tries; the others would read the account at the end of each hold and find the next one.
 */
export class HoldLines {
  /** By account stream; the first of a line has its turn. */
  private readonly lines = new Map<string, Place[]>();
  /** The lines of those whose turn has not come. */
  private readonly lineOf = new Map<Waiter, Place[]>();
  /** The moderation that the first of a line, or a run outside of any line, waits for. */
  private readonly awaited = new Map<Waiter, Waiter>();

  /** The wait of one command (undefined) or of one run of a moderation (its key). */
  begin(moderation?: string): HoldWait {
    return new HoldWait(this, moderation ?? Symbol('command'));
  }

  /** Whether nobody waits or has a turn at an account. */
  isFree(stream: string): boolean {
    return !this.lines.has(stream);
  }

  /**
   * Waits for the turn at an account. The returned function ends it: called in a `finally`.
   * @throws {TooBusy} @throws {WaitsInCircle}
   */
  async enter(stream: string, waiter: Waiter, msMax: number): Promise<() => void> {
    const line = this.lines.get(stream);
    if (line === undefined) {
      const place = { waiter, begin: () => undefined };
      this.lines.set(stream, [place]);
      return () => this.leave(stream, place);
    }
    this.refuseCircle(waiter, line[0]?.waiter);
    if (line.length >= WAITING_PER_LINE_MAX) throw new TooBusy();
    const place = await this.turn(line, waiter, msMax);
    return () => this.leave(stream, place);
  }

  /**
   * Waits for a moderation. @throws {TooBusy} @throws {WaitsInCircle}
   * @param end the end of the moderation; it goes on when nobody waits for it any more.
   */
  async await<T>(
    waiter: Waiter,
    moderation: string,
    { end, msMax }: { readonly end: () => Promise<T>; readonly msMax: number },
  ): Promise<T> {
    this.letPass(moderation, waiter);
    this.refuseCircle(waiter, moderation);
    this.awaited.set(waiter, moderation);
    try {
      return await inTime(end(), msMax, tooLong);
    } finally {
      this.awaited.delete(waiter);
    }
  }

  private turn(line: Place[], waiter: Waiter, msMax: number): Promise<Place> {
    this.lineOf.set(waiter, line);
    return new Promise((resolve, reject) => {
      const giveUp = after(msMax, () => {
        line.splice(line.indexOf(place), 1);
        this.lineOf.delete(waiter);
        reject(tooLong());
      });
      const place: Place = {
        waiter,
        begin: () => {
          giveUp();
          this.lineOf.delete(waiter);
          resolve(place);
        },
      };
      line.push(place);
    });
  }

  private leave(stream: string, place: Place): void {
    const line = this.lines.get(stream);
    // One that passed has no place any more.
    if (line?.[0] !== place) return;
    line.shift();
    const [next] = line;
    if (next === undefined) this.lines.delete(stream);
    else next.begin();
  }

  /** A moderation that holds what the first of its line touches was prepared by another process. */
  private letPass(moderation: string, first: Waiter): void {
    const line = this.lineOf.get(moderation);
    if (line?.[0]?.waiter !== first) return;
    const index = line.findIndex(({ waiter }) => waiter === moderation);
    line.splice(index, 1).forEach((place) => place.begin());
  }

  /**
   * Whether the other waits, directly or through others, for this one. An account that was absent
   * or refused when it was prepared is not held, and another moderation can hold it before the run
   * is repeated: then the two hold each other's accounts.
   */
  private refuseCircle(waiter: Waiter, other: Waiter | undefined): void {
    let next = other;
    while (next !== undefined) {
      if (next === waiter) throw new WaitsInCircle();
      next = this.lineOf.get(next)?.[0]?.waiter ?? this.awaited.get(next);
    }
  }
}

/** One wait, bounded in time over all holds that it meets. */
export class HoldWait {
  private readonly until = elapsed() + WAIT_MS_MAX;

  constructor(
    private readonly lines: HoldLines,
    private readonly waiter: Waiter,
  ) {}

  /** @throws {TooBusy} @throws {WaitsInCircle} */
  enter(stream: string): Promise<() => void> {
    return this.lines.enter(stream, this.waiter, this.msLeft);
  }

  /** @throws {TooBusy} @throws {WaitsInCircle}, or what `end` throws. */
  await<T>(moderation: string, end: () => Promise<T>): Promise<T> {
    return this.lines.await(this.waiter, moderation, { end, msMax: this.msLeft });
  }

  private get msLeft(): number {
    return Math.max(0, this.until - elapsed());
  }
}

/** Two moderations wait for each other: this one gives way. */
export class WaitsInCircle extends TooBusy {
  constructor() {
    super('two moderations wait for each other');
  }
}

const tooLong = (): TooBusy => new TooBusy('the moderations of an account last too long');
