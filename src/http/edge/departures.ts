import type { FastifyReply } from 'fastify';

/** An error of its own, with its stack, would cost each request. */
const OVER = new Error('the request was answered, or its client has left');

/** Aborts when the request was answered or its client has left: work for its answer may stop. */
export function departureOf({ raw: response, request: { raw } }: FastifyReply): AbortSignal {
  const leaving = new AbortController();
  const { socket } = raw;
  const leave = (): void => {
    socket.off('close', leave);
    leaving.abort(OVER);
  };
  // A response that waits for those before it does not close with its socket.
  socket.once('close', leave);
  response.once('close', leave);
  if (socket.destroyed || response.destroyed) leave();
  return leaving.signal;
}
