import type { ByteRange } from '../../exports/storage/stored-file.js';

/** Units are the same in any case; blanks may stand around a list's members. */
const ONE_RANGE = /^bytes=[\t ,]*(?:(\d+)-(\d*)|-(\d+))[\t ,]*$/i;

/**
 * The part that a `Range` asks for. `whole`: it asks for none, for several, or in another unit,
 * which a server may answer with all of it. `none`: no byte of the file is in it.
 */
export function rangeOf(header: string | undefined, bytes: number): ByteRange | 'whole' | 'none' {
  const [match, from = '', to = '', suffix] = ONE_RANGE.exec(header?.trim() ?? '') ?? [];
  if (match === undefined) return 'whole';
  if (suffix !== undefined) {
    const length = Math.min(Number(suffix), bytes);
    return length === 0 ? 'none' : { first: bytes - length, last: bytes - 1 };
  }
  // Reversed: no range at all.
  if (to !== '' && BigInt(to) < BigInt(from)) return 'whole';
  const first = Number(from);
  // Digits beyond any file: the number is inexact, and behind the end all the same.
  const last = to === '' ? bytes - 1 : Math.min(Number(to), bytes - 1);
  return first >= bytes ? 'none' : { first, last };
}

/** Whether a list of entity tags names this one; weak ones compare as equal. */
export const isNamedBy = (header: string | undefined, etag: string): boolean =>
  header !== undefined &&
  (header.trim() === '*' ||
    header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag));
