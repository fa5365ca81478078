import { createHash } from 'node:crypto';

/**
 * The codes in a file, which must not be generated for other users. A Bloom filter needs the same
 * memory for any file; a false positive (one of 10,000 with four million codes) only causes another
 * code to be generated.
 */
export class GivenCodes {
  private bits: Uint8Array | undefined;

  add(code: string): void {
    this.bits ??= new Uint8Array(BITS / 8);
    for (const place of placesOf(code))
      this.bits[place >>> 3] = (this.bits[place >>> 3] ?? 0) | (1 << (place & 7));
  }

  has(code: string): boolean {
    const { bits } = this;
    if (bits === undefined) return false;
    return placesOf(code).every((place) => ((bits[place >>> 3] ?? 0) & (1 << (place & 7))) !== 0);
  }
}

const BITS = 2 ** 27;
const HASHES = 4;

/** Codes are compared without case. */
function placesOf(code: string): readonly number[] {
  const digest = createHash('sha256').update(code.trim().toLowerCase()).digest();
  return Array.from({ length: HASHES }, (_, index) => digest.readUInt32LE(index * 4) % BITS);
}
