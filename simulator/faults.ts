import type { SeededRandom } from './seeded-random.js';

/** How often each fault happens: once in so many calls; 0: never. */
export type FaultRates = Readonly<Record<string, number>>;

/** What goes wrong, by the seed, and how often it did. */
export class Faults {
  private readonly injected = new Map<string, number>();
  private isQuiet = false;

  constructor(
    private readonly random: SeededRandom,
    private readonly rates: FaultRates,
  ) {}

  happens(fault: string): boolean {
    if (this.isQuiet || !this.random.onceIn(this.rates[fault] ?? 0)) return false;
    this.count(fault);
    return true;
  }

  count(fault: string): void {
    this.injected.set(fault, (this.injected.get(fault) ?? 0) + 1);
  }

  /** Nothing goes wrong from here on, so that the world becomes quiet. */
  calm(): void {
    this.isQuiet = true;
  }

  /** Faults so far, by kind. */
  get counts(): ReadonlyMap<string, number> {
    return this.injected;
  }
}
