import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerOptions } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { NestApplicationOptions } from '@nestjs/common';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import {
  LogController,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify';
import type { Logger } from 'pino';
import type { Cidr, LoggedAddresses } from '../../config/config.js';
import { Bulkhead, type Place } from '../../foundation/bulkhead.js';
import { after } from '../../foundation/world.js';
import { aliasIn, type AccessRule } from './access.js';
import { setHeadersOfEveryAnswer } from './answer-headers.js';
import { ApiError, unavailable, type ApiErrorCode } from './api-error.js';
import {
  HEAD_BYTES_MAX,
  messageFault,
  requestLate,
  TARGET_BYTES_MAX,
  TARGET_TOO_LONG,
} from './broken-messages.js';
import { trustOf, type Trust } from './client-address.js';
import { Connections } from './connections.js';
import { allowCrossOrigin, installCrossOrigin, type AllowedOrigins } from './cross-origin.js';
import { answerWithError, HttpErrorFilter, type ErrorMapping } from './http-error-filter.js';
import { DEFAULT_HTTP_LIMITS, type HttpLimits } from './http-limits.js';
import { installBodyParser } from './json-body.js';
import { factsOf } from './request-facts.js';
import { frameworkLogger, logBroken, logRequest, routeOf, type RequestLog } from './request-log.js';
import { beginSpan, endSpan, withinSpan } from './request-span.js';
import { isMatch, ROUTER_OPTIONS, RouteTable } from './route-table.js';

export interface HttpEdgeOptions {
  readonly logger: Logger;
  readonly limits?: Partial<HttpLimits>;
  /** Proxies that are trusted about the client's address. */
  readonly trustedProxies?: readonly Cidr[];
  /** The form of client addresses in the log. Default: shortened. */
  readonly logAddresses?: LoggedAddresses;
  /** Operators, health and metrics have their own listener: see `listenForOperations`. */
  readonly hasOperationsListener?: boolean;
}

/** `both`: one listener serves clients and operators. */
export type Listener = 'both' | 'public' | 'operations';

/** Counts of requests and connections. */
export interface EdgeMetrics {
  /** @param route the pattern, or `unmatched`. */
  answered(method: string, route: string, status: number, seconds: number): void;
  refused(code: ApiErrorCode): void;
  watchConnections(watched: Pick<Connections, 'inFlight' | 'connections' | 'onEnd'>): void;
}

export interface HttpEdgeParts extends Omit<ErrorMapping, 'logger'> {
  readonly metrics: EdgeMetrics;
  /** Checks a request before its body is read. @throws {ApiError} */
  readonly admit: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  readonly allowedOrigins: AllowedOrigins;
  /** Refuses a request as soon as its stores are known to hang. */
  readonly watch: (
    request: FastifyRequest,
    reply: FastifyReply,
    refuse: (error: ApiError) => void,
  ) => void;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The place of a running request. */
    place: Place | null;
    /** Waits for a place. False: none is free. */
    takePlace: (reply: FastifyReply) => Promise<boolean>;
  }
}

/** Limit of the operations listener, which has few clients. */
const OPERATIONS_CONNECTIONS_MAX = 64;

/** Limit of a download by a slow client. */
const STREAMED_WITHIN_MS = 24 * 3_600_000;

/** Forms of open pages contain a key at most, and anyone can send them. */
const OPEN_FORM_BYTES_MAX = 4_096;

/**
 * Everything between socket and controller. Usage: construct it, create the Nest application with
 * `adapter` and `applicationOptions`, and call `configure` before `init` or `listen`.
 */
export class HttpEdge {
  readonly adapter: FastifyAdapter;
  /** For `NestFactory.create`: without the framework's body parsers. */
  readonly applicationOptions: NestApplicationOptions = { bodyParser: false, abortOnError: false };
  private readonly limits: HttpLimits;
  private readonly connections: Connections;
  /** Has its own sockets, so that the public listener's clients do not affect it. */
  private readonly operations: Connections | undefined;
  private operationsServer: Server | undefined;
  private operationsPort: number | undefined;
  private readonly routes = new RouteTable();
  private readonly bulkhead: Bulkhead;
  private readonly log: RequestLog;
  private parts!: HttpEdgeParts & ErrorMapping;

