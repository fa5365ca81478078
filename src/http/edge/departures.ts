import type { IncomingMessage } from 'node:http';
import { KeptWith } from '../../foundation/kept-with.js';

/** Of the requests whose exchange is over, or that someone watches. */
const watched = new KeptWith<IncomingMessage, AbortController>('departure');

/** Of all requests: an error of its own, with its stack, would cost each of them. */
const OVER = new Error('the request was answered, or its client has left');

const over = new AbortController();
over.abort(OVER);

/** Aborts when the request was answered or its client has left: work for its answer may stop. */
export function departureOf(request: IncomingMessage): AbortSignal {
  const known = watched.get(request) ?? new AbortController();
  watched.set(request, known);
  return known.signal;
}

/** The request was answered, or its client has left. */
export function departed(request: IncomingMessage): void {
  watched.get(request)?.abort(OVER);
  watched.set(request, over);
}
