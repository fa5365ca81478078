import type { Pool } from 'pg';
import { accountProjectors } from '../../projections/account-projectors.js';
import { connectionBudget } from '../config/connection-budget.js';
import { openCore, type Core } from '../stores/core.js';
import { LogWatch } from '../stores/log-watch.js';
import { repairLoss } from '../stores/lost-log.js';
import { watchClock } from '../stores/watch-clock.js';
import { releaseOf } from '../stores/release.js';
import { LogOlderThanBaseline, type SeenEvent } from '../event-log/event-log.js';
import { waitAtMost } from '../foundation/timeout.js';
import { openPool } from '../postgres/database.js';
import { listenForAnnouncements } from '../postgres/announcements.js';
import { ProcessPresence } from '../postgres/process-presence.js';
import { ensureOwnGenerations } from '../projecting/generations/generations.js';
import { LiveGenerations } from '../projecting/generations/live-generations.js';
import { recordMasterKeyOf, retireOldKeys } from '../privacy/key-rotation.js';
import { masterKeyId } from '../privacy/master-key.js';
import type { Metrics } from '../observability/metrics.js';
import type { ServiceOptions } from './service-options.js';
import type { OnStop } from './start-in-order.js';

/** A longer batch indicates a hanging server and would delay the stop. */
const BACKGROUND_STATEMENT_MS = 30_000;
/** Longest wait for an unavailable log at the start. */
const START_WITHOUT_LOG_MS = 2_000;

const ACTOR = { kind: 'system' as const, id: 'service' };

export interface Stores {
  readonly core: Core;
  readonly background: Pool;
  readonly presence: ProcessPresence;
}

/** Opens the stores, and prepares the database for this release and log. */
export async function startStores(
  options: ServiceOptions,
  metrics: Metrics,
  onStop: OnStop,
): Promise<{ readonly stores: Stores; readonly watched: WatchedLog }> {
  const { config, logger, fsync } = options;
  const core = await openCore({
    config,
    logger,
    actor: ACTOR,
    applicationName: 'ledger-service',
    observe: metrics.observe.eventLog,
    projectors: accountProjectors,
    loadsBus: true,
    fsync,
    waitsForDatabase: true,
  });
  onStop(() => core.close(), { limitsItself: true });
  metrics.watchPool('requests', core.pool);
  const background = openPool({
    url: core.databaseUrl,
    max: connectionBudget(config).background,
    applicationName: 'ledger-projector',
    statementTimeoutMs: BACKGROUND_STATEMENT_MS,
  });
  onStop(() => background.end());
  metrics.watchPool('background', background);
  const presence = new ProcessPresence(background, releaseOf(accountProjectors));
  await presence.start();
  onStop(() => presence.stop());
  const masterKey = masterKeyId(core.masterKey);
  await recordMasterKeyOf(background, presence.id, masterKey);
  await retireOldKeys(background, masterKey);
  const stores = { core, background, presence };
  // Announces this process, so that copies of the log are incomplete from now on.
  await core.followedLog.confirm();
  const watched = startLogWatch(stores, options, onStop);
  await startAnnouncements(stores, onStop);
  await prepareReadModels(stores, watched, options);
  return { stores, watched };
}

/** The read models, hidden as soon as the log is known to have lost events. */
export class WatchedLog {
  readonly generations: LiveGenerations;
  /** Called when a loss has hidden read models. */
  onHidden: () => void = () => undefined;

  constructor(
    private readonly stores: Stores,
    private readonly logger: ServiceOptions['logger'],
  ) {
    const { log, pool } = stores.core;
    this.generations = new LiveGenerations(pool, accountProjectors);
    log.onWentBack(() => this.generations.suspend(log.epoch));
  }

  /** Repairs the database after the log lost events. */
  async settle(noticed?: SeenEvent): Promise<void> {
    const { generations, logger } = this;
    const { log } = this.stores.core;
    const { epoch } = log;
    const { background: pool } = this.stores;
    await repairLoss({ pool, log, projectors: accountProjectors, logger }, noticed);
    await generations.refresh();
    generations.resume(epoch);
    if (!generations.areShown) this.onHidden();
  }
}

function startLogWatch(stores: Stores, { logger }: ServiceOptions, onStop: OnStop): WatchedLog {
  const { log } = stores.core;
  const watched = new WatchedLog(stores, logger);
  const logWatch = new LogWatch({ log, logger, onLost: (from) => watched.settle(from) });
  logWatch.start();
  onStop(() => logWatch.stop());
  const ending = new AbortController();
  const watching = watchClock(log, logger, ending.signal);
  onStop(() => {
    ending.abort();
    return watching;
  });
  return watched;
}

async function startAnnouncements({ core, background }: Stores, onStop: OnStop): Promise<void> {
  const { tenants } = core;
  const announcements = listenForAnnouncements(background, {
    onErased: (subjects) => core.forget(subjects),
    onTenantChanged: (alias) => (alias === undefined ? tenants.expireAll() : tenants.forget(alias)),
  });
  await announcements.start();
  onStop(() => announcements.stop());
}

/** Runs before the first request, which needs the tables. */
async function prepareReadModels(
  { background }: Stores,
  watched: WatchedLog,
  { config, logger }: ServiceOptions,
): Promise<void> {
  const { added, renewed } = await ensureOwnGenerations(background, accountProjectors);
  if (added.length > 0)
    logger.info(
      { projections: added },
      'the tables of read models have changed: new ones are built next to those of the other release',
    );
  if (renewed.length > 0)
    logger.warn({ projections: renewed }, 'read models are missing: they are rebuilt');
  // The log may have been restored while no process was running.
  const settling = watched.settle();
  if (config.eventStore === undefined) return settling;
  // With an unavailable log, the follower repeats this.
  await waitAtMost(
    START_WITHOUT_LOG_MS,
    settling.catch((error: unknown) => {
      if (error instanceof LogOlderThanBaseline) throw error;
    }),
  );
}
