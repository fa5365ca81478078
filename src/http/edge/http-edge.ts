import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { NestApplicationOptions } from '@nestjs/common';
import type { FastifyAdapter, NestFastifyApplication } from '@nestjs/platform-fastify';
import {
  LogController,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify';
import type { Logger } from 'pino';
import type { LoggedAddresses } from '../../config/config.js';
import { EventLogUnavailable } from '../../event-log/event-log.js';
import { Bulkhead, type Place } from '../../foundation/bulkhead.js';
import { after } from '../../foundation/world.js';
import { isUnavailable } from '../../postgres/database.js';
import { aliasIn, type AccessRule, type ErrorPage } from './access.js';
import { setHeadersOfEveryAnswer } from './answer-headers.js';
import { ApiError, unavailable, type ApiErrorCode } from './api-error.js';
import { HEAD_BYTES_MAX, TARGET_BYTES_MAX, TARGET_TOO_LONG } from './broken-messages.js';
import { trustOf, type AddressRange } from './client-address.js';
import { Connections } from './connections.js';
import { allowCrossOrigin, installCrossOrigin, type AllowedOrigins } from './cross-origin.js';
import {
  answerWithError,
  AnswerLate,
  HttpErrorFilter,
  loggedRefusalOf,
  type ErrorMapping,
} from './http-error-filter.js';
import { DEFAULT_HTTP_LIMITS, type HttpLimits } from './http-limits.js';
import { installBodyParser } from './json-body.js';
import { OneAnswerAdapter } from './one-answer-adapter.js';
import { OperationsListener } from './operations-listener.js';
import { factsOf } from './request-facts.js';
import { frameworkLogger, logBroken, logRequest, routeOf } from './request-log.js';
import { beginSpan, endSpan, withinSpan } from './request-span.js';
import { isLiteral, ROUTER_OPTIONS, RouteTable } from './route-table.js';
import { refuseWhenStoresHang, type StoresAnswer } from './write-deadline.js';

export interface HttpEdgeOptions {
  readonly logger: Logger;
  readonly limits?: Partial<HttpLimits>;
  /** Proxies that may name the client's address. */
  readonly trustedProxies?: readonly AddressRange[];
  /** How clients' addresses stand in the log. Default: shortened. */
  readonly logAddresses?: LoggedAddresses;
  /** Operators, health and metrics have a listener of their own: see `listenForOperations`. */
  readonly hasOperationsListener?: boolean;
}

/** `both`: one listener serves clients and operators. */
export type Listener = 'both' | 'public' | 'operations';

/** Counts of requests and connections. */
export interface EdgeMetrics {
  answered(request: {
    readonly method: string;
    /** The route's pattern, or `unmatched`. */
    readonly route: string;
    readonly status: number;
    readonly seconds: number;
  }): void;
  refused(code: ApiErrorCode): void;
  watchConnections(watched: Pick<Connections, 'inFlight' | 'connections' | 'onEnd'>): void;
}

export interface HttpEdgeParts {
  readonly metrics: EdgeMetrics;
  /** Of a path that is no route. Default: JSON. */
  readonly pageOfUnmatched?: ErrorPage;
  /**
   * Checks a request of a route before its body is read: tenant, credentials, rights, rate, media
   * type. @throws {ApiError}
   */
  readonly admit: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  readonly allowedOrigins: AllowedOrigins;
  /**
   * True for an error of an unavailable store: 503 with Retry-After. Default: the errors of the log
   * and the database.
   */
  readonly isUnavailable?: (error: unknown) => boolean;
  /** Whether the stores answer at the moment. Default: always. */
  readonly storesAnswer?: StoresAnswer;
  /** Whether the database answers at the moment, for pages of the console. Default: always. */
  readonly databaseAnswers?: StoresAnswer;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Among the requests that are worked on. */
    place: Place | null;
    /** Waits for a place. False: there is none. */
    takePlace: (reply: FastifyReply) => Promise<boolean>;
  }
}

const isStoreAway = (error: unknown): boolean =>
  error instanceof EventLogUnavailable || isUnavailable(error);

/** A client that reads slowly, and steadily, has its file within a day. */
const STREAMED_WITHIN_MS = 24 * 3_600_000;

/** Anyone may send the form of an open page, and a key is short. */
const OPEN_FORM_BYTES_MAX = 4_096;

/**
 * Everything between the socket and a controller. Usage: construct it, create the Nest application
 * with `adapter` and `applicationOptions`, call `configure` before `init` or `listen`.
 */
