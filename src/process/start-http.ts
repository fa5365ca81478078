import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { publicUrlAt } from '../config/config.js';
import { connectionBudget } from '../config/connection-budget.js';
import { isTemporarilyUnservable } from '../stores/core.js';
import { waitAtMost } from '../foundation/timeout.js';
import { Admission } from '../http/limits/admission.js';
import { FailedCredentials } from '../http/limits/call-limit.js';
import { HttpEdge } from '../http/edge/http-edge.js';
import { serveConsole } from '../console/sessions/console-gate.js';
import { HttpMetrics } from '../http/health/metrics.js';
import { serveReference } from '../http/reference/reference-pages.js';
import { serveStartPage } from '../http/start-page/start-page.js';
import { AppModule, type ModuleParts } from './app.module.js';
import { databaseAnswersIn, storesAnswerIn } from '../observability/health.js';
import type { Address, ServiceOptions } from './service-options.js';
import type { OnStop } from './start-in-order.js';
import type { Stores } from './start-stores.js';
import { pageOfUnmatched } from '../console/view/error-page.js';
import { RequestValidationPipe } from '../http/shapes/validation.js';
import { isWriteToken } from '../http/users/granted-fields.js';
import { completedError } from '../http/writing/error-message.js';
import { refuseWhenStoresHang } from '../http/writing/write-deadline.js';

export interface ApplicationParts extends Omit<ModuleParts, 'failures'> {
  readonly stores: Stores;
}

/** The application with its connection and credential limits. */
export interface Application {
  readonly app: NestFastifyApplication;
  readonly edge: HttpEdge;
  /** Failed credentials by address, shared with other credential checks. */
  readonly failures: FailedCredentials;
}

export async function startApplication(
  parts: ApplicationParts,
  options: ServiceOptions,
  onStop: OnStop,
): Promise<Application> {
  const { config, logger } = options;
  const connections = config.connectionsMax;
  const edge = new HttpEdge({
    logger,
    limits: {
      inFlightMax: config.requestsInFlightMax,
      // Enough to keep the connections busy; more would only queue for them.
      atWorkMax: Math.max(12, connectionBudget(config).requests),
      connectionsMax: connections,
      // About twelve addresses can use all connections.
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
    await AppModule.of({ ...parts, failures }, options),
    edge.adapter,
    { ...edge.applicationOptions, logger: false },
  );
  onStop(() => app.close());
  return { app, edge, failures };
}

/** Configures the application before it listens. */
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
    isUnavailable: isTemporarilyUnservable,
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

/** Stops last, so that health and metrics are served during the last requests. */
export async function startOperationsListener(
  { edge }: Application,
  { config }: ServiceOptions,
  onStop: OnStop,
): Promise<string | undefined> {
  const { operationsPort, host, shutdownGraceMs } = config;
  if (operationsPort === undefined) return undefined;
  const port = await edge.listenForOperations(operationsPort, host);
  onStop(() => edge.closeOperations(shutdownGraceMs), { limitsItself: true });
  return urlOf(host, port);
}

const urlOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

export async function startListening(
  { app }: Application,
  { config }: ServiceOptions,
  address: Address,
  onStop: OnStop,
): Promise<string> {
  const { host } = config;
  await app.listen({ port: config.port, host });
  const { port } = new URL(await app.getUrl());
  address.url = publicUrlAt(config, Number(port));
  // Rejects new connections and lets requests finish within the grace period, before the parts
  // they use are stopped.
  onStop(() => waitAtMost(config.shutdownGraceMs, app.getHttpAdapter().getInstance().close()), {
    limitsItself: true,
  });
  return urlOf(host, Number(port));
}
