import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Registry } from 'prom-client';
import type { Pool } from 'pg';
import { publicUrlAt } from '../config/config.js';
import { connectionBudget } from '../config/connection-budget.js';
import { isNotServedNow, type Core } from '../stores/core.js';
import { atMost } from '../foundation/in-time.js';
import { Admission } from '../http/limits/admission.js';
import { FailedCredentials } from '../http/limits/call-limit.js';
import { HttpEdge } from '../http/edge/http-edge.js';
import { serveConsole } from '../console/sessions/console-gate.js';
import { HttpMetrics } from '../http/health/metrics.js';
import { OperationRuns } from '../http/operations/operation-runs.js';
import { ShareLinkVisits } from '../http/share-links/share-link-visits.js';
import { defaultFrom } from '../mails/mails.js';
import { SmtpSender, type SmtpTimes } from '../mails/sending/smtp-sender.js';
import { RecordedRuns } from '../runs/recorded-runs.js';
import { serveReference } from '../http/reference/reference-pages.js';
import { serveStartPage } from '../http/start-page/start-page.js';
import { openOperationsPool } from '../operations/projections/projection-operator.js';
import { AppModule, type ModuleParts } from './app.module.js';
import {
  databaseAnswersIn,
  storesAnswerIn,
  type ServiceReadiness,
} from '../observability/health.js';
import type { Address, ServiceOptions } from './service-options.js';
import type { Followers } from './start-followers.js';
import type { Started } from './start-in-order.js';
import type { Stores } from './start-stores.js';
import { pageOfUnmatched } from '../console/view/error-page.js';
import { RequestValidationPipe } from '../http/shapes/validation.js';
import { isWriteToken } from '../http/users/write-token.js';
import { completedError } from '../http/writing/error-message.js';
import { refuseWhenStoresHang } from '../http/writing/write-deadline.js';

export function startOperationsPool(core: Core, { config }: ServiceOptions): Started<Pool> {
  const pool = openOperationsPool(core, connectionBudget(config).operations);
  return { part: pool, undo: () => pool.end() };
}

export function startOperationRuns(
  { core: { pool, answerSealer }, presence }: Stores,
  { logger }: ServiceOptions,
): Started<OperationRuns> {
  const runs = new OperationRuns(new RecordedRuns(pool, answerSealer, presence.id), logger);
  return { part: runs, undo: () => runs.close() };
}

/** Its end records what was counted, after the last request. */
export function startVisits(
  { commands }: Core,
  { logger }: ServiceOptions,
): Started<ShareLinkVisits> {
  const visits = new ShareLinkVisits(commands, logger);
  visits.start();
  return { part: visits, undo: () => visits.stop() };
}

type OfOptions =
  | 'logger'
  | 'waitLimits'
  | 'api'
  | 'progress'
  | 'publicUrl'
  | 'webhooks'
  | 'smtp'
  | 'mailFrom'
  | 'failedCredentials';

export interface ApplicationParts extends Omit<ModuleParts, OfOptions> {
  readonly stores: Stores;
  readonly followers: Followers;
  readonly readiness: ServiceReadiness;
  readonly registry: Registry;
  readonly address: Address;
}

/** Shorter than of other mails: somebody waits. */
const PREVIEW_TIMES: SmtpTimes = {
  connectMs: 5_000,
  greetingMs: 5_000,
  silenceMs: 10_000,
  totalMs: 20_000,
};

/** The application, and what is between it and its sockets. */
export interface Application {
  readonly app: NestFastifyApplication;
  readonly edge: HttpEdge;
  /** Of all addresses; shared by what checks credentials of its own. */
  readonly failures: FailedCredentials;
}

