/** Random numbers that are the same for the same seed, so that a failed round can be repeated. */
export class SeededRandom {
  private state: number;

  constructor(readonly seed: number) {
    this.state = seed >>> 0;
  }

  /** From 0 (included) to 1 (excluded). Mulberry32. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Both ends included. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** @throws for an empty list. */
  pick<T>(items: readonly T[]): T {
    const item = items[this.integer(0, items.length - 1)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }

  /** A separate sequence, so that parallel work does not change the results. */
  fork(): SeededRandom {
    return new SeededRandom(this.integer(0, 2 ** 31 - 1));
  }
}

/** The seed of the environment, or a new one; print it, so that the run can be repeated. */
export function seedFrom(given: string | undefined): number {
  return given === undefined || given === '' ? Math.floor(Math.random() * 2 ** 31) : Number(given);
}
