import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerOptions } from 'node:http';
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
import { NO_OPERATORS, type CurrentOperators } from '../../config/operators.js';
import { EventLogUnavailable } from '../../event-log/event-log.js';
import type { Party } from '../../foundation/fair-slots.js';
import { elapsed } from '../../foundation/world.js';
import { isUnavailable } from '../../postgres/database.js';
import type { ConsoleGate } from '../console/sessions/console-gate.js';
import type { HttpMetrics } from '../health/metrics.js';
import { RequestValidationPipe } from '../shapes/validation.js';
import { acceptWaiting } from './acceptors.js';
import { isOpenEndpoint, refuseBrokenEscapes, type AccessRule } from './access.js';
import { setHeadersOfEveryAnswer } from './answer-headers.js';
import { ApiError, unavailable } from './api-error.js';
import { aliasIn, authenticate, authenticateOperator, tenantOf } from './authentication.js';
import { HEAD_BYTES_MAX, TARGET_BYTES_MAX } from './broken-messages.js';
import { callOf, type Call } from './call.js';
import {
  limitCalls,
  limitCallsOfMode,
  limitCallsOfTenant,
  limitCallsOfUser,
  limitNewUsers,
  type CallCounter,
} from './call-limit.js';
import { clientAddress, countedAddress, trustOf, type AddressRange } from './client-address.js';
import { Connections } from './connections.js';
import type { Exchanges } from './exchanges.js';
import { OperationsListener } from './operations-listener.js';
import {
  allowCrossOrigin,
  answerPreflight,
  isPreflight,
  restrictOrigins,
  refuseCrossSite,
} from './cross-origin.js';
import { FailedCredentials } from './failed-credentials.js';
import {
  answerWithError,
  AnswerLate,
  HttpErrorFilter,
  type ErrorMapping,
  loggedRefusalOf,
} from './http-error-filter.js';
import { HeadRefusals } from './head-refusals.js';
import { HeldRefusals } from './held-refusals.js';
import { DEFAULT_HTTP_LIMITS, type HttpLimits } from './http-limits.js';
import { checkContentType, demandJson, installBodyParser } from './json-body.js';
import { factsOf } from './request-facts.js';
import { RefusalLines } from './refusal-lines.js';
import { frameworkLogger, logBroken, logRequest, routeOf } from './request-log.js';
import { beginSpan, endSpan, withinSpan } from './request-span.js';
import { ROUTER_OPTIONS, RouteTable } from './route-table.js';
import { isTenantAlias, type TenantDirectory } from './tenant-directory.js';
import { OneAnswerAdapter } from './one-answer-adapter.js';
import { refuseWhenStoresHang, type StoresAnswer } from './write-deadline.js';

export interface HttpEdgeOptions {
  readonly logger: Logger;
  readonly limits?: Partial<HttpLimits>;
  /** Proxies that may name the client's address. */
  readonly trustedProxies?: readonly AddressRange[];
  /** How clients' addresses stand in the log. Default: shortened. */
  readonly logAddresses?: LoggedAddresses;
  /** Health and metrics are for a listener of their own: see `listenForOperations`. */
  readonly hasOperationsListener?: boolean;
}

export interface HttpEdgeParts {
  readonly tenants: TenantDirectory;
  /** Who may call routes for operators. Default: no one. */
  readonly operators?: CurrentOperators;
  /** Who may enter the console. Default: no one. */
  readonly console?: ConsoleGate;
  readonly metrics: HttpMetrics;
  /** Counts calls of clients without an API key. */
  readonly calls: CallCounter;
  /**
   * True for an error of an unavailable store: 503 with Retry-After. Default: the errors of the log
   * and the database.
   */
  readonly isUnavailable?: (error: unknown) => boolean;
  /** Whether the stores answer at the moment. Default: always. */
  readonly storesAnswer?: StoresAnswer;
  /** Whether the database answers at the moment, for pages of the console. Default: always. */
  readonly databaseAnswers?: StoresAnswer;
  /** False while read models are incomplete: tenants' routes answer 503. Default: always true. */
  readonly isComplete?: () => boolean;
}

