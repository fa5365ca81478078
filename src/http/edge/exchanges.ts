import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ConnectionPlaces, type EndOfConnection } from './connection-places.js';
import { KeptWith } from '../../foundation/kept-with.js';
import { FairSlots, type Party, type Turn } from '../../foundation/fair-slots.js';
import { Deadlines } from './deadlines.js';
import { departed } from './departures.js';
import type { HttpLimits } from './http-limits.js';
import { hasTurn } from './turns.js';
import { UnreadAnswers } from './unread-answers.js';

/** A request and its answer. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The answer was made, whether or not the client takes it. */
  isAnswered: boolean;
  /** Counted among the requests that were taken up and are not answered. */
  isTakenUp: boolean;
  /** Its body cannot be read. */
  isBroken: boolean;
  /** Among the requests that are worked on. */
  turn?: Turn;
  /** Cancel what is due unless it is answered. */
  inTime?: (() => void)[];
}

/** The requests of one connection that its client has not the answers of, oldest first. */
interface Open {
  readonly exchanges: Set<Exchange>;
  unanswered: number;
  /** The answer to the last of them closes it. */
  isClosing: boolean;
}

type End = (...given: readonly unknown[]) => ServerResponse;

/** A connection's unanswered requests for health, metrics, docs; together they have no limit. */
const HEALTH_CHECKS_MAX = 8;

/**
 * A connection's requests whose answers are not taken. Node hands out all that one piece of 64 KiB
 * has before it looks at another connection, so the next one ends the connection.
 */
const PIPELINED_MAX = 16;

const NONE: ReadonlySet<Exchange> = new Set();

/** Clients of a tenant that ask in turn leave pauses; it is there all the same. */
const PAST_MS = 250;

/**
 * Requests at work, on average, from which on a tenant with more than its share of them rests
 * between its own; so does an address with more than its share of its tenant's. Others notice a
 * busy service long before slots are scarce: processors, Postgres and pauses of the garbage
 * collector have no queue that could be fair.
 */
const REST_FROM = 0.5;

/** Requests at work at once where one tenant alone asks, and each takes little. */
const QUICK_MAX = 64;

/**
 * The requests of all connections, from their heads until their answers are taken. Gives places to
 * connections and requests, and ends connections whose clients do not read.
 */
export class Exchanges {
  /** Called when the server ends a connection for the sake of others. */
  onEnd: (why: EndOfConnection) => void = () => undefined;
  /** When the last request began, on the clock of `performance.now`. */
  lastBegan = 0;
  private readonly bySocket = new Map<Duplex, Open>();
  private readonly byRequest = new KeptWith<IncomingMessage, Exchange>('exchange');
  private readonly slots: FairSlots;
  private readonly places: ConnectionPlaces;
  private readonly unread: UnreadAnswers;
  private readonly deadlines = new Map<number, Deadlines>();
  private open = 0;
  private takenUp = 0;

  /** @param isProxy whether an address is a trusted proxy's, which has the connections of many. */
  constructor(
    private readonly limits: HttpLimits,
    isProxy: (address: string) => boolean,
  ) {
    this.places = new ConnectionPlaces(limits, isProxy, (why) => this.onEnd(why));
    this.unread = new UnreadAnswers(limits, (socket) => this.endUnread(socket));
    const slots = Math.min(limits.atWorkMax, limits.inFlightMax);
    const forNewcomers = Math.floor(slots / 4);
    this.slots = new FairSlots({
      slots,
      perGroupMax: Math.ceil(slots / 3),
      // A newcomer need not wait for the work of another tenant.
      aloneMax: slots - forNewcomers,
      quickMax: Math.min(Math.max(slots, QUICK_MAX), limits.inFlightMax) - forNewcomers,
      pastMs: PAST_MS,
      restFrom: REST_FROM,
      waitingMax: limits.inFlightMax - slots,
    });
  }

  /** Requests that have begun, and whose answers their clients have not taken. */
  get inFlight(): number {
    return this.open;
  }

  /** Enough is at work that others notice more: what nobody waits for gives way. */
  get isBusy(): boolean {
    return this.slots.average() >= REST_FROM;
  }

  /** Connections with a place. */
  get connections(): number {
    return this.places.size;
  }

