import type { IncomingMessage } from 'node:http';

/** Pieces that any body may arrive in, however short: small ones may arrive byte by byte. */
const PIECES_FREE = 1_000;
/** Beyond that number, the pieces of a body must have this many bytes on average. */
const PIECE_BYTES_MIN = 256;

/**
 * Limits the pieces of a body. Each chunk costs a callback, and a buffer until it is read
 * (measured: some 400 bytes for a chunk of one byte), so the limit on bytes bounds neither time nor
 * memory: six bodies of 1 MiB in chunks of one byte ended a process with 256 MiB.
 * @param handedOn called with the length of each piece, and with undefined at the end of the body.
 * @param tooMany called once; the rest of the body is dropped and its socket is not read.
 * @returns a function that stops the body in the same way.
 */
export function boundPieces(
  request: IncomingMessage,
  handedOn: (bytes: number | undefined) => void,
  tooMany: () => void,
): () => void {
  const push = request.push.bind(request);
  let pieces = 0;
  let bytes = 0;
  let isOver = false;
  // Node's parser calls this for every chunk, also before the body is read.
  request.push = (piece: Buffer | null, encoding?: BufferEncoding): boolean => {
    if (isOver) return false;
    if (piece !== null) {
      pieces += 1;
      bytes += piece.length;
    }
    if (pieces > PIECES_FREE + bytes / PIECE_BYTES_MIN) {
      isOver = true;
      tooMany();
      return false;
    }
    const wantsMore = push(piece, encoding);
    handedOn(piece?.length);
    return wantsMore && !isOver;
  };
  return () => {
    isOver = true;
  };
}
