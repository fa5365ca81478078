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
import { plainHeaders } from './answer-headers.js';
import { CHALLENGE, errorJson, type ErrorJson } from './api-error.js';
import { describeBroken, framingFault, type BrokenMessage } from './broken-messages.js';
import { ConnectionsPerAddress } from './connections-per-address.js';
import type { HttpLimits } from './http-limits.js';

/** Time for the client to read the last answer before its socket is destroyed. */
const LINGER_MS = 1_000;

/** Time for the rest of a body after the last answer. */
const REST_MS = 5_000;

/** When no request has begun for so long, those in transit at the shutdown have arrived. */
const DRAIN_MS = 250;

/** A request whose answer is not sent as a whole. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** An answer to a message that never became a request of the framework's. */
export interface BrokenAnswer {
  readonly requestId: string;
  readonly body: ErrorJson;
  /** The socket's; undefined when it has ended. */
  readonly remoteAddress: string | undefined;
}

/** `unread`: its client took no answer; `turned-away`: there were too many connections. */
export type EndOfConnection = 'unread' | 'turned-away';

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

/** The HTTP server and its sockets: what the framework does not see, and the end of connections. */
export class Connections {
  /** Called for each answer below the framework. */
  onBroken: (answer: BrokenAnswer) => void = () => undefined;
  /** Called when the server ends a connection. */
  onEnd: (why: EndOfConnection) => void = () => undefined;
  /** Requests whose answers are not sent as a whole. */
  inFlight = 0;
  private readonly perAddress: ConnectionsPerAddress;
  /** The requests of a connection, oldest first. */
  private readonly open = new WeakMap<Duplex, Exchange[]>();
  private readonly last = new WeakMap<Duplex, IncomingMessage>();
  /** Connections on which no further request is read. */
  private readonly closing = new WeakSet<Duplex>();
  private isDraining = false;
  private lastBegan = 0;

  /** @param isProxy whether an address is a trusted proxy's, which has the connections of many. */
  constructor(
    private readonly limits: HttpLimits,
    isProxy: (address: string) => boolean,
  ) {
    this.perAddress = new ConnectionsPerAddress(limits.connectionsPerAddressMax, isProxy);
  }

  /** Connections of clients. */
  get connections(): number {
    return this.perAddress.size;
  }

