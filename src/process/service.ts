import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from 'pino';
import { accountProjectors } from '../../projections/account-projectors.js';
import { ChainNames } from '../chain/chain-names.js';
import { ChainSealer } from '../chain/chain-sealer.js';
import { ChainSealing } from '../chain/chain-sealing.js';
import { publicUrlAt, type Config } from '../config/config.js';
import { Operators } from '../config/operators.js';
import { connectionBudget } from '../core/connection-budget.js';
import { isOutage, isStoreAway, openCore, type Core } from '../core/core.js';
import { LogWatch } from '../core/log-watch.js';
import { settleLoss } from '../core/lost-log.js';
import type { EventLog, SeenEvent } from '../event-log/event-log.js';
import { pause } from '../foundation/pause.js';
import { HttpEdge } from '../http/edge/http-edge.js';
import { RateLimits } from '../http/edge/rate-limits.js';
import type { TenantDirectory } from '../http/edge/tenant-directory.js';
import { createMetricsRegistry, HttpMetrics } from '../http/health/metrics.js';
import { OperationRuns } from '../http/operations/operation-runs.js';
import { serveInterfaceDescription } from '../http/shapes/openapi.js';
import { openOperationsPool } from '../operations/projections/projection-operator.js';
import { KeptAnswers } from '../kept-answers/kept-answers.js';
import { purgeAnswers } from '../kept-answers/purge-answers.js';
import { Jobs } from '../policies/jobs.js';
import { POLICIES } from '../policies/policies.js';
import { PolicyRunner } from '../policies/policy-runner.js';
import { carryOutReactions, jobHandlers } from '../policies/reactions.js';
import { openPool } from '../postgres/database.js';
import { hearErasures } from '../postgres/erasure-announcements.js';
import { ProcessPresence } from '../postgres/process-presence.js';
import { hearTenants } from '../postgres/tenant-announcements.js';
import { replayErasures } from '../privacy/erasure-replay.js';
import { scrubIfNeeded } from '../privacy/scrub.js';
import { decodeAny, decodeForProjectors } from '../projecting/decode-events.js';
import { ProjectionRunner } from '../projecting/following/projection-runner.js';
import { readModelsReachHead } from '../projecting/following/read-models-reach-head.js';
import { ensureLiveGenerations, LiveGenerations, renewOutdatedGenerations } from '../projecting/generations/generations.js';
import { AppModule } from './app.module.js';
import { ServiceReadiness, storesAnswerIn } from './health.js';
import { LedgerMetrics } from './metrics.js';

/** A batch that takes longer meets a server that does not answer: without a limit it would hold up the stop. */
const BACKGROUND_STATEMENT_MS = 30_000;

export interface Service {
  readonly core: Core;
  readonly app: NestFastifyApplication;
  /** Where it listens. */
  readonly url: string;
  readonly projections: ProjectionRunner;
  readonly policies: PolicyRunner;
  /** Requests in flight finish, checkpoints are written, everything is released. */
  stop(): Promise<void>;
}

export interface ServiceOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly version: string;
  /** False for benchmarks and tests of the embedded server. */
  readonly fsync?: boolean;
  /** Called when the stores are open, before anything listens. */
  readonly prepare?: (core: Core) => Promise<void>;
}

const CATCH_UP_BEFORE_END_MS = 2_000;
const LOOK_AGAIN_MS = 100;
/** A start does not wait longer for a log that is away. */
const START_WITHOUT_LOG_MS = 2_000;