export class HttpEdge {
  readonly adapter: FastifyAdapter;
  /** For `NestFactory.create`: the framework's own body parsers are off. */
  readonly applicationOptions: NestApplicationOptions = { bodyParser: false, abortOnError: false };
  private readonly limits: HttpLimits;
  private readonly connections: Connections;
  private readonly operations: OperationsListener | undefined;
  private readonly routes = new RouteTable();
  private readonly bulkhead: Bulkhead;
  private readonly logger: Logger;
  private readonly addresses: LoggedAddresses;
  private draining = false;

  constructor(options: HttpEdgeOptions) {
    const { logger, trustedProxies = [], logAddresses = 'short' } = options;
    this.logger = logger;
    this.addresses = logAddresses;
    this.limits = { ...DEFAULT_HTTP_LIMITS, ...options.limits };
    const { inFlightMax } = this.limits;
    const atWorkMax = Math.min(this.limits.atWorkMax, inFlightMax);
    this.bulkhead = new Bulkhead({ atWorkMax, waitingMax: inFlightMax - atWorkMax });
    const trust = trustOf(trustedProxies);
    this.connections = new Connections(this.limits, trust);
    if (options.hasOperationsListener) this.operations = new OperationsListener(this.limits, trust);
    this.adapter = this.createAdapter(trustedProxies.length === 0 ? false : trust);
    const server: FastifyInstance = this.adapter.getInstance();
    server.addHook('onRoute', (route) => {
      if (route.url === '*') return;
      if (route.config?.access === undefined)
        throw new Error(
          `${[route.method].flat().join(', ')} ${route.url} does not say who may call it`,
        );
      this.routes.add(route.method, route.url, route.config.access);
      if (route.config.access.open) route.bodyLimit = OPEN_FORM_BYTES_MAX;
    });
    server.addHook('preClose', () => {
      // At the same moment: a client that is asked to close before would reconnect to a server that
      // no longer listens.
      this.draining = true;
      return this.connections.drain(this.adapter.getHttpServer());
    });
  }

  /** Requests whose answers are not sent as a whole. */
  get inFlight(): number {
    return this.connections.inFlight;
  }

  /** Requests are at work: work for which no client waits yields to them. */
  get isBusy(): boolean {
    return this.bulkhead.isBusy;
  }

  /**
   * Answers operators, health and metrics at an address of their own. Call it after the application
   * is initialised.
   */
  listenForOperations(port: number, host: string): Promise<number> {
    if (this.operations === undefined) throw new Error('there is no listener for operations');
    return this.operations.listen(port, host);
  }

  listenerOf(request: IncomingMessage): Listener {
    if (this.operations === undefined) return 'both';
    return this.operations.received(request) ? 'operations' : 'public';
  }

  /** Closes that listener; requests in progress have this long. */
  async closeOperations(graceMs: number): Promise<void> {
    await this.operations?.close(graceMs);
  }

  /** Installs the checks, error answers, log line and metrics of every request. */
  configure(app: NestFastifyApplication, parts: HttpEdgeParts): void {
    const { metrics, isUnavailable = isStoreAway, pageOfUnmatched } = parts;
    const mapping: ErrorMapping = { logger: this.logger, isUnavailable, pageOfUnmatched };
    const server: FastifyInstance = this.adapter.getInstance();
    installBodyParser(server);
    this.decorateRequests(server, mapping);
    server.addHook('onRequest', (request, reply, done) => {
      // The framework's own, with which answers after this one would be lost: see `keepOrClose`.
      if (this.draining) reply.raw.removeHeader('connection');
      this.answerInTime(request, reply, mapping);
      beginSpan(request, routeOf(request));
      setHeadersOfEveryAnswer(request, reply);
      done();
    });
    installCrossOrigin(server, {
      allowedOrigins: parts.allowedOrigins,
      methodsOf: (request) => this.methodsOf(request),
    });
    server.addHook('onRequest', (request, reply) => this.check(request, reply, parts, mapping));
    // A body that arrives slowly holds a connection and no place among the requests at work.
    server.addHook('preValidation', (request, reply, done) => {
      // Here and not before: what reads the body does not keep the context.
      const goOn = (error?: Error): void => withinSpan(request, () => done(error));
      if (accessOf(request)?.kind === 'none') return goOn();
      request.takePlace(reply).then((has) => goOn(has ? undefined : unavailable()), goOn);
    });
    // At the answer, not at the request: a request in progress when the shutdown began must not
    // leave its connection open.
    server.addHook('onSend', (request, reply, payload, done) => {
      if (!(payload instanceof Readable && isMadeWhileSent(request))) request.place?.leave();
      this.keepOrClose(request, reply);
      done();
    });
    server.addHook('onResponse', (request, reply, done) => {
      request.place?.leave();
      this.record(metrics, request, reply);
      done();
    });
    this.answerFrameworkError = (error, request, reply) => {
      // The router's own refusals have no route and run no hook.
      beginSpan(request, routeOf(request));
      setHeadersOfEveryAnswer(request, reply);
      allowCrossOrigin(request, reply);
      reply.raw.once('finish', () => this.record(metrics, request, reply));
      answerWithError(error, request, reply, mapping);
    };
    this.countConnections(metrics);
    app.useGlobalFilters(new HttpErrorFilter(mapping));
  }

