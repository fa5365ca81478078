/**
 * The people in a file: the sorted first eight bytes of their ids. The service generates these ids
 * at random, so that they identify no person outside it.
 */

export const DIGEST_BYTES = 8;

/** @param person the service's UUID. */
export const digestOf = (person: string): Buffer =>
  Buffer.from(person.replaceAll('-', '').slice(0, 2 * DIGEST_BYTES), 'hex');

/** Whether a sorted list contains the digest. */
export function includesDigest(sorted: Buffer, digest: Buffer): boolean {
  let from = 0;
  let to = sorted.length / DIGEST_BYTES;
  while (from < to) {
    const middle = (from + to) >> 1;
    const at = middle * DIGEST_BYTES;
    const order = sorted.compare(digest, 0, DIGEST_BYTES, at, at + DIGEST_BYTES);
    if (order === 0) return true;
    if (order < 0) from = middle + 1;
    else to = middle;
  }
  return false;
}
