/**
 * Who is in a file: the first eight bytes of each person's id of ours, sorted. Ids of ours are
 * random, so that they are digests already, and name nobody.
 */

export const DIGEST_BYTES = 8;

/** @param person a UUID of ours. */
export const digestOf = (person: string): Buffer =>
  Buffer.from(person.replaceAll('-', '').slice(0, 2 * DIGEST_BYTES), 'hex');

/** Whether a digest is among sorted ones. */
export function isAmong(sorted: Buffer, digest: Buffer): boolean {
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