  private decorateRequests(server: FastifyInstance, mapping: ErrorMapping): void {
    for (const name of ['caller', 'call', 'operator', 'console', 'place', 'facts', 'span'])
      server.decorateRequest(name, null);
    const { bulkhead } = this;
    server.decorateRequest('takePlace', async function (this: FastifyRequest, reply: FastifyReply) {
      const place = await bulkhead.enter(tenantOf(this));
      // Its client has left meanwhile, or its time is over.
      const isOver = reply.sent || reply.raw.destroyed;
      if (isOver) place?.leave();
      else this.place = place ?? null;
      return place !== undefined && !isOver;
    });
    server.decorateRequest('refusalOf', function (this: FastifyRequest, exception: unknown) {
      return loggedRefusalOf(exception, this, mapping);
    });
  }

  /** What the framework does not see is counted and logged, too. */
  private countConnections(metrics: EdgeMetrics): void {
    metrics.watchConnections(this.connections);
    for (const connections of [this.connections, this.operations?.connections ?? []].flat())
      connections.onBroken = (answer) => {
        metrics.refused(answer.body.apiErrorCode);
        logBroken({ logger: this.logger, addresses: this.addresses }, answer);
      };
  }

  /** The checks before the body is read, in the order of the contract. @throws {ApiError} */
  private async check(
    request: FastifyRequest,
    reply: FastifyReply,
    parts: HttpEdgeParts,
    mapping: ErrorMapping,
  ): Promise<void> {
    const access = accessOf(request);
    if (access?.kind !== 'none' && this.bulkhead.isFullFor(tenantOf(request))) throw unavailable();
    this.checkTarget(request, access);
    const {
      storesAnswer = () => Promise.resolve(true),
      databaseAnswers = () => Promise.resolve(true),
    } = parts;
    refuseWhenStoresHang(request, reply, { storesAnswer, databaseAnswers }, mapping);
    await parts.admit(request, reply);
  }

  /** The last answer of a connection says that it closes, and no other one does. */
  private keepOrClose(request: FastifyRequest, reply: FastifyReply): void {
    const { raw } = request;
    const connections = this.connectionsOf(request);
    const isAsked = reply.getHeader('connection') === 'close' || !reply.raw.shouldKeepAlive;
    const closes = isAsked || (this.draining && connections.isLast(raw));
    if (closes) connections.closesWith(raw);
    // While it ends, the framework would close a connection with answers after this one, too.
    if (closes || this.draining) void reply.header('connection', closes ? 'close' : 'keep-alive');
  }

  /** The framework's own deadline would make a signal, and an error with its stack, each time. */
  private answerInTime(request: FastifyRequest, reply: FastifyReply, mapping: ErrorMapping): void {
    const ms = accessOf(request)?.streams ? STREAMED_WITHIN_MS : this.limits.deadlineMs;
    const late = (): void => {
      if (reply.sent) return;
      if (reply.raw.headersSent) return void reply.raw.destroy();
      answerWithError(new AnswerLate('no answer in time'), request, reply, mapping);
    };
    reply.raw.once('close', after(ms, late, { keepsProcess: false }));
  }

  private record(metrics: EdgeMetrics, request: FastifyRequest, reply: FastifyReply): void {
    metrics.answered({
      method: request.method,
      route: routeOf(request),
      status: reply.statusCode,
      seconds: reply.elapsedTime / 1000,
    });
    const { code } = factsOf(request);
    if (code !== undefined) metrics.refused(code);
    endSpan(request, reply);
    logRequest({ logger: this.logger, addresses: this.addresses }, request, reply);
  }

