import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Party } from '../../foundation/fair-slots.js';
import { elapsed } from '../../foundation/world.js';
import type { AccessRule } from './access.js';
import { plainHeaders, requestIdShown } from './answer-headers.js';
import { errorJson } from './api-error.js';
import { aliasIn } from './authentication.js';
import { TARGET_BYTES_MAX } from './broken-messages.js';
import { addressAtHead, countedAddress, type Trust } from './client-address.js';
import { crossOriginHeaders } from './cross-origin.js';
import type { Exchanges } from './exchanges.js';
import { PacedRefusals } from './paced-refusals.js';
import type { RouteTable } from './route-table.js';
import { parseTraceParent } from './trace-parent.js';

/** A refusal, for its log line and metrics. */
export interface HeadRefusal {
  readonly requestId: string;
  readonly traceId: string | undefined;
  readonly method: string;
  /** The pattern, never the path. */
  readonly route: string;
  /** The client's. */
  readonly address: string;
  readonly seconds: number;
}

/** What is known of a request by its head. */
interface Head {
  readonly route: string;
  readonly party: Party;
  readonly address: string;
}

interface Arrived extends Head {
  /** On the clock of `elapsed`. */
  readonly beganAt: number;
}

type Asked =
  ('room' | 'isSpare' | 'hasRoomFor' | 'unfinishedOn') | ('endRefused' | 'isOver' | 'closesWith');

const BODY = JSON.stringify(errorJson('UNAVAILABLE'));
const HEADERS = {
  'Content-Type': 'application/json; charset=utf-8',
  'Content-Length': String(Buffer.byteLength(BODY)),
  'Retry-After': '1',
};

/**
 * Refuses requests of tenants' routes while there is no room for them, before the framework sees
 * them: under overload most requests are refused, and what their refusals take, others do not have.
 * The answer, its log line and its metrics are those of the framework. Everything else is left to
 * the framework: requests that have room, other routes, and what is wrong by itself.
 */
export class HeadRefusals {
  /** Called for each of them. */
  onRefused: (refusal: HeadRefusal) => void = () => undefined;
  private readonly paced: PacedRefusals;
  private isEnding = false;

  /** @param trusts whether an address may name the client behind it. */
  constructor(
    private readonly exchanges: Pick<Exchanges, Asked>,
    private readonly routes: RouteTable,
    private readonly trusts: Trust,
  ) {
    this.paced = new PacedRefusals(() => exchanges.room);
  }

  /**
   * Refuses it now or in a moment. False: it has room, or is answered otherwise; nothing was done.
   * @param handle called in place of a refusal when there is room again.
   */
  refuses(
    request: IncomingMessage,
    response: ServerResponse,
    handle: (request: IncomingMessage, response: ServerResponse) => void,
  ): boolean {
    if (this.isEnding || this.exchanges.room > 0 || this.exchanges.isSpare(request)) return false;
    const beganAt = elapsed();
    const head = this.headOf(request);
    if (head === undefined || this.exchanges.hasRoomFor(head.party)) return false;
    const { socket } = request;
    this.paced.take({
      beganAt,
      isOver: () => this.exchanges.isOver(request),
      hasRoom: () => this.exchanges.hasRoomFor(head.party),
      isPipelined: () => this.exchanges.unfinishedOn(socket).length > 1,
      takeUp: () => handle(request, response),
      refuse: () => this.refuse(request, response, { ...head, beganAt }),
      drop: () => this.exchanges.endRefused(request),
    });
    return true;
  }

  /**
   * Refuses what is held, and asks its clients to close their connections with the last answer
   * there. From now on the framework has all requests.
   */
  end(): void {
    this.isEnding = true;
    this.paced.refuseAll();
  }

  private refuse(request: IncomingMessage, response: ServerResponse, head: Arrived): void {
    const { headers, method = '', url = '' } = request;
    const requestId = randomUUID();
    response.writeHead(503, {
      ...HEADERS,
      ...plainHeaders(requestIdShown(headers, requestId)),
      ...crossOriginHeaders(url),
      ...(this.isEnding && this.exchanges.closesWith(request) ? { Connection: 'close' } : {}),
    });
    response.end(BODY);
    const traceId = parseTraceParent(headers.traceparent)?.traceId;
    const { route, address, beganAt } = head;
    const seconds = (elapsed() - beganAt) / 1000;
    this.onRefused({ requestId, traceId, method, route, address, seconds });
  }

  /** Undefined: not a request of a tenant's route. */
  private headOf(request: IncomingMessage): Head | undefined {
    const { method = '', url = '', headers } = request;
    if (url.length > TARGET_BYTES_MAX || headers.host === undefined) return undefined;
    const found = this.routes.find(method, url);
    if (found === undefined || isAnsweredOtherwise(found.access)) return undefined;
    const alias = aliasIn(found.params);
    if (alias === undefined) return undefined;
    const address = addressAtHead(request, this.trusts);
    const isPassing = found.access.kind === 'tenant';
    const party = { group: alias, member: countedAddress(address), isPassing };
    return { route: found.route, party, address };
  }
}

/** Health has room beside all others; errors of pages are pages; operators are no tenant. */
const isAnsweredOtherwise = ({ kind, page = false }: AccessRule): boolean =>
  page || kind === 'none' || kind === 'operator' || kind === 'console';