  constructor(options: HttpEdgeOptions) {
    const { logger, trustedProxies = [], logAddresses: addresses = 'short' } = options;
    this.log = { logger, addresses };
    this.limits = { ...DEFAULT_HTTP_LIMITS, ...options.limits };
    const { inFlightMax } = this.limits;
    const atWorkMax = Math.min(this.limits.atWorkMax, inFlightMax);
    this.bulkhead = new Bulkhead({ atWorkMax, waitingMax: inFlightMax - atWorkMax });
    const trust = trustOf(trustedProxies);
    this.connections = new Connections(this.limits, trust);
    if (options.hasOperationsListener) {
      const max = OPERATIONS_CONNECTIONS_MAX;
      const own = { ...this.limits, connectionsMax: max, connectionsPerAddressMax: max };
      this.operations = new Connections(own, trust);
    }
    this.adapter = this.createAdapter(logger, trustedProxies.length === 0 ? false : trust);
    const server: FastifyInstance = this.adapter.getInstance();
    server.addHook('onRoute', (route) => {
      if (route.url === '*') return;
      const access = route.config?.access;
      if (access === undefined)
        throw new Error(
          `${[route.method].flat().join(', ')} ${route.url} does not say who may call it`,
        );
      this.routes.add(route.method, route.url, access);
      if (access.open) route.bodyLimit = OPEN_FORM_BYTES_MAX;
    });
    // When the server stops listening: a client whose connection closes earlier would reconnect
    // and be refused.
    server.addHook('preClose', () => this.connections.drain(this.adapter.getHttpServer()));
  }

  /** Requests whose answers are not completely sent. */
  get inFlight(): number {
    return this.connections.inFlight;
  }

  /** True while requests are processed, so that background work should yield. */
  get isBusy(): boolean {
    return this.bulkhead.isBusy;
  }

  /**
   * Serves operators, health and metrics at their own address, once the application is initialised.
   * @returns the port. @throws if it is in use.
   */
  async listenForOperations(port: number, host: string): Promise<number> {
    if (this.operationsServer === undefined) throw new Error('there is no such listener');
    await once(this.operationsServer.listen(port, host), 'listening');
    this.operationsPort = (this.operationsServer.address() as AddressInfo).port;
    return this.operationsPort;
  }

  listenerOf({ socket }: IncomingMessage): Listener {
    if (this.operations === undefined) return 'both';
    return socket.localPort === this.operationsPort ? 'operations' : 'public';
  }

  /** Closes the operations listener after a grace period for running requests. */
  async closeOperations(graceMs: number): Promise<void> {
    const { operations, operationsServer: server } = this;
    if (!operations || !server?.listening) return;
    operations.isDraining = true;
    const late = setTimeout(() => server.closeAllConnections(), graceMs);
    await once(server.close(), 'close');
    clearTimeout(late);
  }