  /** For Fastify's `serverFactory`. `options` are Node's own limits. */
  createServer(options: ServerOptions, handle: Handle): Server {
    const server = createServer(options, (request, response) => {
      if (!this.begin(request, response)) return;
      const fault = framingFault(request);
      if (fault === undefined) handle(request, response);
      else this.answer(response, errorJson('BAD_REQUEST', { message: fault }));
    });
    server.maxConnections = this.limits.connectionsMax;
    server.on('drop', () => this.onEnd('turned-away'));
    server.on('connection', (socket) => {
      if (this.perAddress.take(socket)) return this.closeOnceRead(socket);
      this.onEnd('turned-away');
      socket.destroy();
    });
    server.setTimeout(this.limits.unreadMs, (socket) => this.endSilent(socket));
    server.on('clientError', (error, socket) => this.onClientError(error, socket));
    // Node would answer these two without a body.
    server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      const message = 'The expectation cannot be met: send Expect: 100-continue or none';
      if (this.begin(request, response))
        this.answer(response, errorJson('BAD_REQUEST', { status: 417, message }));
    });
    server.on('connect', ({ socket }) =>
      this.answerRaw(
        socket,
        errorJson('BAD_REQUEST', {
          status: 501,
          message: 'The method CONNECT is not supported: this is no proxy',
        }),
      ),
    );
    return server;
  }

  /**
   * Whether the answer to this request has to close its connection, where connections are to be
   * closed: it is the last one there. Answers are sent in the order of their requests.
   */
  isLast(request: IncomingMessage): boolean {
    const last = this.open.get(request.socket)?.at(-1);
    return last === undefined || last.request === request;
  }

  /** The answer to this request closes its connection: a later request there has no answer. */
  closesWith({ socket }: IncomingMessage): void {
    this.closing.add(socket);
  }

  /**
   * Stops accepting connections, and resolves when all are closed or no request has begun for a
   * moment; new requests are served. Call it before closing the server: Node closes a connection
   * without a request immediately, and a request in transit would be lost with its client in doubt
   * about the effect.
   */
  drain(server: Server): Promise<void> {
    this.isDraining = true;
    const beganDraining = performance.now();
    return new Promise((resolve) => {
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

  /** False: the connection ends with an answer before, and the request is left alone. */
  private begin(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request;
    if (this.closing.has(socket) || socket.destroyed) return false;
    const open = this.openOn(socket);
    const exchange = { request, response };
    open.push(exchange);
    this.last.set(socket, request);
    this.inFlight += 1;
    this.lastBegan = performance.now();
    response.once('close', () => this.end(open, exchange));
    return true;
  }

  private end(open: Exchange[], exchange: Exchange): void {
    const index = open.indexOf(exchange);
    if (index === -1) return;
    open.splice(index, 1);
    this.inFlight -= 1;
    const { socket } = exchange.request;
    // Its last answer was made before the shutdown began.
    if (this.isDraining && open.length === 0 && !this.closing.has(socket)) socket.destroySoon();
  }

  private openOn(socket: Socket): Exchange[] {
    const known = this.open.get(socket);
    if (known !== undefined) return known;
    const open: Exchange[] = [];
    this.open.set(socket, open);
    // The response to a pipelined request that waits its turn does not close with the socket.
    socket.once('close', () => {
      for (const exchange of [...open]) this.end(open, exchange);
    });
    return open;
  }

  /** Nothing was sent or received for `unreadMs`, or for the time of an idle connection. */
  private endSilent(socket: Socket): void {
    const isUnread = socket.writableLength > 0;
    // The heads and bodies of requests have time limits of their own.
    const isIdle = this.last.get(socket)?.complete && this.open.get(socket)?.length === 0;
    if (!isUnread && !isIdle) return;
    if (isUnread) this.onEnd('unread');
    socket.destroy();
  }

  /** A message could not be parsed, or arrived too slowly. */
  private onClientError(error: BrokenMessage, socket: Duplex): void {
    if (this.closing.has(socket)) return;
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    const unfinished = this.open.get(socket) ?? [];
    const current = unfinished.find(({ request }) => !request.complete);
    const isAnswered = unfinished.length === 0 && this.last.get(socket)?.complete === false;
    // The message is the body of a request that has its answer: no second one.
    if (isAnswered || current?.response.headersSent) return void socket.destroy();
    this.answerAfter(
      unfinished.filter((exchange) => exchange !== current),
      socket,
      describeBroken(error),
    );
  }

  /** The last answer of a connection, in place of the framework's. */
  private answer(response: ServerResponse, body: ErrorJson): void {
    const { socket } = response.req;
    this.closing.add(socket);
    const text = JSON.stringify(body);
    response.writeHead(body.statusCode, this.headersOf(body, text, socket)).end(text);
  }

  /** The client must not match this answer to an earlier request. */
  private answerAfter(earlier: readonly Exchange[], socket: Duplex, body: ErrorJson): void {
    this.closing.add(socket);
    const [first, ...others] = earlier;
    if (first === undefined) return this.answerRaw(socket, body);
    const next = (): void => this.answerAfter(others, socket, body);
    if (first.response.writableFinished || first.response.destroyed) next();
    else first.response.once('close', next);
  }

  /**
   * Many clients write the whole body before they read. Closing the socket then would lose the
   * answer on their side, so it is half-closed until the rest is read, or for a moment.
   */
  private closeOnceRead(socket: Socket): void {
    const close = socket.destroySoon.bind(socket);
    // Node's server calls it after the last answer of a connection.
    socket.destroySoon = () => {
      const last = this.last.get(socket);
      if (last === undefined || last.complete) return close();
      socket.end();
      last.once('end', close).resume();
      setTimeout(() => socket.destroy(), REST_MS).unref();
    };
  }

  /** The same where there is no request. */
  private answerRaw(socket: Duplex, body: ErrorJson): void {
    this.closing.add(socket);
    if (!socket.writable) return void socket.destroy();
    const text = JSON.stringify(body);
    const fields = Object.entries(this.headersOf(body, text, socket));
    const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    const status = `${body.statusCode} ${STATUS_CODES[body.statusCode] ?? 'Error'}`;
    socket.end(`HTTP/1.1 ${status}\r\n${lines}\r\n${text}`);
    // Closing while the client still sends would discard the answer on its side.
    socket.resume();
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  }

  private headersOf(body: ErrorJson, text: string, socket: Duplex): Record<string, string> {
    const requestId = randomUUID();
    const remoteAddress = socket instanceof Socket ? socket.remoteAddress : undefined;
    this.onBroken({ requestId, body, remoteAddress });
    return {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': String(Buffer.byteLength(text)),
      Connection: 'close',
      ...plainHeaders(requestId),
      // The caller may be a page, and the request's origin is unknown.
      ...(body.statusCode === 401 ? { ...CHALLENGE, 'Access-Control-Allow-Origin': '*' } : {}),
    };
  }
}
