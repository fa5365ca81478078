import type { ByteRange } from '../../exports/storage/stored-file.js';

/** Units ignore case, and blanks may surround members. */
const ONE_RANGE = /^bytes=[\t ,]*(?:(\d+)-(\d*)|-(\d+))[\t ,]*$/i;

/**
 * The requested part. `whole`: none, several, or another unit, which a server may answer
 * completely. `none`: outside the file.
 */
export function rangeOf(header: string | undefined, bytes: number): ByteRange | 'whole' | 'none' {
  const [match, from = '', to = '', suffix] = ONE_RANGE.exec(header?.trim() ?? '') ?? [];
  if (match === undefined) return 'whole';
  if (suffix !== undefined) {
    const length = Math.min(Number(suffix), bytes);
    return length === 0 ? 'none' : { first: bytes - length, last: bytes - 1 };
  }
  // A reversed range counts as none.
  if (to !== '' && BigInt(to) < BigInt(from)) return 'whole';
  const first = Number(from);
  // A larger number is inexact but behind the end.
  const last = to === '' ? bytes - 1 : Math.min(Number(to), bytes - 1);
  return first >= bytes ? 'none' : { first, last };
}

/** Whether a list of entity tags contains this one, by weak comparison. */
export const matchesEtag = (header: string | undefined, etag: string): boolean =>
  header !== undefined &&
  (header.trim() === '*' ||
    header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag));
