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
import { setTimeout as wait } from 'node:timers/promises';
import { plainHeaders } from './answer-headers.js';
import type { ApiError, ErrorJson } from './api-error.js';
import { describeBroken, methodUnsupported, type BrokenMessage } from './broken-messages.js';
import { countedAddress, type Trust } from './client-address.js';
import type { HttpLimits } from './http-limits.js';

/** Time for the client to send the rest of a body and to read the last answer. */
const LAST_ANSWER_MS = 5_000;

/** After this time without a new request, those in transit at the shutdown have arrived. */
const DRAIN_MS = 250;

/** A request whose answer is not completely sent. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** An answer to a message that the framework does not see. */
export interface BrokenAnswer extends Pick<Socket, 'remoteAddress'> {
  readonly requestId: string;
  readonly body: ErrorJson;
}

/** `unread`: the client did not read its answer; `turned-away`: too many connections. */
export type EndOfConnection = 'unread' | 'turned-away';

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

/** The HTTP server's sockets: answers below the framework, and the end of connections. */
export class Connections {
  /** Called for each answer below the framework. */
  onBroken: (answer: BrokenAnswer) => void = () => undefined;
  /** Called when the server ends a connection. */
  onEnd: (why: EndOfConnection) => void = () => undefined;
  /** Requests whose answers are not completely sent. */
  inFlight = 0;
  connections = 0;
  isDraining = false;
  /** Requests with unlimited time for their bodies. */
  readonly uploads = new WeakSet<IncomingMessage>();
  private readonly perAddress = new Map<string, number>();
  /** The requests of a connection, oldest first. */
  private readonly open = new WeakMap<Duplex, Exchange[]>();
  private readonly last = new WeakMap<Duplex, IncomingMessage>();
  /** Connections from which no further request is read. */
  private readonly closing = new WeakSet<Duplex>();
  private begun = 0;

  /** @param isProxy trusted proxies carry the connections of many clients. */
  constructor(
    private readonly limits: HttpLimits,
    private readonly isProxy: Trust,
  ) {}

  /** For Fastify's `serverFactory`. */
  createServer(options: ServerOptions, handle: Handle): Server {
    const take: Handle = (request, response) => {
      if (this.begin(request, response)) handle(request, response);
    };
    const server = createServer(options, take);
    server.maxConnections = this.limits.connectionsMax;
    server.on('drop', () => this.onEnd('turned-away'));
    server.on('connection', (socket) => this.accept(socket));
    server.setTimeout(this.limits.unreadMs, (socket) => this.endSilent(socket));
    server.on('clientError', (error, socket) => this.onClientError(error, socket));
    // Node would answer these two without a body.
    server.on('checkExpectation', take);
    server.on('connect', ({ socket }) => this.answer(socket, methodUnsupported()));
    return server;
  }

  /**
   * Whether the answer closes its connection: on request, or as the last one during a shutdown.
   * Answers follow the order of requests, so later requests of the connection get none.
   */
  closesWith(request: IncomingMessage, isAsked: boolean): boolean {
    const { socket } = request;
    const isLast = (this.open.get(socket)?.at(-1)?.request ?? request) === request;
    const closes = isAsked || (this.isDraining && isLast);
    if (closes) this.closing.add(socket);
    return closes;
  }

  /**
   * Stops accepting connections; resolves when all are closed, or no request has begun for a
   * moment. New requests are served. Call it before closing the server, which closes connections
   * without a request immediately: a client with a request in transit would not know its effect.
   */
  async drain(server: Server): Promise<void> {
    this.isDraining = true;
    const closed = new Promise((resolve) => {
      // Closes only the listening socket; http.Server#close would close connections too.
      SocketServer.prototype.close.call(server, resolve);
    });
    let before: number;
    do {
      before = this.begun;
      await Promise.race([closed, wait(DRAIN_MS, undefined, { ref: false })]);
    } while (this.begun > before);
  }

  /** Limits the connections per address, so that a few addresses cannot take all. */
  private accept(socket: Socket): void {
    const { remoteAddress = '' } = socket;
    const address = countedAddress(remoteAddress);
    const isFull = (this.perAddress.get(address) ?? 0) >= this.limits.connectionsPerAddressMax;
    if (isFull && !this.isProxy(remoteAddress)) {
      this.onEnd('turned-away');
      return void socket.destroy();
    }
    this.count(address, 1);
    socket.once('close', () => this.count(address, -1));
    this.closeOnceRead(socket);
  }

