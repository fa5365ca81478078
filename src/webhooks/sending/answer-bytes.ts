import type { Socket } from 'node:net';

/** An answer is longer than any answer that is read, with all that is around its body. */
export class AnswerTooLong extends Error {
  override readonly name = 'AnswerTooLong';
}

/**
 * Breaks a connection whose answer has more raw bytes than this: headers, sizes of chunks, their
 * extensions and trailers included, which the parser reads without end and reports to nobody. For
 * connections that carry one request at a time.
 */
export function boundAnswers(socket: Socket, bytesMax: number): void {
  let written = 0;
  let read = 0;
  let before = 0;
  // Ahead of the reader: it is added before.
  socket.on('readable', () => {
    // What was written since is the next request.
    if (socket.bytesWritten !== written) {
      written = socket.bytesWritten;
      before = read;
    }
    read = socket.bytesRead;
    if (read - before > bytesMax)
      socket.destroy(new AnswerTooLong(`the answer has more than ${bytesMax} bytes`));
  });
}