const isStoreAway = (error: unknown): boolean =>
  error instanceof EventLogUnavailable || isUnavailable(error);

/** Methods whose body is never read. */
const BODYLESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE']);

/**
 * Everything between the socket and a controller. Usage: construct it, create the Nest application
 * with `adapter` and `applicationOptions`, call `configure` before `init` or `listen`.
 */
export class HttpEdge {
  readonly adapter: FastifyAdapter;
  /** For `NestFactory.create`: the framework's own body parsers are off. */
  readonly applicationOptions: NestApplicationOptions = { bodyParser: false, abortOnError: false };
  private readonly connections: Connections;
  private readonly operations: OperationsListener | undefined;
  private readonly routes = new RouteTable();
  private readonly limits: HttpLimits;
  /** Of all addresses; shared by what checks credentials of its own. */
  readonly failures: FailedCredentials;
  private readonly refusals: HeldRefusals;
  private readonly atHead: HeadRefusals;
  private readonly refusalLines: RefusalLines;
  private readonly logger: Logger;
  private readonly addresses: LoggedAddresses;
  private draining = false;
  private failedAtMs = -Infinity;

  constructor({
    logger,
    limits,
    trustedProxies = [],
    logAddresses = 'short',
    hasOperationsListener = false,
  }: HttpEdgeOptions) {
    this.logger = logger;
    this.addresses = logAddresses;
    this.limits = { ...DEFAULT_HTTP_LIMITS, ...limits };
    this.failures = new FailedCredentials(this.limits.failedCredentialsPerMinute);
    this.refusals = new HeldRefusals(this.limits.failedCredentialsPerMinute);
    this.refusalLines = new RefusalLines({ logger, addresses: logAddresses });
    const trust = trustOf(trustedProxies);
    this.connections = new Connections(this.limits, trust, logger);
    this.atHead = new HeadRefusals(this.connections.exchanges, this.routes, trust);
    if (hasOperationsListener) this.operations = new OperationsListener(this.limits, trust, logger);
    this.adapter = this.createAdapter(trustedProxies);
    this.adapter.getInstance().addHook('onRoute', (route) => {
      if (route.config?.access === undefined)
        throw new Error(
          `${[route.method].flat().join(', ')} ${route.url} does not say who may call it`,
        );
      this.routes.add(route.method, route.url, route.config.access);
      if (route.config.access.open) route.bodyLimit = OPEN_FORM_BYTES_MAX;
    });
    this.adapter.getInstance().addHook('preClose', () => {
      // At the same moment: a client that is asked to close before would reconnect to a server that
      // no longer listens.
      this.beginShutdown();
      return this.connections.drain(this.adapter.getHttpServer());
    });
  }

  /** Requests whose answers their clients have not taken. */
  get inFlight(): number {
    return this.connections.exchanges.inFlight;
  }

  /** Enough requests are at work that other work slows them down. */
  get isBusy(): boolean {
    return this.connections.exchanges.isBusy;
  }

  /** When a request last failed because of a store, on the clock of `elapsed`. */
  get storesFailedAtMs(): number {
    return this.failedAtMs;
  }

  /**
   * Answers routes of no tenant at an address of its own, beside all limits of the public one. Call
   * it after the application is initialised.
   */
  listenForOperations(port: number, host: string): Promise<number> {
    if (this.operations === undefined) throw new Error('there is no listener for operations');
    return this.operations.listen(port, host);
  }

  /** Whether a request arrived at that listener. */
  receivedForOperations(request: IncomingMessage): boolean {
    return this.operations?.received(request) ?? false;
  }

  /** Closes that listener; requests in progress have this long. */
  async closeOperations(graceMs: number): Promise<void> {
    await this.operations?.close(graceMs);
  }

  /**
   * From now on every answer asks the client to close its connection; requests are still served.
   * Closing the server begins with this call.
   */
  beginShutdown(): void {
    this.draining = true;
    this.atHead.end();
    this.refusalLines.endSecond();
  }