  /** Installs checks, error answers, log lines and metrics of all requests. */
  configure(app: NestFastifyApplication, parts: HttpEdgeParts): void {
    this.parts = { ...parts, logger: this.log.logger };
    const server: FastifyInstance = this.adapter.getInstance();
    installBodyParser(server);
    this.decorateRequests(server);
    server.addHook('onRequest', (request, reply, done) => {
      // The framework's header would lose later answers: see `keepOrClose`.
      if (this.connections.isDraining) reply.raw.removeHeader('connection');
      this.answerInTime(request, reply);
      done(this.begin(request, reply));
    });
    installCrossOrigin(server, {
      allowedOrigins: parts.allowedOrigins,
      methodsOf: (request) => this.methodsOf(request),
    });
    server.addHook('onRequest', (request, reply) => this.check(request, reply));
    // A body that arrives slowly occupies a connection but no place.
    server.addHook('preValidation', (request, reply, done) => {
      // Set here, because the body's reader does not keep the context.
      const proceed = (error?: Error): void => withinSpan(request, () => done(error));
      if (accessOf(request)?.kind === 'none') return proceed();
      request.takePlace(reply).then((has) => proceed(has ? undefined : unavailable()), proceed);
    });
    // At the answer, so that requests from before a shutdown close their connections too.
    server.addHook('onSend', (request, reply, _payload, done) => {
      request.place?.leave();
      this.keepOrClose(request, reply);
      done();
    });
    server.addHook('onResponse', (request, reply, done) => {
      request.place?.leave();
      this.record(request, reply);
      done();
    });
    // Also counts and logs what the framework does not see.
    parts.metrics.watchConnections(this.connections);
    for (const connections of [this.connections, this.operations ?? []].flat())
      connections.onBroken = (answer) => {
        parts.metrics.refused(answer.body.apiErrorCode);
        logBroken(this.log, answer);
      };
    app.useGlobalFilters(new HttpErrorFilter(this.parts));
  }

  private decorateRequests(server: FastifyInstance): void {
    for (const name of ['caller', 'operator', 'console', 'place', 'facts', 'span'])
      server.decorateRequest(name, null);
    const { bulkhead } = this;
    server.decorateRequest('takePlace', async function (this: FastifyRequest, reply: FastifyReply) {
      const place = await bulkhead.enter(tenantOf(this));
      // The client has left, or its deadline has passed.
      const isOver = reply.sent || reply.raw.destroyed;
      if (isOver) place?.leave();
      else this.place = place ?? null;
      return place !== undefined && !isOver;
    });
  }

  /** @returns why the message is refused; later requests of its connection are not executed. */
  private begin(request: FastifyRequest, reply: FastifyReply): ApiError | undefined {
    beginSpan(request, routeOf(request));
    setHeadersOfEveryAnswer(request, reply);
    const fault = messageFault(request.raw);
    if (fault !== undefined) this.connectionsOf(request).closesWith(request.raw, true);
    return fault;
  }

  /** The router's refusals have no route and run no hook. */
  private refuseUnrouted(error: Error, request: FastifyRequest, reply: FastifyReply): void {
    const fault = this.begin(request, reply);
    allowCrossOrigin(request, reply);
    reply.raw.once('finish', () => this.record(request, reply));
    answerWithError(fault ?? error, request, reply, this.parts);
  }

  /** The checks before the body is read, in the contract's order. @throws {ApiError} */
  private async check(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const isLimited = accessOf(request)?.kind !== 'none';
    if (isLimited && this.bulkhead.isFullFor(tenantOf(request))) throw unavailable();
    this.checkTarget(request);
    this.parts.watch(request, reply, (error) => answerWithError(error, request, reply, this.parts));
    await this.parts.admit(request, reply);
  }

  /** Sets `Connection: close` on the last answer of a connection only. */
  private keepOrClose(request: FastifyRequest, reply: FastifyReply): void {
    const connections = this.connectionsOf(request);
    const isAsked = reply.getHeader('connection') === 'close' || !reply.raw.shouldKeepAlive;
    const closes = connections.closesWith(request.raw, isAsked);
    // During a shutdown, the framework would also close connections with pending answers.
    if (closes || connections.isDraining)
      void reply.header('connection', closes ? 'close' : 'keep-alive');
  }

  /** The framework's deadline ends with the body. */
  private answerInTime(request: FastifyRequest, reply: FastifyReply): void {
    const { streams, upload } = accessOf(request) ?? {};
    if (upload) this.connectionsOf(request).uploads.add(request.raw);
    const ms = streams || upload ? STREAMED_WITHIN_MS : this.limits.deadlineMs;
    const late = (): void => {
      if (reply.sent) return;
      if (reply.raw.headersSent) return void reply.raw.destroy();
      const error = request.raw.complete ? unavailable() : requestLate();
      answerWithError(error, request, reply, this.parts);
    };
    reply.raw.once('close', after(ms, late, { keepsProcess: false }));
  }

