import type { Pool } from 'pg';
import { accountProjectors } from '../../projections/account-projectors.js';
import { connectionBudget } from '../config/connection-budget.js';
import { openCore, type Core } from '../stores/core.js';
import { ClockWatch } from '../stores/clock-watch.js';
import { LogWatch } from '../stores/log-watch.js';
import { settleLoss } from '../stores/lost-log.js';
import { releaseOf } from '../stores/release.js';
import type { EventLogObserver } from '../event-log/event-log-observer.js';
import type { SeenEvent } from '../event-log/event-log.js';
import { atMost } from '../foundation/in-time.js';
import { openPool } from '../postgres/database.js';
import { listenForAnnouncements } from '../postgres/announcements.js';
import { ProcessPresence } from '../postgres/process-presence.js';
import { ensureOwnGenerations } from '../projecting/generations/generations.js';
import { LiveGenerations } from '../projecting/generations/live-generations.js';
import { recordMasterKeyOf, retireOldKeys } from '../privacy/key-rotation.js';
import { masterKeyId } from '../privacy/master-key.js';
import type { ServiceOptions } from './service-options.js';
import type { Started } from './start-in-order.js';

/** A longer batch means a server that does not answer: without a limit it would delay the stop. */
const BACKGROUND_STATEMENT_MS = 30_000;
/** Longest wait of a start for an unavailable log. */
const START_WITHOUT_LOG_MS = 2_000;

const ACTOR = { kind: 'system' as const, id: 'service' };

/** The stores, and their background work. */
export interface Stores {
  readonly core: Core;
  readonly background: Pool;
  readonly presence: ProcessPresence;
}

export async function startCore(
  { config, logger, fsync }: ServiceOptions,
  observe: EventLogObserver,
): Promise<Started<Core>> {
  const core = await openCore({
    config,
    logger,
    actor: ACTOR,
    applicationName: 'ledger-service',
    observe,
    projectors: accountProjectors,
    loadsBus: true,
    fsync,
    waitsForDatabase: true,
  });
  return { part: core, undo: () => core.close(), limitsItself: true };
}

export function startBackgroundPool(
  { databaseUrl: url }: Core,
  { config }: ServiceOptions,
): Started<Pool> {
  const background = openPool({
    url,
    max: connectionBudget(config).background,
    applicationName: 'ledger-projector',
    statementTimeoutMs: BACKGROUND_STATEMENT_MS,
  });
  return { part: background, undo: () => background.end() };
}

export async function startPresence(core: Core, background: Pool): Promise<Started<Stores>> {
  const presence = new ProcessPresence(background, releaseOf(accountProjectors));
  await presence.start();
  const masterKey = masterKeyId(core.masterKey);
  await recordMasterKeyOf(background, presence.id, masterKey);
  await retireOldKeys(background, masterKey);
  return { part: { core, background, presence }, undo: () => presence.stop() };
}

/** Repairs the database when the log has lost its end. */
export class LossSettlement {
  /** Called when a loss has hidden read models. */
  onHidden: () => void = () => undefined;

  constructor(
    private readonly stores: Stores,
    private readonly generations: LiveGenerations,
    private readonly options: ServiceOptions,
  ) {}

  async settle(noticed?: SeenEvent): Promise<void> {
    const { generations } = this;
    const { core, background } = this.stores;
    const { log } = core;
    const { logger } = this.options;
    const { epoch } = log;
    await settleLoss({ pool: background, log, projectors: accountProjectors, logger }, noticed);
    await generations.refresh();
    generations.resume(epoch);
    if (!generations.areShown) this.onHidden();
  }
}

/** The read models in use, hidden from the detection of a loss until the repair. */
export interface WatchedLog {
  readonly generations: LiveGenerations;
  readonly loss: LossSettlement;
}

export function startLogWatch(stores: Stores, options: ServiceOptions): Started<WatchedLog> {
  const { log, pool } = stores.core;
  const generations = new LiveGenerations(pool, accountProjectors);
  const loss = new LossSettlement(stores, generations, options);
  log.onWentBack(() => generations.suspend(log.epoch));
  const logWatch = new LogWatch({
    log,
    logger: options.logger,
    onLost: ({ from }) => loss.settle(from),
  });
  logWatch.start();
  return { part: { generations, loss }, undo: () => logWatch.stop() };
}

export function startClockWatch({ core }: Stores, { logger }: ServiceOptions): Started<ClockWatch> {
  const clock = new ClockWatch({ log: core.log, logger });
  clock.start();
  return { part: clock, undo: () => clock.stop() };
}

export async function startAnnouncements({
  core,
  background,
}: Stores): Promise<Started<undefined>> {
  const { tenants } = core;
  const announcements = listenForAnnouncements(background, {
    onErased: (subjects) => core.forget(subjects),
    onTenantChanged: (alias) => (alias === undefined ? tenants.distrust() : tenants.forget(alias)),
  });
  await announcements.start();
  return { part: undefined, undo: () => announcements.stop() };
}

/** Before the first request: queries need the tables. */
export async function prepareReadModels(
  { background }: Stores,
  { loss }: WatchedLog,
  { config, logger }: ServiceOptions,
): Promise<void> {
  const { beside, renewed } = await ensureOwnGenerations(background, accountProjectors);
  if (beside.length > 0)
    logger.info(
      { projections: beside },
      'the tables of read models have changed: new ones are built beside those of the other release',
    );
  if (renewed.length > 0)
    logger.warn({ projections: renewed }, 'read models are missing: they are rebuilt');
  // The log may have been restored while no process ran.
  const settling = loss.settle();
  await (config.eventStore === undefined ? settling : whileThere(settling, START_WITHOUT_LOG_MS));
}

/**
 * Waits for work on a log that may be unavailable; the follower of the log observes the outcome.
 */
async function whileThere(work: Promise<void>, ms: number): Promise<void> {
  await atMost(
    ms,
    work.catch(() => undefined),
  );
}
