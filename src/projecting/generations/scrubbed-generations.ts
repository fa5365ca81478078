import type { Pool, PoolClient } from 'pg';
import type { EventLog } from '../../event-log/event-log.js';
import { fetchRows, tables } from '../../postgres/statements.js';
import { readModelsReachHead } from '../following/read-models-reach-head.js';
import { quoted, schemaOf } from '../identifiers.js';
import { dropGeneration, isFollowed } from './generation-records.js';
import { type ReadModel } from './generations.js';
import { followedGenerations } from './live-generations.js';

export interface ScrubbedGenerationsParts {
  readonly pool: Pool;
  readonly log: Pick<EventLog, 'head' | 'compare'>;
  /** Of the release that scrubs. */
  readonly readModels: readonly ReadModel[];
  /** Running processes of releases with other tables, hence other generations. */
  readonly otherProcesses: (db: Pool | PoolClient) => Promise<number>;
}

/** The generations of read models, for a scrub (src/privacy/scrub.ts). */
export class ScrubbedGenerations {
  constructor(private readonly parts: ScrubbedGenerationsParts) {}

  /** Of every running release. */
  async reachHead(): Promise<() => Promise<boolean>> {
    const { pool, log, readModels, otherProcesses } = this.parts;
    return readModelsReachHead(pool, log, readModels, {
      others: (await otherProcesses(pool)) > 0,
    });
  }

  /** Generations for a roll-back or swap, and those of releases that do not run. */
  async dropUnfollowed(client: PoolClient): Promise<void> {
    const { readModels, otherProcesses } = this.parts;
    const others = (await otherProcesses(client)) > 0;
    const { live } = await followedGenerations(client, readModels);
    const generations = await fetchRows(
      client,
      tables
        .selectFrom('ledger.projection_generations')
        .select(['projection', 'generation', 'state']),
    );
    for (const { projection, generation, state } of generations) {
      if (live.get(projection) === generation || (others && isFollowed(state))) continue;
      if (state === 'live')
        await client.query(
          `drop schema if exists ${quoted(schemaOf(projection, generation))} cascade`,
        );
      else await dropGeneration(client, projection, generation);
    }
  }
}
