import type { IncomingMessage } from 'node:http';

/**
 * Pieces that a body may arrive in whatever its length: short ones may be dribbled byte by byte.
 */
const PIECES_FREE = 1_000;
/** Beyond them the pieces of a body hold so many bytes on average, or more. */
const PIECE_BYTES_MIN = 256;

/**
 * Bounds the pieces of a body. Each chunk costs a callback, and a buffer of its own until somebody
 * reads it (measured: some 400 bytes for a chunk of one byte), so that the limit of a body's bytes
 * bounds neither time nor memory: six bodies of 1 MiB in chunks of one byte ended a process with
 * 256 MiB.
 * @param handedOn called with the length of each piece, and with undefined when the body is whole.
 * @param tooMany called once; nothing more of the body is handed on after it, and its socket is not
 * read.
 * @returns what stops the body in the same way.
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
  // What Node's parser calls for every chunk, whether or not somebody reads the body yet.
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
