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

/** What Node says of a message that it gave up on. `rawPacket` is the last piece it read. */
interface BrokenMessage extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
  /** How far into it. */
  readonly bytesParsed?: number;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The code of a body in more pieces than it may have, beside those of Node. */
const TOO_MANY_PIECES = 'TOO_MANY_PIECES';
/** The code of the body that holds most when there is no room for more. */
const NO_ROOM = 'NO_ROOM';

/**
 * After the last word on a broken connection the client has this long to read it before the socket
 * is torn down.
 */
const LINGER_MS = 1_000;

/**
 * When for so long no request has begun, those that were on their way at the begin of a shutdown
 * have arrived.
 */
const DRAIN_MS = 250;

/** How much of a body is read on and dropped once its request is answered. */
export interface RestBounds {
  readonly bytesMax: number;
  /** From the last byte of the answer on. */
  readonly timeMs: number;
}

const lastOfSocket = new WeakMap<Duplex, Exchange>();

/**
 * The server and what is going on on its sockets. Answers what goes wrong below the framework, in
 * the same JSON as everything else, and knows how many requests are in flight.
 */
export class Connections {
  private readonly exchanges = new Map<Duplex, Set<Exchange>>();
  private readonly broken = new WeakSet<Duplex>();
  private readonly readingOn = new WeakSet<IncomingMessage>();
  private readonly arriving: ArrivingBodies;
  private open = 0;
  private lastBegan = 0;

  /** @param arrivingBytesMax of all bodies together that are not there as a whole. */
  constructor(
    private readonly rest: RestBounds,
    arrivingBytesMax: number,
  ) {
    this.arriving = new ArrivingBodies(arrivingBytesMax);
  }

  /** Requests that were begun and are not answered yet. */
  get inFlight(): number {
    return this.open;
  }

  /** The server of the framework. `options` are Node's own limits. */
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
   * Lets nobody in any more, and resolves when all connections are closed or none of them has
   * brought a request for a moment; those that come are served. To be called before the server is
   * closed: Node closes at once every connection on which it has not seen a request, and one that
   * is on its way would be lost, its client left in doubt whether it had an effect.
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
      // The closing of sockets alone; http.Server's own closes the connections as well.
      SocketServer.prototype.close.call(server, () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** A message could not be parsed, or took too long to arrive. */
  private onClientError(error: BrokenMessage, socket: Duplex): void {
    if (this.broken.has(socket)) return;
    this.broken.add(socket);
    if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
      socket.destroy();
      return;
    }
    const unfinished = [...(this.exchanges.get(socket) ?? [])];
    const current = unfinished.find(({ request }) => !request.complete);
    // The broken message is the body of a request whose answer has begun, or is out: nothing may be
    // put after it.
    if (current?.response.headersSent || (unfinished.length === 0 && hasAnsweredUnread(socket))) {
      socket.destroy();
      return;
    }
    const body = describeBroken(error);
    const earlier = unfinished.filter((exchange) => exchange !== current);
    // Answers to earlier, whole requests of the same connection come first: ours must not be taken
    // for one of theirs.
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
      // Whoever asks may be a page; nothing of the request is known that could narrow it.
      ...(body.statusCode === 401
        ? [
            ...Object.entries(CHALLENGE).map(([name, value]) => `${name}: ${value}`),
            'Access-Control-Allow-Origin: *',
          ]
        : []),
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
    // Closing while the client still sends would throw the answer away on its side.
    if (readsOn) socket.resume();
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  }

  /**
   * Many clients write a whole body before they read. A socket that is closed on one that still
   * writes is reset, and the answer in it is lost; so it is closed for writing alone, and torn down
   * when the rest was read or was too much.
   */
  private closeOnceRead(socket: Socket): void {
    const close = socket.destroySoon.bind(socket);
    // What Node's server calls when the last answer of a connection is out.
    socket.destroySoon = () => {
      const request = lastOfSocket.get(socket)?.request;
      if (request === undefined || request.complete) return close();
      socket.end();
      request.once('end', close);
      this.readOn(request);
    };
  }

  /**
   * Whoever writes on after the answer, slowly or for ever, holds a socket within bounds, and no
   * place among the requests in flight.
   */
  private readOn(request: IncomingMessage): void {
    if (request.complete || this.readingOn.has(request)) return;
    this.readingOn.add(request);
    const { socket } = request;
    const before = socket.bytesRead;
    const late = setTimeout(() => socket.destroy(), this.rest.timeMs).unref();
    const over = (): void => {
      clearTimeout(late);
      // A kept connection serves many requests.
      socket.off('close', over);
    };
    request.once('end', over).once('close', over);
    socket.once('close', over);
    request.on('data', () => {
      if (socket.bytesRead - before > this.rest.bytesMax) socket.destroy();
    });
    // Read by somebody, or Node would drop it where nobody counts.
    request.read(0);
    request.resume();
  }

  private track(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const giveUp = (code: string): void =>
      this.onClientError(Object.assign(new Error(code), { code }), socket);
    const handedOn = this.arriving.open(request, response, () => {
      stop();
      giveUp(NO_ROOM);
    });
    const stop = boundPieces(request, handedOn, () => giveUp(TOO_MANY_PIECES));
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
    // The response to a pipelined request that still waits for its turn never closes by itself when
    // the socket does.
    socket.once('close', () => {
      for (const exchange of made) this.closed(made, exchange);
      this.exchanges.delete(socket);
    });
    return made;
  }
}

/**
 * The last request was answered before its body had arrived; what is late is the rest of that body.
 */
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
      // The parser says the same of a method it does not know and of bytes that were never meant to
      // be one.
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
 * A token that is too large is a bad token. The field's name may have come in an earlier packet;
 * what is left is then the token's own alphabet.
 */
const isOversizeToken = (line: string): boolean =>
  /^(?:x-saasquatch-user-token|authorization):\s*(?:bearer\s)?/i.test(line) ||
  /^[\w-]{256,}(?:\.[\w-]*){0,2}\s*$/.test(line);

const isLongRequestLine = (line: string): boolean =>
  line.length > TARGET_BYTES_MAX && /^[A-Za-z-]{1,64} \S/.test(line);

/** The line in which the parser gave up, as far as the last packet holds it. */
function lineOf({ rawPacket, bytesParsed = 0 }: BrokenMessage): string {
  if (rawPacket === undefined) return '';
  const begin = bytesParsed === 0 ? 0 : rawPacket.lastIndexOf('\n', bytesParsed - 1) + 1;
  const end = rawPacket.indexOf('\n', begin);
  return rawPacket.subarray(begin, end === -1 ? undefined : end).toString('latin1');
}

/**
 * A request target longer than this is 414. Two ids and a code of 255 characters, each of 12 bytes
 * when percent-encoded, fit.
 */
export const TARGET_BYTES_MAX = 16 * 1024;
/** Request line and header fields together; beyond it Node stops parsing. */
export const HEAD_BYTES_MAX = 32 * 1024;