  private record(request: FastifyRequest, reply: FastifyReply): void {
    const { metrics } = this.parts;
    const { statusCode, elapsedTime } = reply;
    metrics.answered(request.method, routeOf(request), statusCode, elapsedTime / 1000);
    const { code } = factsOf(request);
    if (code !== undefined) metrics.refused(code);
    endSpan(request, reply);
    logRequest(this.log, request, reply);
  }

  private createAdapter(logger: Logger, trustProxy: false | Trust): FastifyAdapter {
    const { limits, connections, operations } = this;
    const nodeOptions: ServerOptions = {
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      maxHeaderSize: HEAD_BYTES_MAX,
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: limits.timeoutCheckMs,
      // Node answers a missing Host without a body; `messageFault` answers with JSON.
      requireHostHeader: false,
    };
    const options: FastifyServerOptions = {
      loggerInstance: frameworkLogger(logger),
      logController: new LogController({ disableRequestLogging: true }),
      genReqId: () => randomUUID(),
      requestIdHeader: false,
      routerOptions: ROUTER_OPTIONS,
      trustProxy,
      // Serves open connections during a shutdown: see `keepOrClose`.
      return503OnClosing: false,
      forceCloseConnections: 'idle',
      frameworkErrors: (error, request, reply) => this.refuseUnrouted(error, request, reply),
      // `Connections` answers broken messages, because it knows the socket's state.
      clientErrorHandler: () => undefined,
      serverFactory: (handle) => {
        // Called per socket of the public listener, but one is enough.
        this.operationsServer ??= operations?.createServer(nodeOptions, handle);
        return connections.createServer(nodeOptions, handle);
      },
    };
    // Middleware would also run for unmatched paths.
    return new FastifyAdapter({ ...options, skipMiddie: true });
  }

  private connectionsOf({ raw }: FastifyRequest): Connections {
    const isForOperations = this.listenerOf(raw) === 'operations';
    return (isForOperations ? this.operations : undefined) ?? this.connections;
  }

  /** Whether the request's listener serves routes with this rule. */
  private isServed({ raw }: FastifyRequest, { kind, listener }: AccessRule): boolean {
    const received = this.listenerOf(raw);
    if (received === 'both') return true;
    const isForOperators = kind === 'operator' || kind === 'console' || listener === 'operations';
    if (received === 'public') return !isForOperators;
    return isForOperators || (kind === 'none' && listener !== 'public');
  }

  /** @throws {ApiError} NOT_FOUND, METHOD_NOT_ALLOWED, BAD_REQUEST. */
  private checkTarget(request: FastifyRequest): void {
    const { method, params, raw, routeOptions } = request;
    const { url = '/' } = raw;
    if (url.length > TARGET_BYTES_MAX)
      throw new ApiError('BAD_REQUEST', { status: 414, message: TARGET_TOO_LONG });
    const access = accessOf(request);
    const isServed = access !== undefined && this.isServed(request, access);
    if (isServed && isMatch(routeOptions.url ?? '', params, url)) return;
    const allowed = this.methodsOf(request);
    if (allowed.length === 0 || allowed.includes(method)) throw new ApiError('NOT_FOUND');
    throw new ApiError('METHOD_NOT_ALLOWED', { headers: { Allow: allowed.join(', ') } });
  }

  private methodsOf(request: FastifyRequest): readonly string[] {
    return this.routes.methodsOf(request.raw.url ?? '/', (access) =>
      this.isServed(request, access),
    );
  }
}

const accessOf = ({ routeOptions }: FastifyRequest): AccessRule | undefined =>
  routeOptions.config.access;

/** The tenant whose place a request takes; operators count as one. */
const tenantOf = ({ params }: FastifyRequest): string => aliasIn(params) ?? ' operators';