/** Starts the whole process: stores, read models, policies, jobs, HTTP, as far as its roles ask for them. */
export async function startService({ config, logger, version, fsync, prepare }: ServiceOptions): Promise<Service> {
  const operators = await Operators.from(config.operatorsFile);
  const registry = createMetricsRegistry();
  const metrics = new LedgerMetrics(registry);
  const actor = { kind: 'system' as const, id: 'service' };
  const core = await openCore({
    config,
    logger,
    actor,
    applicationName: 'ledger-service',
    observe: metrics.eventLog,
    projectors: accountProjectors,
    fsync,
  });
  /** Undone in reverse order, whatever of it was reached. */
  const undo: (() => Promise<unknown> | void)[] = [() => core.close()];
  /** All of it, also when a part fails: the embedded Postgres comes last, and would be left running. */
  const stop = async (): Promise<void> => {
    const failures: unknown[] = [];
    for (const step of undo.splice(0).reverse()) {
      try {
        await step();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  };
  try {
    const { pool, log, codec } = core;
    const budget = connectionBudget(config);
    const background = openPool({
      url: core.databaseUrl,
      max: budget.background,
      applicationName: 'ledger-projector',
      statementTimeoutMs: BACKGROUND_STATEMENT_MS,
    });
    undo.push(() => background.end());
    const presence = new ProcessPresence(background);
    await presence.start();
    undo.push(() => presence.stop());
    // Seen to be there from here on, so that no copy of the log counts as complete any more: now it may grow.
    await core.followedLog.confirm();
    const shownBy: { readiness?: ServiceReadiness } = {};
    /** What the database holds of the end of the log is put right, should the log have lost it. */
    const settle = async (noticed?: SeenEvent): Promise<void> => {
      const { epoch } = log;
      await settleLoss({ pool: background, log, projectors: accountProjectors, logger }, noticed);
      await generations.refresh();
      generations.resume(epoch);
      if (!generations.areShown) shownBy.readiness?.catchUpAgain();
    };
    const generations = new LiveGenerations(pool);
    // What they show may be gone: nothing is shown of it before that is settled.
    log.onWentBack(() => generations.suspend(log.epoch));
    const logWatch = new LogWatch({ log, logger, onLost: ({ from }) => settle(from) });
    logWatch.start();
    undo.push(() => logWatch.stop());
    await prepare?.(core);
    const announcements = hearTenants(background, (alias) => (alias === undefined ? core.tenants.distrust() : core.tenants.forget(alias)));
    await announcements.start();
    undo.push(() => announcements.stop());
    const erased = hearErasures(background, (subjects) => core.forget(subjects));
    await erased.start();
    undo.push(() => erased.stop());

    // Before anybody asks: without tables there is no answer.
    await ensureLiveGenerations(background, accountProjectors);
    const renewed = await renewOutdatedGenerations(background, accountProjectors);
    if (renewed.length > 0) logger.warn({ projections: renewed }, 'the tables of read models have changed: they are built anew');
    // The log may have been restored while nobody ran.
    await (config.eventStore === undefined ? settle() : whileThere(settle(), START_WITHOUT_LOG_MS));
    const names = accountProjectors.map(({ name }) => name);
    const projections = new ProjectionRunner({
      pool: background,
      log,
      decode: decodeForProjectors(codec),
      projectors: accountProjectors,
      generations,
      logger,
      settle: () => settle(),
    });
    const jobsPool = openPool({ url: core.databaseUrl, max: budget.jobs, applicationName: 'ledger-jobs', bigintAsText: true });
    // The queue's library asks for listeners of its own kind, although the pool's connections have theirs.
    jobsPool.on('connect', (client) => client.on('error', () => undefined));
    undo.push(() => jobsPool.end());

    const { trustedProxies } = config;
    const edge = new HttpEdge({ logger, limits: { inFlightMax: config.requestsInFlightMax }, trustedProxies });
    const operationsPool = openOperationsPool(core, budget.operations);
    undo.push(() => operationsPool.end());
    const runs = new OperationRuns(logger);
    undo.push(() => runs.close());
    let listeningAt = '';
    const answers = new KeptAnswers(pool, presence, core.answersKey, core.keys);
    const rateLimits = new RateLimits(pool, core.names, core.streams);
    const handlers = jobHandlers({
      commands: core.commands,
      moderations: core.moderations,
      erasures: core.erasures,
      purgeKeys: async () => (await purgeAnswers(pool)) + (await rateLimits.purge()),
      scrubErased: () => scrubIfNeeded(jobsPool, { readModels: () => readModelsReachHead(pool, log, names) }),
      checkErasures: () => replayErasures(pool, log, core.keys),
    });
    const jobs = new Jobs(jobsPool, presence, { handlers, isUnavailable: isStoreAway, logger });
    const policies = new PolicyRunner({
      pool: background,
      log,
      decode: decodeAny(codec),
      policies: POLICIES,
      isUnavailable: isOutage,
      logger,
      carryOut: carryOutReactions(core.commands, jobs),
      settle: () => settle(),
    });
    const sealing = new ChainSealing({ pool: background, log, chains: new ChainNames(core.names), signer: core.chainSigner });
    const sealer = new ChainSealer({ pool: background, log, sealing, logger });
    const ready = new ServiceReadiness(core, generations, projections, policies, sealer, names);
    shownBy.readiness = ready;
    const app = await NestFactory.create<NestFastifyApplication>(
      AppModule.of({
        core,
        generations,
        answers,
        rateLimits,
        readiness: ready,
        registry,
        logger,
        operators,
        operationsPool,
        runs,
        positionWaitMs: config.positionWaitMs,
        api: config.roles.has('api'),
        progress: {
          projectionsReach: (position, of, timeoutMs) => projections.waitFor(position, of, timeoutMs),
          policiesReach: (position, timeoutMs) => policies.waitFor(position, timeoutMs),
        },
        publicUrl: () => config.publicUrl ?? listeningAt,
      }),
      edge.adapter,
      { ...edge.applicationOptions, logger: false },
    );
    undo.push(() => app.close());
    edge.configure(app, {
      tenants: edgeTenants(core),
      calls: rateLimits,
      metrics: new HttpMetrics(registry),
      isUnavailable: isStoreAway,
      operators,
      isComplete: () => generations.areComplete,
      storesAnswer: storesAnswerIn({ pool: background, log }),
    });
    metrics.watch({ projections, policies, sealer });
    serveInterfaceDescription(app, { version });
    await app.init();

    const { roles } = config;
    undo.push(() => projections.stop());
    if (roles.has('worker')) {
      await jobs.prepare();
      jobs.start();
    }
    undo.push(() => jobs.stop());
    undo.push(() => policies.stop());
    undo.push(() => sealer.stop());
    const waiting = new AbortController();
    undo.push(() => waiting.abort());
    void whenAccepted(core.log, waiting.signal, () => {
      if (roles.has('projector')) projections.start();
      if (roles.has('worker')) policies.start();
      if (roles.has('worker')) sealer.start();
    });
    void ready.catchUp();
    undo.push(() => ready.stop());
    undo.push(() => catchUpBeforeEnd(core, projections, policies, names));
    await app.listen({ port: config.port, host: config.host });
    const { port } = new URL(await app.getUrl());
    listeningAt = publicUrlAt(config, Number(port));
    undo.push(() => stopAnswering(app, config.shutdownGraceMs));
    return {
      core,
      app,
      url: `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`,
      projections,
      policies,
      stop,
    };
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
}

/** Waits for work on a log that may be away; what it comes to then is found out when the log is followed. */
async function whileThere(work: Promise<void>, ms: number): Promise<void> {
  const patience = new AbortController();
  await Promise.race([work.catch(() => undefined), pause(ms, patience.signal)]);
  patience.abort();
}

/**
 * Read models and policies go by positions, and whose positions those are is settled when the log is reached for the first time: the
 * database may move to this log then.
 */
async function whenAccepted(log: EventLog, signal: AbortSignal, begin: () => void): Promise<void> {
  while (!signal.aborted) {
    const isAccepted = await log.id().then(
      () => true,
      // Why, the health page says.
      () => false,
    );
    if (isAccepted && !signal.aborted) return begin();
    await pause(LOOK_AGAIN_MS, signal);
  }
}

/** No new connections; requests in flight finish, within the grace. What runs behind them is stopped after that. */
async function stopAnswering(app: NestFastifyApplication, graceMs: number): Promise<void> {
  const patience = new AbortController();
  const closed = app.getHttpAdapter().getInstance().close();
  await Promise.race([closed, pause(graceMs, patience.signal)]);
  patience.abort();
}

/**
 * Brings what was acknowledged into the read models and has it reacted to, as far as this process leads them, so that whoever comes next
 * has nothing to catch up with. Whatever is in the way, nothing is lost by ending: it stands in the log.
 */
async function catchUpBeforeEnd(
  { log }: Core,
  projections: ProjectionRunner,
  policies: PolicyRunner,
  names: readonly string[],
): Promise<void> {
  const deadline = performance.now() + CATCH_UP_BEFORE_END_MS;
  const left = (): number => Math.max(0, deadline - performance.now());
  try {
    const answered = await log.head();
    if (answered !== undefined && policies.role === 'leader') await policies.waitFor(answered, left());
    const head = await log.head();
    if (head === undefined) return;
    await projections.waitFor(
      head,
      names.filter((name) => projections.leads(name)),
      left(),
    );
  } catch {
    return;
  }
}

function edgeTenants({ tenants, tokenSecrets }: Core): TenantDirectory {
  return {
    find: async (alias) => {
      const tenant = await tenants.find(alias);
      return tenant && { alias, programType: tenant.programType, openEndpoints: tenant.openEndpoints, openRules: tenant.openRules };
    },
    authenticate: ({ alias }, key) => tenants.authenticate(alias, key),
    verifyToken: ({ alias }, verify) => tokenSecrets.verify(alias, (secrets, { openRules }) => verify(secrets, openRules.tokensMustExpire)),
  };
}
