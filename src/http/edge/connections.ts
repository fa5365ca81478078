import { randomUUID } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { Server as SocketServer, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { KeptWith } from '../../foundation/kept-with.js';
import type { Logger } from '../../foundation/logger.js';
import { Acceptors } from './acceptors.js';
import { plainHeaders } from './answer-headers.js';
import { errorJson, type ErrorJson } from './api-error.js';
import { ArrivingBodies } from './arriving-bodies.js';
import { boundPieces } from './body-pieces.js';
import { describeBroken, NO_ROOM, TOO_MANY_PIECES, type BrokenMessage } from './broken-messages.js';
import { CHALLENGE } from './challenge.js';
import { Exchanges, type Exchange } from './exchanges.js';
import type { HeadRefusals } from './head-refusals.js';
import type { HttpLimits } from './http-limits.js';

/**
 * Time for the client to read the last answer on a broken connection before the socket is
 * destroyed.
 */
const LINGER_MS = 1_000;

/**
 * When no request has begun for this long, the requests in transit at the shutdown have arrived.
 */
const DRAIN_MS = 250;

const lastOfSocket = new KeptWith<Duplex, Exchange>('last exchange');

/** An answer to a message that never became a request of the framework's. */
export interface BrokenAnswer {
  readonly requestId: string;
  readonly body: ErrorJson;
  /** The socket's; undefined when it has ended. */
  readonly remoteAddress: string | undefined;
}

/**
 * The HTTP server and its sockets. Answers errors below the framework in the same JSON as all
 * others.
 */
export class Connections {
  /** The requests and their places. */
  readonly exchanges: Exchanges;
  /** Called for each answer below the framework. */
  onBroken: (answer: BrokenAnswer) => void = () => undefined;
  /**
   * Answers a request by its head, now or in a moment, or returns false: then the framework has it.
   */
  refuses: HeadRefusals['refuses'] = () => false;
  private readonly broken = new WeakSet<Duplex>();
  private readonly readingOn = new WeakSet<IncomingMessage>();
  private readonly arriving: ArrivingBodies;
  private readonly acceptors: Acceptors[] = [];

  /** @param isProxy whether an address is a trusted proxy's, which has the connections of many. */
  constructor(
    private readonly limits: HttpLimits,
    isProxy: (address: string) => boolean,
    private readonly logger: Logger,
  ) {
    this.arriving = new ArrivingBodies(limits.arrivingBytesMax);
    this.exchanges = new Exchanges(limits, isProxy);
  }

  /** For Fastify's `serverFactory`. `options` are Node's own limits. */
  createServer(
    options: ServerOptions,
    handle: (request: IncomingMessage, response: ServerResponse) => void,
  ): Server {
    const server = createServer(options, (request, response) => {
      if (this.exchanges.isDropped(request)) return;
      this.track(request, response);
      if (!this.refuses(request, response, handle)) handle(request, response);
    });
    const acceptors = new Acceptors(server, this.limits.acceptorsPerAddress);
    this.acceptors.push(acceptors);
    server.once('listening', () => void acceptors.add(this.logger));
    server.on('connection', (socket) => {
      this.exchanges.connected(socket);
      this.closeOnceRead(socket);
    });
    const { timeoutCheckMs } = this.limits;
    const search = setInterval(() => this.exchanges.endStalled(), timeoutCheckMs).unref();
    server.once('close', () => clearInterval(search));
    server.on('clientError', (error, socket) => this.onClientError(error, socket));
    // Node would answer these two without a body.
    server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      if (this.exchanges.isDropped(request)) return;
      this.track(request, response);
      const body = errorJson('BAD_REQUEST', {
        status: 417,
        message: 'The expectation cannot be met',
      });
      answer(response, body, this.requestIdOf(body, request.socket));
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
        const quietMs = performance.now() - Math.max(beganDraining, this.exchanges.lastBegan);
        if (quietMs >= DRAIN_MS) resolve();
        else timer = setTimeout(look, DRAIN_MS - quietMs);
      };
      look();
      // Closes the listening socket alone; http.Server#close closes connections as well.
      const own = new Promise<void>((closed) =>
        SocketServer.prototype.close.call(server, () => closed()),
      );
      const others = this.acceptors.map((acceptors) => acceptors.stop());
      void Promise.all([own, ...others]).then(() => {
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
    const unfinished = this.exchanges.unfinishedOn(socket);
    const current = unfinished.find(({ request }) => !request.complete);
    // The broken message is the body of a request that is being or has been answered: no second
    // answer.
    if (current?.response.headersSent || (unfinished.length === 0 && hasAnsweredUnread(socket))) {
      socket.destroy();
      return;
    }
    if (current !== undefined) this.exchanges.breakOff(current);
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
    const requestId = this.requestIdOf(body, socket);
    const text = JSON.stringify(body);
    const head = [
      `HTTP/1.1 ${body.statusCode} ${STATUS_CODES[body.statusCode] ?? 'Error'}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(text)}`,
      'Connection: close',
      ...(body.statusCode === 503 ? ['Retry-After: 1'] : []),
      ...Object.entries(plainHeaders(requestId)).map(([name, value]) => `${name}: ${value}`),
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

  private requestIdOf(body: ErrorJson, socket: Duplex): string {
    const requestId = randomUUID();
    const remoteAddress = socket instanceof Socket ? socket.remoteAddress : undefined;
    this.onBroken({ requestId, body, remoteAddress });
    return requestId;
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
    const late = setTimeout(() => socket.destroy(), this.limits.restTimeMs).unref();
    const over = (): void => {
      clearTimeout(late);
      // A kept-alive connection serves many requests.
      socket.off('close', over);
    };
    request.once('end', over).once('close', over);
    socket.once('close', over);
    request.on('data', () => {
      if (socket.bytesRead - before > this.limits.restBytesMax) socket.destroy();
    });
    // An unread body would be dropped by Node, uncounted.
    request.read(0);
    request.resume();
  }

  private track(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    lastOfSocket.set(socket, this.exchanges.begin(request, response));
    if (!hasBody(request)) return;
    this.boundBody(request, response);
    // Before Node's own listener, which may close the connection.
    response.prependOnceListener('finish', () => this.readOn(request));
  }

  private boundBody(request: IncomingMessage, response: ServerResponse): void {
    const refuse = (code: string): void =>
      this.onClientError(Object.assign(new Error(code), { code }), request.socket);
    const handedOn = this.arriving.open(request, response, () => {
      stop();
      refuse(NO_ROOM);
    });
    const stop = boundPieces(request, handedOn, () => refuse(TOO_MANY_PIECES));
  }
}

/** A request without either of them has no body. */
const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;

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

function answer(response: ServerResponse, body: ErrorJson, requestId: string): void {
  const text = JSON.stringify(body);
  response.writeHead(body.statusCode, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    Connection: 'close',
    ...plainHeaders(requestId),
  });
  response.end(text);
}