export async function startApplication(
  parts: ApplicationParts,
  { config, logger }: ServiceOptions,
): Promise<Started<Application>> {
  const { follower, policies } = parts.followers;
  const publicUrl = (): string => config.publicUrl ?? parts.address.url;
  const connections = config.connectionsMax;
  const edge = new HttpEdge({
    logger,
    limits: {
      inFlightMax: config.requestsInFlightMax,
      // So many keep the connections busy; more would only wait there, in the order of arrival.
      atWorkMax: Math.max(12, connectionBudget(config).requests),
      connectionsMax: connections,
      // A dozen addresses leave connections to others.
      connectionsPerAddressMax: Math.min(
        config.connectionsPerAddressMax,
        Math.max(16, Math.ceil(connections / 16)),
      ),
    },
    trustedProxies: config.trustedProxies,
    logAddresses: config.logAddresses,
    hasOperationsListener: config.operationsPort !== undefined,
  });
  parts.runs.isBusy = () => edge.isBusy;
  const failures = new FailedCredentials(config.failedCredentialsPerMinute);
  const app = await NestFactory.create<NestFastifyApplication>(
    await AppModule.of({
      ...parts,
      webhooks: parts.followers.webhooks,
      failedCredentials: failures,
      logger,
      waitLimits: {
        timeoutMs: config.positionWaitMs,
        ownWritesMs: config.ownWritesWaitMs,
      },
      api: config.roles.has('api'),
      progress: {
        projectionsReach: (...awaited) => follower.waitFor(...awaited),
        projectionsHave: (...asked) => follower.have(...asked),
        policiesReach: (...awaited) => policies.waitFor(...awaited),
        projectionsAt: (names) => follower.positions(names),
        policiesAt: (scope) => policies.reachedPosition(scope),
        notIncluded: () => parts.readiness.notIncluded,
      },
      publicUrl,
      smtp: config.smtp && new SmtpSender(config.smtp, PREVIEW_TIMES),
      mailFrom: () => config.mailFrom ?? defaultFrom(publicUrl()),
    }),
    edge.adapter,
    { ...edge.applicationOptions, logger: false },
  );
  return { part: { app, edge, failures }, undo: () => app.close() };
}

/** Starts the parts that the listening application needs. */
export async function configureApplication(
  { app, edge, failures }: Application,
  { stores, rateLimits, registry, operators, generations, console }: ApplicationParts,
  { version, config }: ServiceOptions,
): Promise<void> {
  const { tenants, tokenSecrets } = stores.core;
  const admission = new Admission({
    tenants,
    tokenSecrets,
    calls: rateLimits,
    failures,
    isWriteToken,
    operators,
    console,
    isComplete: () => generations.areComplete,
  });
  const checks = {
    storesAnswer: storesAnswerIn({ pool: stores.background, log: stores.core.log }),
    databaseAnswers: databaseAnswersIn({ pool: stores.background }),
  };
  edge.configure(app, {
    admit: (request, reply) => admission.admit(request, reply),
    allowedOrigins: async (alias) => (await tenants.find(alias))?.openRules.allowedOrigins,
    metrics: new HttpMetrics(registry),
    pageOfUnmatched,
    isUnavailable: isNotServedNow,
    completed: completedError,
    watch: (request, reply, refuse) => refuseWhenStoresHang(request, reply, checks, refuse),
  });
  serveConsole(app.getHttpAdapter().getInstance(), console);
  app.useGlobalPipes(new RequestValidationPipe());
  serveReference(app, { version, publicUrl: config.publicUrl });
  serveStartPage(app, {
    version,
    publicUrl: config.publicUrl,
    listenerOf: (request) => edge.listenerOf(request),
  });
  await app.init();
}

/** Ends last: health and metrics are there while the last requests are answered. */
export async function startOperationsListener(
  { edge }: Application,
  { config }: ServiceOptions,
): Promise<Started<string | undefined>> {
  const { operationsPort, host, shutdownGraceMs } = config;
  if (operationsPort === undefined) return { part: undefined, undo: () => undefined };
  const port = await edge.listenForOperations(operationsPort, host);
  return {
    part: urlOf(host, port),
    undo: () => edge.closeOperations(shutdownGraceMs),
    limitsItself: true,
  };
}

const urlOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

export async function startListening(
  application: Application,
  { config }: ServiceOptions,
  address: Address,
): Promise<Started<string>> {
  const { app } = application;
  const { host } = config;
  await app.listen({ port: config.port, host });
  const { port } = new URL(await app.getUrl());
  address.url = publicUrlAt(config, Number(port));
  return {
    part: urlOf(host, Number(port)),
    undo: () => stopAnswering(application, config.shutdownGraceMs),
    limitsItself: true,
  };
}

/**
 * Refuses new connections; requests in flight finish within the grace period. The parts behind them
 * are stopped after that.
 */
async function stopAnswering({ app }: Application, graceMs: number): Promise<void> {
  await atMost(graceMs, app.getHttpAdapter().getInstance().close());
}
