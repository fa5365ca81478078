import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** All chance of a run: the same seed gives the same numbers, in the same order. */
export class SeededRandom {
  private readonly generator;

  /** @param seed a whole number of 32 bits. */
  constructor(readonly seed: number) {
    this.generator = xoroshiro128plus(seed);
    // Small seeds begin alike.
    for (let n = 0; n < 64; n++) this.generator.next();
  }

  /** A whole number from 0 up to, and not including, `end`. */
  below(end: number): number {
    return end <= 1 ? 0 : uniformInt(this.generator, 0, end - 1);
  }

  /** True about once in so many times; never for 0. */
  onceIn(times: number): boolean {
    return times > 0 && this.below(times) === 0;
  }

  /** One of them. @throws {RangeError} for none. */
  oneOf<T>(choices: readonly T[]): T {
    if (choices.length === 0) throw new RangeError('nothing to choose from');
    return choices[this.below(choices.length)] as T;
  }

  /** One of them, in proportion to its weight. */
  weighted<T extends string>(weights: Readonly<Record<T, number>>): T {
    const entries = Object.entries<number>(weights) as [T, number][];
    let left = this.below(entries.reduce((sum, [, weight]) => sum + weight, 0));
    for (const [choice, weight] of entries) {
      if (left < weight) return choice;
      left -= weight;
    }
    throw new RangeError('nothing to choose from');
  }

  bytes(length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    for (let index = 0; index < length; index += 3) {
      const drawn = uniformInt(this.generator, 0, 0xff_ffff);
      bytes[index] = drawn;
      if (index + 1 < length) bytes[index + 1] = drawn >> 8;
      if (index + 2 < length) bytes[index + 2] = drawn >> 16;
    }
    return bytes;
  }

  /** Of version 4, as `randomUUID` makes them. */
  uuid(): string {
    const bytes = this.bytes(16);
    bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
    const hex = bytes.toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }
}
