import type { Pool } from 'pg';
import { accountProjectors } from '../../projections/account-projectors.js';
import { countOtherReleases } from '../../src/stores/release.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import { ScrubbedGenerations } from '../../src/projecting/generations/scrubbed-generations.js';

/** The read models as the service hands them to a scrub. */
export const readModelsToScrub = (pool: Pool, log: EventLog): ScrubbedGenerations =>
  new ScrubbedGenerations({
    pool,
    log,
    readModels: accountProjectors,
    otherProcesses: (db) => countOtherReleases(db, accountProjectors),
  });
