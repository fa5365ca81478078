import TinyQueue from 'tinyqueue';
import type { World } from '../src/foundation/world.js';
import type { SeededRandom } from './seeded-random.js';

/**
 * Who waits for an answer or a timer: a simulated process of the service, or a client. What it
 * waits for reaches it only while it lives; a frozen one receives it when it thaws.
 */
export class Owner {
  private isKilled = false;
  private held: Task[] | undefined;
  private readonly killListeners = new Set<() => void>();

  constructor(readonly name: string) {}

  get isAlive(): boolean {
    return !this.isKilled;
  }

  get isFrozen(): boolean {
    return this.held !== undefined;
  }

  /** Ends it at whatever it awaits: nothing reaches it any more. */
  kill(): void {
    this.isKilled = true;
    this.held = undefined;
    for (const notice of this.killListeners) notice();
    this.killListeners.clear();
  }

  /** Calls when it is killed, within the turn of the one that kills it. Returns how to stop. */
  onKilled(notice: () => void): () => void {
    this.killListeners.add(notice);
    return () => this.killListeners.delete(notice);
  }

  freeze(): void {
    if (!this.isKilled) this.held ??= [];
  }

  /** Everything that was held back arrives now, in its order. */
  thaw(world: VirtualWorld): void {
    const held = this.held ?? [];
    this.held = undefined;
    for (const task of held)
      // Its timers may be cancelled by what arrives before them.
      world.hand(this, () => {
        if (!task.isCancelled) task.run();
      });
  }

  /** @internal False: the task is not for now. */
  takes(task: Task): boolean {
    if (this.isKilled) return false;
    this.held?.push(task);
    return this.held === undefined;
  }
}

/** @internal */
export interface Task {
  /** Milliseconds of the world. */
  readonly at: number;
  readonly order: number;
  /** Undefined: a store, which answers whatever became of the caller. */
  readonly owner: Owner | undefined;
  readonly run: () => void;
  isCancelled: boolean;
}

/** Long enough that two calls in flight often overtake each other. */
const LATENCY_MS = 12;
const BEGINNING = Date.UTC(2026, 0, 5, 9);
/** What happens by the clock meets as many requests then as when clients wait for the dead. */
const HURRY = 0.4;
/** Turns that Node takes between two looks at the outside world. */
const TURNS_AT_ONCE = 64;

/**
 * The world of a run: time passes when nothing happens, and a seed decides how long every call
 * takes, thus which of the waiting ones continues next. Within one turn only what the handed answer
 * set off runs, so that every new wait belongs to the same owner.
 */
export class VirtualWorld implements World {
  private readonly queue = new TinyQueue<Task>([], (a, b) => a.at - b.at || a.order - b.order);
  private time = 0;
  private wallClock = BEGINNING;
  private order = 0;
  private current: Owner | undefined;
  private turns = 0;

  /** @param isHurried see `RoundPlan`. */
  constructor(
    readonly random: SeededRandom,
    readonly isHurried = false,
  ) {}

  now(): number {
    return Math.floor(this.wallClock + this.time);
  }

  elapsed(): number {
    return this.time;
  }

  uuid(): string {
    return this.random.uuid();
  }

  bytes(length: number): Buffer {
    return this.random.bytes(length);
  }

  below(end: number): number {
    return this.random.below(end);
  }

  after(ms: number, call: () => void): () => void {
    const task = this.schedule(this.current, ms, call);
    return () => (task.isCancelled = true);
  }

  /** A time up to this one, until something happens by the clock. */
  within(ms: number): number {
    return this.random.below(this.isHurried ? Math.ceil(ms * HURRY) : ms);
  }

  /** How many turns were taken so far. */
  get steps(): number {
    return this.turns;
  }

  /** Moves the wall clock, forwards or back. Timers do not notice. */
  moveClock(ms: number): void {
    this.wallClock += ms;
  }

  /**
   * A call to a store, by the current owner: it takes effect after a while, and its answer is on
   * its way for another. An owner that dies in between does not take the effect back.
   */
  call<T>(effect: () => T): Promise<T> {
    const owner = this.current;
    return new Promise<T>((resolve, reject) => {
      this.schedule(undefined, this.latency(), () => {
        let answer: () => void;
        try {
          const value = effect();
          answer = () => resolve(value);
        } catch (error) {
          // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- As thrown.
          answer = () => reject(error);
        }
        this.schedule(owner, this.latency(), answer);
      });
    });
  }

  /** A change that reaches a store without a caller that waits for it. It must wake no one. */
  arrive(effect: () => void, withinMs = 0): void {
    this.schedule(undefined, this.latency() + this.random.below(withinMs), effect);
  }

  /** Something that reaches an owner after a while. */
  deliver(to: Owner, run: () => void): void {
    this.schedule(to, this.latency(), run);
  }

  /** Runs in the name of the owner, as soon as nothing else is due. */
  hand(owner: Owner, run: () => void, afterMs = 0): void {
    this.schedule(owner, afterMs, run);
  }

  /**
   * Takes turns until the condition holds.
   * @throws {Error} when nothing is left to wait for, or after that many turns.
   */
  runUntil(isDone: () => boolean, turnsMax = Infinity): Promise<void> {
    const last = this.turns + turnsMax;
    return new Promise((resolve, reject) => {
      let isOver = false;
      let planned = 0;
      const turn = (): void => {
        planned -= 1;
        if (isOver) return;
        try {
          if (isDone() || !this.takeTurn()) {
            isOver = true;
            if (isDone()) resolve();
            else reject(new Error('nothing is left to happen, and a caller still waits'));
            return;
          }
          if (this.turns > last) throw new Error(`not done after ${turnsMax} turns`);
        } catch (error) {
          isOver = true;
          reject(error instanceof Error ? error : new Error('a turn failed', { cause: error }));
          return;
        }
        if (planned === 0) plan();
      };
      const plan = (): void => {
        for (; planned < TURNS_AT_ONCE; planned++) setImmediate(turn);
      };
      plan();
    });
  }

  /** For an error's text: who waits for how much. */
  get waiting(): string {
    const waiting = new Map<string, number>();
    for (const { owner, isCancelled } of this.queue.data)
      if (!isCancelled) {
        const name =
          owner === undefined ? 'stores' : `${owner.name}${owner.isFrozen ? ' (frozen)' : ''}`;
        waiting.set(name, (waiting.get(name) ?? 0) + 1);
      }
    return [...waiting].map(([name, count]) => `${name}: ${count}`).join(', ');
  }

  private takeTurn(): boolean {
    for (let task = this.queue.pop(); task !== undefined; task = this.queue.pop()) {
      if (task.isCancelled) continue;
      this.time = Math.max(this.time, task.at);
      if (task.owner === undefined) {
        task.run();
        continue;
      }
      if (!task.owner.takes(task)) continue;
      this.turns += 1;
      this.current = task.owner;
      task.run();
      return true;
    }
    return false;
  }

  private schedule(owner: Owner | undefined, ms: number, run: () => void): Task {
    const task = {
      at: this.time + Math.max(0, ms),
      order: this.order++,
      owner,
      run,
      isCancelled: false,
    };
    this.queue.push(task);
    return task;
  }

  /** Mostly short, and now and then long. */
  private latency(): number {
    const drawn = this.random.below(1 << 20) / (1 << 20);
    return LATENCY_MS * drawn * drawn;
  }
}