  private count(address: string, more: 1 | -1): void {
    const now = (this.perAddress.get(address) ?? 0) + more;
    this.connections += more;
    if (now === 0) this.perAddress.delete(address);
    else this.perAddress.set(address, now);
  }

  /** False: the connection ends with an earlier answer, and the request is ignored. */
  private begin(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request;
    if (this.closing.has(socket) || socket.destroyed) return false;
    const open = this.openOn(socket);
    const exchange = { request, response };
    open.push(exchange);
    this.last.set(socket, request);
    this.inFlight += 1;
    this.begun += 1;
    response.once('close', () => this.end(open, exchange));
    return true;
  }

  private end(open: Exchange[], exchange: Exchange): void {
    const index = open.indexOf(exchange);
    if (index === -1) return;
    open.splice(index, 1);
    this.inFlight -= 1;
    const { socket } = exchange.request;
    // Its last answer was made before the shutdown.
    if (this.isDraining && open.length === 0 && !this.closing.has(socket)) socket.destroySoon();
  }

  private openOn(socket: Socket): Exchange[] {
    const known = this.open.get(socket);
    if (known !== undefined) return known;
    const open: Exchange[] = [];
    this.open.set(socket, open);
    // The response to a queued request does not close with its socket.
    socket.once('close', () => {
      for (const exchange of [...open]) this.end(open, exchange);
    });
    return open;
  }

  /** Called after `unreadMs`, or the idle time, without data in either direction. */
  private endSilent(socket: Socket): void {
    const isUnread = socket.writableLength > 0;
    // Heads and bodies of requests have their own time limits.
    const isIdle = this.last.get(socket)?.complete && this.open.get(socket)?.length === 0;
    if (!isUnread && !isIdle) return;
    if (isUnread) this.onEnd('unread');
    socket.destroy();
  }

  /** A message is invalid or arrived too slowly. */
  private onClientError(error: BrokenMessage, socket: Duplex): void {
    if (this.closing.has(socket)) return;
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    const unfinished = this.open.get(socket) ?? [];
    const current = unfinished.find(({ request }) => !request.complete);
    const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
    if (isLate && current && this.uploads.has(current.request)) return;
    const isAnswered = unfinished.length === 0 && this.last.get(socket)?.complete === false;
    // The message is the body of an answered request.
    if (isAnswered || current?.response.headersSent) return void socket.destroy();
    this.closing.add(socket);
    const answer = (): void => this.answer(socket, describeBroken(error));
    // Waits for earlier answers, so that the client does not confuse them.
    const before = unfinished.findLast((exchange) => exchange !== current)?.response;
    if (before === undefined || before.writableFinished) answer();
    else before.once('close', answer);
  }

  /**
   * Many clients write the whole body before they read, and would lose the answer when the socket
   * closes. So it is half-closed until the rest is read, or for a moment.
   */
  private closeOnceRead(socket: Socket): void {
    const close = socket.destroySoon.bind(socket);
    // Node calls it after the last answer of a connection.
    socket.destroySoon = () => {
      const last = this.last.get(socket);
      if (last === undefined || last.complete) return close();
      socket.end();
      last.once('end', close).resume();
      setTimeout(() => socket.destroy(), LAST_ANSWER_MS).unref();
    };
  }

  /** Writes the last answer of a connection without a request. */
  private answer(socket: Duplex, { body, headers }: ApiError): void {
    this.closing.add(socket);
    if (!socket.writable) return void socket.destroy();
    const requestId = randomUUID();
    const remoteAddress = socket instanceof Socket ? socket.remoteAddress : undefined;
    this.onBroken({ requestId, body, remoteAddress });
    const text = JSON.stringify(body);
    const fields = {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': String(Buffer.byteLength(text)),
      Connection: 'close',
      ...plainHeaders(requestId),
      ...headers,
      // The caller may be a page of unknown origin.
      ...(body.statusCode === 401 ? { 'Access-Control-Allow-Origin': '*' } : {}),
    };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    const status = `${body.statusCode} ${STATUS_CODES[body.statusCode] ?? 'Error'}`;
    socket.end(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${text}`);
    // Closing while the client still sends would discard the answer.
    socket.resume();
    setTimeout(() => socket.destroy(), LAST_ANSWER_MS).unref();
  }
}