  /** Before `configure` there is no route, so no request arrives here. */
  private answerFrameworkError: (
    error: Error,
    request: FastifyRequest,
    reply: FastifyReply,
  ) => void = (error, _request, reply) => void reply.send(error);

  private createAdapter(
    trustProxy: false | ((address: string | undefined) => boolean),
  ): FastifyAdapter {
    const { limits, connections } = this;
    const nodeOptions = {
      maxHeaderSize: HEAD_BYTES_MAX,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: limits.timeoutCheckMs,
      // Node would answer a missing Host header without a body; `checkTarget` answers in JSON.
      requireHostHeader: false,
    };
    const options: FastifyServerOptions = {
      loggerInstance: frameworkLogger(this.logger),
      logController: new LogController({ disableRequestLogging: true }),
      genReqId: () => randomUUID(),
      requestIdHeader: false,
      routerOptions: ROUTER_OPTIONS,
      trustProxy,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      // Requests on open connections during a shutdown are served: see `keepOrClose`.
      return503OnClosing: false,
      forceCloseConnections: 'idle',
      frameworkErrors: (error, request, reply) => this.answerFrameworkError(error, request, reply),
      // Broken messages are answered by `Connections`, which knows the state of the socket.
      clientErrorHandler: () => undefined,
      serverFactory: (handle) => {
        this.operations?.createServer(nodeOptions, handle);
        return connections.createServer(nodeOptions, handle);
      },
    };
    // No middleware: it would run for paths that the router has not matched.
    return new OneAnswerAdapter({ ...options, skipMiddie: true });
  }

  private connectionsOf({ raw }: FastifyRequest): Connections {
    return this.operations?.received(raw) ? this.operations.connections : this.connections;
  }

  /** Whether the listener of the request answers routes with this rule. */
  private isServed({ raw }: FastifyRequest, { kind, listener }: AccessRule): boolean {
    const received = this.listenerOf(raw);
    if (received === 'both') return true;
    const isForOperators = kind === 'operator' || kind === 'console' || listener === 'operations';
    if (received === 'public') return !isForOperators;
    return isForOperators || (kind === 'none' && listener !== 'public');
  }

  /** @throws {ApiError} NOT_FOUND, METHOD_NOT_ALLOWED, BAD_REQUEST. */
  private checkTarget(request: FastifyRequest, access: AccessRule | undefined): void {
    const { raw, params } = request;
    const { url = '/' } = raw;
    if (access !== undefined && !this.isServed(request, access)) throw new ApiError('NOT_FOUND');
    if (url.length > TARGET_BYTES_MAX)
      throw new ApiError('BAD_REQUEST', { status: 414, message: TARGET_TOO_LONG });
    if (raw.httpVersion === '1.1' && raw.headers.host === undefined)
      throw new ApiError('BAD_REQUEST', {
        validationErrors: ['Host is missing'],
        headers: { Connection: 'close' },
      });
    if (access === undefined) this.refuseUnmatched(request);
    // The router matches an empty segment with a parameter; a resource without an id is no route.
    const hasEmptyParameter = Object.values(Object(params) as object).includes('');
    if (hasEmptyParameter || !isLiteral(request.routeOptions.url ?? '', url))
      throw new ApiError('NOT_FOUND');
  }

  private methodsOf(request: FastifyRequest): readonly string[] {
    return this.routes.methodsOf(request.raw.url ?? '/', (access) =>
      this.isServed(request, access),
    );
  }

  private refuseUnmatched(request: FastifyRequest): never {
    const allowed = this.methodsOf(request);
    if (allowed.length === 0 || allowed.includes(request.method)) throw new ApiError('NOT_FOUND');
    throw new ApiError('METHOD_NOT_ALLOWED', { headers: { Allow: allowed.join(', ') } });
  }
}

const accessOf = ({ routeOptions }: FastifyRequest): AccessRule | undefined =>
  routeOptions.config.access;

/** Whose place a request takes; operators count as one tenant. */
const tenantOf = ({ params }: FastifyRequest): string => aliasIn(params) ?? ' operators';

/** A page of the console is still worked on when its heading is sent; its files are not. */
function isMadeWhileSent(request: FastifyRequest): boolean {
  const { kind, streams = false } = accessOf(request) ?? {};
  return kind === 'console' && !streams;
}