  /** Call it for every new connection. */
  connected(socket: Socket): void {
    this.places.take(socket);
  }

  /** The connection has no place: only health is answered there. */
  isSpare({ socket }: IncomingMessage): boolean {
    return this.places.isSpare(socket);
  }

  /** Whether a request for health can be taken up: no other client's requests stand in its way. */
  hasRoomForHealth({ socket }: IncomingMessage): boolean {
    return (this.bySocket.get(socket)?.unanswered ?? 0) <= HEALTH_CHECKS_MAX;
  }

  /**
   * How many more requests may be there. With none or fewer it depends on the party of another one
   * whether it has room.
   */
  get room(): number {
    return this.hasTakenUpAll() ? 0 : this.slots.room;
  }

  /** Whether a request of this party would be taken up. */
  hasRoomFor(party: Party): boolean {
    return !this.hasTakenUpAll() && !this.slots.isFullFor(party);
  }

  /**
   * Takes up a request: its credentials are checked and its body arrives. Besides the requests that
   * are worked on, each connection may have one of these. False: there are as many as may be, or as
   * this party may have.
   */
  takeUp(request: IncomingMessage, party: Party): boolean {
    if (!this.hasRoomFor(party)) return false;
    const exchange = this.unanswered(request);
    if (exchange === undefined) return true;
    exchange.isTakenUp = true;
    this.takenUp += 1;
    return true;
  }

  /**
   * Waits for the request's turn; it is worked on until its answer is made. False: there are as
   * many as may be, or its client has left.
   */
  async admit(request: IncomingMessage, party: Party): Promise<boolean> {
    const exchange = this.unanswered(request);
    if (exchange === undefined) return true;
    exchange.turn = this.slots.enter(party);
    hasTurn(request, exchange.turn);
    return exchange.turn.begun;
  }

  /**
   * Whether to leave a new request alone, its response included: its connection has ended, or ends
   * now, because its client waits for too many answers; or ends with an answer before. Call it
   * before `begin`.
   */
  isDropped({ socket }: IncomingMessage): boolean {
    const open = this.bySocket.get(socket);
    if (socket.destroyed || open?.isClosing) return true;
    const { size } = open?.exchanges ?? NONE;
    if (size < PIPELINED_MAX) return false;
    this.end(socket, 'pipelined');
    return true;
  }

  /** Its body cannot be read: the connection ends with an answer below the framework. */
  breakOff(exchange: Exchange): void {
    exchange.isBroken = true;
  }

  /** Whether the request needs no other answer: its connection has ended, or its body is broken. */
  isOver(request: IncomingMessage): boolean {
    return !request.socket.writable || (this.byRequest.get(request)?.isBroken ?? false);
  }

  /**
   * Whether the answer to this request has to close its connection, where connections are to be
   * closed: it is the last one there. From now on no request is taken up there: it would be carried
   * out behind that answer, and never be answered.
   */
  closesWith(request: IncomingMessage): boolean {
    const open = this.bySocket.get(request.socket);
    if (open === undefined) return true;
    const last = [...open.exchanges].at(-1);
    const isLast = last === undefined || last.request === request;
    // Where the last one has its head already, it does not close the connection: a later one will.
    open.isClosing ||= isLast || !(last.isAnswered || last.response.headersSent);
    return isLast;
  }

  /** Ends the connection of a request to which no refusal is sent. */
  endRefused({ socket }: IncomingMessage): void {
    if (!socket.destroyed) this.end(socket, 'refused');
  }

  /** What is left takes no turn from others: an answer is sent while it is read, or held. */
  leaves(request: IncomingMessage): void {
    const exchange = this.byRequest.get(request);
    if (exchange) this.leaveWork(exchange);
  }

  /**
   * Calls `late` unless the answer is made within this time, or the client leaves.
   * @param ms one of few times.
   */
  answerWithin(request: IncomingMessage, ms: number, late: () => void): void {
    const exchange = this.unanswered(request);
    if (exchange === undefined) return;
    const deadlines = this.deadlines.get(ms) ?? new Deadlines(ms);
    this.deadlines.set(ms, deadlines);
    (exchange.inTime ??= []).push(deadlines.add(late));
  }

