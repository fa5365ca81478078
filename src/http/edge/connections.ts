import { randomUUID } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { Server as SocketServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { plainHeaders } from './answer-headers.js';
import { errorJson, type ErrorJson } from './api-error.js';
import { ArrivingBodies } from './arriving-bodies.js';
import { boundPieces } from './body-pieces.js';
import { CHALLENGE } from './challenge.js';

/** Node's error for a message that could not be parsed. `rawPacket` is the last piece read. */
interface BrokenMessage extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
  /** The parser's offset in `rawPacket`. */
  readonly bytesParsed?: number;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** A body in too many pieces; our own code beside Node's. */
const TOO_MANY_PIECES = 'TOO_MANY_PIECES';
/** The largest body when the limit for all bodies is reached. */
const NO_ROOM = 'NO_ROOM';

/**
 * Time for the client to read the last answer on a broken connection before the socket is
 * destroyed.
 */
const LINGER_MS = 1_000;

/**
 * When no request has begun for this long, the requests in transit at the shutdown have arrived.
 */
const DRAIN_MS = 250;

/** How much of a body is still read and dropped after the answer. */
export interface RestBounds {
  readonly bytesMax: number;
  /** From the last byte of the answer. */
  readonly timeMs: number;
}

const lastOfSocket = new WeakMap<Duplex, Exchange>();

/**
 * The HTTP server and its sockets. Answers errors below the framework in the same JSON as all
 * others, and counts the requests in flight.
 */
export class Connections {
  private readonly exchanges = new Map<Duplex, Set<Exchange>>();
  private readonly broken = new WeakSet<Duplex>();
  private readonly readingOn = new WeakSet<IncomingMessage>();
  private readonly arriving: ArrivingBodies;
  private open = 0;
  private lastBegan = 0;

  /** @param arrivingBytesMax limit for all incomplete bodies together. */
  constructor(
    private readonly rest: RestBounds,
    arrivingBytesMax: number,
  ) {
    this.arriving = new ArrivingBodies(arrivingBytesMax);
  }

  /** Requests that have begun and are not answered. */
  get inFlight(): number {
    return this.open;
  }

  /** For Fastify's `serverFactory`. `options` are Node's own limits. */
  createServer(
    options: ServerOptions,
    handle: (request: IncomingMessage, response: ServerResponse) => void,
  ): Server {
    const server = createServer(options, (request, response) => {
      this.track(request, response);
      handle(request, response);
    });
    server.on('connection', (socket) => this.closeOnceRead(socket));
    server.on('clientError', (error, socket) => this.onClientError(error, socket));
    // Node would answer these two without a body.
    server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      this.track(request, response);
      answer(
        response,
        errorJson('BAD_REQUEST', { status: 417, message: 'The expectation cannot be met' }),
      );
    });
    server.on('connect', (_request, socket) =>
      this.answerRaw(
        socket,
        errorJson('BAD_REQUEST', { status: 501, message: 'The method is not supported' }),
      ),
    );
    return server;
  }

  /**
   * Stops accepting connections, and resolves when all are closed or no request has begun for a
   * moment; new requests are served. Call it before closing the server: Node closes a connection
   * without a request at once, and a request in transit would be lost with its client in doubt
   * about the effect.
   */
  drain(server: Server): Promise<void> {
    return new Promise((resolve) => {
      const beganDraining = performance.now();
      let timer: NodeJS.Timeout;
      const look = (): void => {
        const quietMs = performance.now() - Math.max(beganDraining, this.lastBegan);
        if (quietMs >= DRAIN_MS) resolve();
        else timer = setTimeout(look, DRAIN_MS - quietMs);
      };
      look();
      // Closes the listening socket alone; http.Server#close closes connections as well.
      SocketServer.prototype.close.call(server, () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** A message could not be parsed, or arrived too slowly. */
  private onClientError(error: BrokenMessage, socket: Duplex): void {
    if (this.broken.has(socket)) return;
    this.broken.add(socket);
    if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
      socket.destroy();
      return;
    }
    const unfinished = [...(this.exchanges.get(socket) ?? [])];
    const current = unfinished.find(({ request }) => !request.complete);
    // The broken message is the body of a request that is being or has been answered: no second
    // answer.
    if (current?.response.headersSent || (unfinished.length === 0 && hasAnsweredUnread(socket))) {
      socket.destroy();
      return;
    }
    const body = describeBroken(error);
    const earlier = unfinished.filter((exchange) => exchange !== current);
    // Answers to earlier requests of the same connection are sent first: the client must not match
    // this answer to one of them.
    whenAllClosed(
      earlier.map(({ response }) => response),
      () =>
        this.answerRaw(socket, body, {
          readsOn: error.code !== TOO_MANY_PIECES && error.code !== NO_ROOM,
        }),
    );
  }

  private answerRaw(socket: Duplex, body: ErrorJson, { readsOn } = { readsOn: true }): void {
    this.broken.add(socket);
    if (socket.destroyed || !socket.writable) {
      socket.destroy();
      return;
    }
    const text = JSON.stringify(body);
    const head = [
      `HTTP/1.1 ${body.statusCode} ${STATUS_CODES[body.statusCode] ?? 'Error'}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(text)}`,
      'Connection: close',
      ...(body.statusCode === 503 ? ['Retry-After: 1'] : []),
      ...Object.entries(plainHeaders(randomUUID())).map(([name, value]) => `${name}: ${value}`),
      // The caller may be a page, and the request's origin is unknown.
      ...(body.statusCode === 401
        ? [
            ...Object.entries(CHALLENGE).map(([name, value]) => `${name}: ${value}`),
            'Access-Control-Allow-Origin: *',
          ]
        : []),
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
    // Closing while the client still sends would discard the answer on its side.
    if (readsOn) socket.resume();
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  }

  /**
   * Many clients write the whole body before they read. Closing the socket on such a client resets
   * the connection and loses the answer, so it is half-closed, and destroyed once the rest was read
   * or exceeds the limit.
   */
  private closeOnceRead(socket: Socket): void {
    const close = socket.destroySoon.bind(socket);
    // Node's server calls this after the last answer of a connection.
    socket.destroySoon = () => {
      const request = lastOfSocket.get(socket)?.request;
      if (request === undefined || request.complete) return close();
      socket.end();
      request.once('end', close);
      this.readOn(request);
    };
  }

  /**
   * A client that keeps writing after the answer holds a socket within limits, and no place among
   * the requests in flight.
   */
  private readOn(request: IncomingMessage): void {
    if (request.complete || this.readingOn.has(request)) return;
    this.readingOn.add(request);
    const { socket } = request;
    const before = socket.bytesRead;
    const late = setTimeout(() => socket.destroy(), this.rest.timeMs).unref();
    const over = (): void => {
      clearTimeout(late);
      // A kept-alive connection serves many requests.
      socket.off('close', over);
    };
    request.once('end', over).once('close', over);
    socket.once('close', over);
    request.on('data', () => {
      if (socket.bytesRead - before > this.rest.bytesMax) socket.destroy();
    });
    // An unread body would be dropped by Node, uncounted.
    request.read(0);
    request.resume();
  }

  private track(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const refuse = (code: string): void =>
      this.onClientError(Object.assign(new Error(code), { code }), socket);
    const handedOn = this.arriving.open(request, response, () => {
      stop();
      refuse(NO_ROOM);
    });
    const stop = boundPieces(request, handedOn, () => refuse(TOO_MANY_PIECES));
    const exchange = { request, response };
    const ofSocket = this.ofSocket(socket);
    ofSocket.add(exchange);
    lastOfSocket.set(socket, exchange);
    this.open += 1;
    this.lastBegan = performance.now();
    response.once('close', () => this.closed(ofSocket, exchange));
    // Before Node's own listener, which may close the connection.
    response.prependOnceListener('finish', () => this.readOn(request));
  }

  private closed(ofSocket: Set<Exchange>, exchange: Exchange): void {
    if (ofSocket.delete(exchange)) this.open -= 1;
  }

  private ofSocket(socket: Duplex): Set<Exchange> {
    const known = this.exchanges.get(socket);
    if (known !== undefined) return known;
    const made = new Set<Exchange>();
    this.exchanges.set(socket, made);
    // The response to a pipelined request that waits its turn does not close with the socket.
    socket.once('close', () => {
      for (const exchange of made) this.closed(made, exchange);
      this.exchanges.delete(socket);
    });
    return made;
  }
}

/** The last request was answered before its body had arrived; the rest of that body is late. */
const hasAnsweredUnread = (socket: Duplex): boolean => {
  const last = lastOfSocket.get(socket);
  return last !== undefined && last.response.writableFinished && !last.request.complete;
};

function whenAllClosed(responses: readonly ServerResponse[], then: () => void): void {
  const [first, ...others] = responses;
  if (first === undefined) then();
  else if (first.writableFinished || first.destroyed) whenAllClosed(others, then);
  else first.once('close', () => whenAllClosed(others, then));
}

function answer(response: ServerResponse, body: ErrorJson): void {
  const text = JSON.stringify(body);
  response.writeHead(body.statusCode, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    Connection: 'close',
    ...plainHeaders(randomUUID()),
  });
  response.end(text);
}

function describeBroken(error: BrokenMessage): ErrorJson {
  switch (error.code ?? '') {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return errorJson('BAD_REQUEST', {
        status: 408,
        message: 'The request took too long to arrive',
      });
    case 'HPE_HEADER_OVERFLOW':
      if (isOversizeToken(lineOf(error))) return errorJson('UNAUTHORIZED', { rsCode: 'RS032' });
      return isLongRequestLine(lineOf(error))
        ? errorJson('BAD_REQUEST', { status: 414, message: 'The request target is too long' })
        : errorJson('BAD_REQUEST', { status: 431, message: 'The header fields are too large' });
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
    case TOO_MANY_PIECES:
      return errorJson('PAYLOAD_TOO_LARGE');
    case NO_ROOM:
      return errorJson('UNAVAILABLE');
    case 'HPE_INVALID_METHOD':
      // The parser reports an unknown method and bytes that are no method with the same code.
      if (!/^[A-Za-z-]{1,64} \S+ HTTP\/\d/.test(lineOf(error)))
        return errorJson('BAD_REQUEST', { message: 'The message is not valid HTTP' });
      return errorJson('BAD_REQUEST', { status: 501, message: 'The method is not supported' });
    case 'HPE_INVALID_VERSION':
    case 'HPE_PAUSED_H2_UPGRADE':
      return errorJson('BAD_REQUEST', {
        status: 505,
        message: 'The HTTP version is not supported',
      });
    default:
      return errorJson('BAD_REQUEST', { message: 'The message is not valid HTTP' });
  }
}

/**
 * A token that is too large is a bad token. The header's name may be in an earlier packet; then
 * only characters of the token's alphabet remain.
 */
const isOversizeToken = (line: string): boolean =>
  /^(?:x-saasquatch-user-token|authorization):\s*(?:bearer\s)?/i.test(line) ||
  /^[\w-]{256,}(?:\.[\w-]*){0,2}\s*$/.test(line);

const isLongRequestLine = (line: string): boolean =>
  line.length > TARGET_BYTES_MAX && /^[A-Za-z-]{1,64} \S/.test(line);

/** The line at which the parser stopped, as far as the last packet contains it. */
function lineOf({ rawPacket, bytesParsed = 0 }: BrokenMessage): string {
  if (rawPacket === undefined) return '';
  const begin = bytesParsed === 0 ? 0 : rawPacket.lastIndexOf('\n', bytesParsed - 1) + 1;
  const end = rawPacket.indexOf('\n', begin);
  return rawPacket.subarray(begin, end === -1 ? undefined : end).toString('latin1');
}

/**
 * Limit of a request target; beyond it the answer is 414. Two ids and a code of 255 characters, 12
 * bytes each when percent-encoded, fit.
 */
export const TARGET_BYTES_MAX = 16 * 1024;
/** Request line and headers together; beyond it Node stops parsing. */
export const HEAD_BYTES_MAX = 32 * 1024;