  /**
   * Resolves when the connections that the system has made are accepted. Call it before closing the
   * server: it asks clients to close and to connect anew, so that there are always some.
   */
  acceptWaiting(): Promise<void> {
    return acceptWaiting(this.adapter.getHttpServer());
  }

  /** Installs the checks, error answers, log line and metrics of every request. */
  configure(app: NestFastifyApplication, parts: HttpEdgeParts): void {
    const {
      metrics,
      storesAnswer = () => Promise.resolve(true),
      databaseAnswers = () => Promise.resolve(true),
    } = parts;
    const mapping = this.errorMapping(parts);
    const server: FastifyInstance = this.adapter.getInstance();
    metrics.watchConnections(this.connections.exchanges);
    installBodyParser(server);
    server.decorateRequest('caller', null);
    server.decorateRequest('call', null);
    server.decorateRequest('operator', null);
    server.decorateRequest('console', null);
    server.decorateRequest('refusalOf', function (this: FastifyRequest, exception: unknown) {
      return loggedRefusalOf(exception, this, mapping);
    });
    server.addHook('onRequest', async (request, reply) => {
      this.answerInTime(request, reply, mapping);
      beginSpan(request, routeOf(request));
      setHeadersOfEveryAnswer(request, reply);
      allowCrossOrigin(request, reply);
      this.checkListener(request);
      if (await this.isAnsweredPreflight(request, reply, parts)) return;
      this.checkTarget(request);
      const unlessWithin = (ms: number, call: () => void): void =>
        this.exchangesOf(request).answerWithin(request.raw, ms, call);
      const checks = { storesAnswer, databaseAnswers, unlessWithin };
      refuseWhenStoresHang(request, reply, checks, mapping);
      await this.admit(request, reply, parts);
    });
    // A body that arrives slowly holds a connection and no place among the requests in progress.
    server.addHook('preValidation', (request, _reply, done) => {
      // Here and not before: what reads the body does not keep the context.
      const goOn = (error?: Error): void => withinSpan(request, () => done(error));
      void this.hasTurn(request).then((has) => goOn(has ? undefined : unavailable()), goOn);
    });
    if (parts.console !== undefined) serveConsole(server, parts.console);
    // At the answer, not at the request: a request in progress when the shutdown began must not
    // leave its connection open.
    server.addHook('onSend', (request, reply, payload, done) => {
      if (payload instanceof Readable && !isMadeWhileSent(request))
        this.exchangesOf(request).leaves(request.raw);
      const send = (): void => (this.keepOrClose(request, reply), done());
      if (isRefusedUnknown(request, reply)) this.sendRefusal(request, send);
      else send();
    });
    this.answerBelowFramework(metrics);
    server.addHook('onResponse', (request, reply, done) => {
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
    app.useGlobalFilters(new HttpErrorFilter(mapping));
    app.useGlobalPipes(new RequestValidationPipe());
  }

  /** While it ends, the framework would close a connection with answers behind this one, too. */
  private keepOrClose(request: FastifyRequest, reply: FastifyReply): void {
    const exchanges = this.exchangesOf(request);
    if (!this.draining && !exchanges.isSpare(request.raw)) return;
    if (exchanges.closesWith(request.raw)) void reply.header('Connection', 'close');
    else if (reply.raw.hasHeader('Connection')) reply.raw.removeHeader('Connection');
  }

  private errorMapping({ isUnavailable = isStoreAway }: HttpEdgeParts): ErrorMapping {
    const onOutage = (): void => void (this.failedAtMs = elapsed());
    return { logger: this.logger, isUnavailable, onOutage };
  }

  /** What the framework does not see is counted and logged, too. */
  private answerBelowFramework(metrics: HttpMetrics): void {
    for (const connections of [this.connections, this.operations?.connections ?? []].flat())
      connections.onBroken = (answer) => {
        metrics.refused(answer.body.apiErrorCode);
        logBroken({ logger: this.logger, addresses: this.addresses }, answer);
      };
    this.atHead.onRefused = (refusal) => {
      const { method, route, seconds } = refusal;
      metrics.answered({ method, route, status: 503, seconds });
      metrics.refused('UNAVAILABLE');
      this.refusalLines.add(refusal);
    };
    // Of the public listener: on the other one routes of no tenant are answered. During a shutdown
    // the framework asks the client to close.
    this.connections.refuses = (...given) => this.atHead.refuses(...given);
  }

  /**
   * The framework's own deadline would make a signal and an error with its stack for each request,
   * and a timer.
   */
  private answerInTime(request: FastifyRequest, reply: FastifyReply, mapping: ErrorMapping): void {
    const streams = request.routeOptions.config.access?.streams ?? false;
    const ms = streams ? STREAMED_WITHIN_MS : this.limits.deadlineMs;
    this.exchangesOf(request).answerWithin(request.raw, ms, () => {
      if (reply.sent) return;
      if (reply.raw.headersSent) return void reply.raw.destroy();
      answerWithError(new AnswerLate('no answer in time'), request, reply, mapping);
    });
  }

  private record(metrics: HttpMetrics, request: FastifyRequest, reply: FastifyReply): void {
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

  private createAdapter(trustedProxies: readonly AddressRange[]): FastifyAdapter {
    const { limits, connections } = this;
    const options: FastifyServerOptions = {
      loggerInstance: frameworkLogger(this.logger),
      logController: new LogController({ disableRequestLogging: true }),
      genReqId: () => randomUUID(),
      requestIdHeader: false,
      routerOptions: ROUTER_OPTIONS,
      trustProxy: trustedProxies.length === 0 ? false : trustOf(trustedProxies),
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      // Requests on open connections during a shutdown are served, with `Connection: close` (see
      // `beginShutdown`).
      return503OnClosing: false,
      forceCloseConnections: 'idle',
      frameworkErrors: (error, request, reply) => this.answerFrameworkError(error, request, reply),
      // Broken messages are answered by `Connections`, which knows the state of the socket.
      clientErrorHandler: () => undefined,
      serverFactory: (handle) => {
        const options = serverOptions(limits);
        this.operations?.createServer(options, handle);
        return connections.createServer(options, handle);
      },
    };
    // No middleware: it would run for paths that the router has not matched.
    return new OneAnswerAdapter({ ...options, skipMiddie: true });
  }

  /** Whether the listener of the request answers routes with this rule. */
  private isServed({ raw }: FastifyRequest, access: AccessRule): boolean {
    if (this.operations === undefined) return true;
    return this.operations.received(raw) ? access.kind === 'none' : !access.operationsOnly;
  }

  /** @throws {ApiError} NOT_FOUND. */
  private checkListener(request: FastifyRequest): void {
    const { access } = request.routeOptions.config;
    if (access !== undefined && !this.isServed(request, access)) throw new ApiError('NOT_FOUND');
  }

  private sendRefusal(request: FastifyRequest, send: () => void): void {
    const exchanges = this.exchangesOf(request);
    this.refusals.take(countedAddress(clientAddress(request)), {
      send,
      onHeld: () => exchanges.leaves(request.raw),
      onDropped: () => {
        exchanges.endRefused(request.raw);
        send();
      },
    });
  }

  private exchangesOf({ raw }: FastifyRequest): Exchanges {
    return this.operations?.received(raw)
      ? this.operations.connections.exchanges
      : this.connections.exchanges;
  }

  private checkTarget(request: FastifyRequest): void {
    const { raw } = request;
    if ((raw.url?.length ?? 0) > TARGET_BYTES_MAX)
      throw new ApiError('BAD_REQUEST', { status: 414, message: 'The request target is too long' });
    if (
      raw.httpVersionMajor === 1 &&
      raw.httpVersionMinor === 1 &&
      raw.headers.host === undefined
    ) {
      throw new ApiError('BAD_REQUEST', {
        validationErrors: ['Host is missing'],
        headers: { Connection: 'close' },
      });
    }
    if (request.is404) this.refuseUnmatched(request);
    // The router matches an empty segment with a parameter; a resource without an id is no route.
    if (hasEmptyParameter(request.params)) throw new ApiError('NOT_FOUND');
  }

  private refuseUnmatched(request: FastifyRequest): never {
    const isServed = (access: AccessRule): boolean => this.isServed(request, access);
    const allowed = this.routes.methodsOf(request.raw.url ?? '/', isServed);
    if (allowed.length === 0 || allowed.includes(request.method)) throw new ApiError('NOT_FOUND');
    throw new ApiError('METHOD_NOT_ALLOWED', { headers: { Allow: allowed.join(', ') } });
  }

  /**
   * Answers preflight requests without credentials, and whether or not the open endpoints are
   * enabled.
   */
  private async isAnsweredPreflight(
    request: FastifyRequest,
    reply: FastifyReply,
    { tenants }: HttpEdgeParts,
  ): Promise<boolean> {
    if (!isPreflight(request)) return false;
    const target = request.raw.url ?? '/';
    const methods = this.routes.methodsOf(target, (access) => this.isServed(request, access));
    if (methods.length === 0 || methods.includes('OPTIONS')) return false;
    const alias = tenantAliasIn(target);
    const tenant = isTenantAlias(alias) ? await tenants.find(alias) : undefined;
    if (tenant === undefined) throw new ApiError('TENANT_NOT_FOUND');
    restrictOrigins(request, reply, tenant);
    answerPreflight(reply, methods);
    return true;
  }

  private async admit(
    request: FastifyRequest,
    reply: FastifyReply,
    parts: HttpEdgeParts,
  ): Promise<void> {
    const { tenants, calls, isComplete = () => true } = parts;
    const { access } = request.routeOptions.config;
    if (access === undefined) throw new ApiError('FORBIDDEN');
    this.checkRoom(request, access);
    if (access.kind === 'operator') {
      const operators = parts.operators ?? NO_OPERATORS;
      request.operator = await this.counted(
        request,
        authenticateOperator(request, access, operators),
      );
      refuseCrossSite(request);
      refuseBrokenEscapes(request);
      if (!BODYLESS.has(request.method)) demandJson(request);
      return checkContentTypeOf(request, access.emptyBody);
    }
    if (access.kind === 'console') {
      if (parts.console === undefined) throw new ApiError('NOT_FOUND');
      return parts.console.enter(request, access);
    }
    if (access.kind !== 'none' && !isComplete()) throw unavailable();
    if (isOpenEndpoint(access)) restrictOrigins(request, reply, await tenantOf(request, tenants));
    request.caller = await this.counted(request, authenticate(request, access, tenants));
    if (access.kind === 'key' || access.kind === 'key-open') refuseCrossSite(request);
    if (access.counted !== undefined) await limit(callOf(request, reply), access, calls);
    checkContentTypeOf(request, access.emptyBody);
  }

  /** Health and metrics have room beside all others. @throws {ApiError} UNAVAILABLE. */
  private checkRoom(request: FastifyRequest, { kind }: AccessRule): void {
    const { raw } = request;
    const exchanges = this.exchangesOf(request);
    const hasRoom =
      kind === 'none'
        ? exchanges.hasRoomForHealth(raw)
        : !exchanges.isSpare(raw) && exchanges.takeUp(raw, partyOf(request));
    if (!hasRoom) throw unavailable();
  }

  /** Waits for the request's turn to be worked on. False: it has none. */
  private async hasTurn(request: FastifyRequest): Promise<boolean> {
    const isHealth = request.routeOptions.config.access?.kind === 'none';
    return isHealth || this.exchangesOf(request).admit(request.raw, partyOf(request));
  }

  /**
   * Counts failed credentials; a call without any has not failed.
   * @throws {ApiError} RATE_LIMITED in place of UNAUTHORIZED when its address has failed too often.
   */
  private async counted<T>(request: FastifyRequest, authenticating: Promise<T>): Promise<T> {
    try {
      return await authenticating;
    } catch (error) {
      const hasFailed =
        error instanceof ApiError && error.code === 'UNAUTHORIZED' && hasCredentials(request);
      const limited = hasFailed && this.failures.count(countedAddress(clientAddress(request)));
      throw limited || error;
    }
  }
}

/** Reads the forms of the console, and records whoever is refused a page. */
function serveConsole(server: FastifyInstance, gate: ConsoleGate): void {
  server.addHook('preHandler', (request, _reply, done) => {
    const { access } = request.routeOptions.config;
    if (access?.kind !== 'console') return done();
    gate.readForm(request, access).then(() => done(), done);
  });
  server.addHook('onSend', (request, reply, _payload, done) => {
    const { access } = request.routeOptions.config;
    if (access?.kind !== 'console' || reply.statusCode !== 403) return done();
    gate.noteRefusal(request).then(() => done(), done);
  });
}

const serverOptions = (limits: HttpLimits): ServerOptions => ({
  maxHeaderSize: HEAD_BYTES_MAX,
  headersTimeout: limits.headersTimeoutMs,
  requestTimeout: limits.requestTimeoutMs,
  keepAliveTimeout: limits.keepAliveTimeoutMs,
  connectionsCheckingInterval: limits.timeoutCheckMs,
  // Node would answer a missing Host header without a body; `checkTarget` answers in JSON.
  requireHostHeader: false,
});

/** A client that reads slowly, and steadily, has its file within a day. */
const STREAMED_WITHIN_MS = 24 * 3_600_000;

/** Anybody may send such a form, and a key is short. */
const OPEN_FORM_BYTES_MAX = 4_096;

/**
 * Tenants take turns, and within a tenant its clients. Operators count as one tenant; those who are
 * known take turns by their names, since they may share the address of their office.
 */
const partyOf = (request: FastifyRequest): Party => ({
  group: aliasIn(request.params) ?? ' operators',
  member:
    (request.operator ?? request.console?.session?.operator)?.name ??
    countedAddress(clientAddress(request)),
  isPassing: request.routeOptions.config.access?.kind === 'tenant',
});

/** A page of the console is still worked on when its heading is sent; its files are not. */
function isMadeWhileSent({ routeOptions }: FastifyRequest): boolean {
  const { kind, streams = false } = routeOptions.config.access ?? {};
  return kind === 'console' && !streams;
}

/** A refusal to somebody without good credentials, whatever was refused. */
function isRefusedUnknown(
  { caller, operator, console: entered }: FastifyRequest,
  { statusCode }: FastifyReply,
): boolean {
  if (statusCode < 400 || statusCode >= 500 || operator || entered?.session) return false;
  return !caller || caller.actor.kind === 'anyone';
}

const hasCredentials = ({ headers }: FastifyRequest): boolean =>
  Boolean(headers.authorization) || Boolean(headers['x-saasquatch-user-token']);

async function limit(call: Call, access: AccessRule, calls: CallCounter): Promise<void> {
  const { counted } = access;
  if (counted === undefined) return;
  if (counted === 'post-events') return limitCallsOfUser(call, counted, calls);
  if (counted === 'test-webhook') return limitCallsOfTenant(call, counted, calls);
  if (counted === 'change-webhooks') return limitCallsOfMode(call, counted, calls);
  if (counted !== 'create-user') return limitCalls(call, counted, calls);
  const { token } = call;
  // A token's call is about its own user, except for a visitor's, whose user is named in the body.
  if (token?.kind === 'user' && access.kind !== 'visitor-open')
    await limitNewUsers(call, token, calls);
}

/** `/api/v1/{alias}/…`; a well-formed alias needs no decoding. */
const tenantAliasIn = (target: string): string => target.split('/')[3] ?? '';

function checkContentTypeOf(request: FastifyRequest, emptyBody: boolean): void {
  if (request.method === 'GET' || request.method === 'HEAD') return;
  checkContentType(request, emptyBody || BODYLESS.has(request.method));
}

function hasEmptyParameter(params: unknown): boolean {
  return (
    typeof params === 'object' &&
    params !== null &&
    Object.values(params).some((value) => value === '')
  );
}