  /** The head of a request has arrived. */
  begin(request: IncomingMessage, response: ServerResponse): Exchange {
    const { socket } = request;
    const states = { isAnswered: false, isTakenUp: false, isBroken: false };
    const exchange: Exchange = { request, response, ...states };
    const open = this.openOn(socket);
    open.exchanges.add(exchange);
    open.unanswered += 1;
    this.byRequest.set(request, exchange);
    this.open += 1;
    this.lastBegan = performance.now();
    this.places.note(socket, 'working');
    this.watchEnd(exchange, open);
    response.once('close', () => this.closed(open, exchange));
    return exchange;
  }

  /** In the order of their arrival. */
  unfinishedOn(socket: Duplex): readonly Exchange[] {
    return [...(this.bySocket.get(socket)?.exchanges ?? NONE)];
  }

  /** Ends connections whose clients take too little of their answers. Call it at intervals. */
  endStalled(): void {
    const now = performance.now();
    for (const { exchanges } of this.bySocket.values()) {
      const [first] = exchanges;
      const socket = first?.request.socket;
      if (socket !== undefined && this.unread.isStalled(socket, now)) this.endUnread(socket);
    }
  }

  /**
   * No event says so: a pipelined answer is made long before it is sent, and `prefinish` waits for
   * its turn.
   */
  private watchEnd(exchange: Exchange, open: Open): void {
    const { request, response } = exchange;
    const end = response.end.bind(response) as End;
    response.end = (...given: readonly unknown[]): ServerResponse => {
      const ended = end(...given);
      this.answered(open, exchange);
      const isUnread = open.exchanges.has(exchange) && this.unread.add(response, request.socket);
      if (isUnread && open.unanswered === 0) this.places.note(request.socket, 'unread');
      return ended;
    };
  }

  private hasTakenUpAll(): boolean {
    return this.takenUp >= this.limits.inFlightMax + this.places.size;
  }

  /** Undefined: answered, or its client has left. */
  private unanswered(request: IncomingMessage): Exchange | undefined {
    const exchange = this.byRequest.get(request);
    return exchange?.isAnswered ? undefined : exchange;
  }

  private answered(open: Open, exchange: Exchange): void {
    if (exchange.isAnswered) return;
    exchange.isAnswered = true;
    for (const isInTime of exchange.inTime ?? []) isInTime();
    open.unanswered -= 1;
    this.leaveWork(exchange);
  }

  private leaveWork(exchange: Exchange): void {
    if (exchange.isTakenUp) this.takenUp -= 1;
    exchange.isTakenUp = false;
    exchange.turn?.end();
  }

  private closed(open: Open, exchange: Exchange): void {
    if (!open.exchanges.delete(exchange)) return;
    this.open -= 1;
    this.answered(open, exchange);
    this.unread.remove(exchange.response);
    departed(exchange.request);
    if (open.exchanges.size === 0) this.places.note(exchange.request.socket, 'idle');
  }

  private openOn(socket: Socket): Open {
    const known = this.bySocket.get(socket);
    if (known !== undefined) return known;
    const made: Open = { exchanges: new Set(), unanswered: 0, isClosing: false };
    this.bySocket.set(socket, made);
    // The response to a pipelined request that waits its turn does not close with the socket.
    socket.once('close', () => {
      for (const exchange of made.exchanges) this.closed(made, exchange);
      this.bySocket.delete(socket);
    });
    return made;
  }

  private end(socket: Socket, why: EndOfConnection): void {
    this.onEnd(why);
    socket.destroy();
    dropRest(socket);
  }

  private endUnread(socket: Socket): void {
    this.onEnd('unread');
    socket.destroy();
  }
}

/**
 * Has Node's parser leave the rest of the piece that it reads, as for a protocol that takes over.
 * Without it 2 000 requests of one piece are made, some 10 ms, for a socket that has ended. Nothing
 * public says so; where the parser has no such member, they are made.
 */
function dropRest(socket: Socket): void {
  const parser: unknown = Reflect.get(socket, 'parser');
  if (typeof parser === 'object' && parser !== null && 'onIncoming' in parser)
    Reflect.set(parser, 'onIncoming', () => TAKEN_OVER);
}

const TAKEN_OVER = 2;
