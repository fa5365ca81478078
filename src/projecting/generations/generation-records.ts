import type { Pool, PoolClient } from 'pg';
import type { EventLog } from '../../event-log/event-log.js';
import { anyOf, epochMs, fetchRows, run, tables } from '../../postgres/statements.js';
import { GENERATIONS, type Checkpoint } from '../checkpoints.js';
import { quoted, schemaOf } from '../identifiers.js';
import type { Projector } from '../projector.js';
import type { ParkedEvent } from './generation-store.js';
import { definitionOf, FOLLOWED_STATES, type GenerationState } from './generations.js';

/** Nothing was changed. The message is one line with reason and remedy. */
export class GenerationRefused extends Error {
  override readonly name = 'GenerationRefused';
}

const FOLLOWED: ReadonlySet<GenerationState> = new Set(FOLLOWED_STATES);

/** Processes of some release follow and read it. */
export const isFollowed = (state: GenerationState): boolean => FOLLOWED.has(state);

/** A generation with its checkpoint. */
export interface GenerationRecord extends Checkpoint {
  readonly state: GenerationState;
  /** Digest of its declared tables. */
  readonly definition: string | null;
  /** False: still catching up for the first time, and not shown. */
  readonly complete: boolean;
  /** Epoch milliseconds. */
  readonly retiredAt: number | null;
}

/** The generations of these projections, oldest first. */
export async function generationRecords(
  db: Pool | PoolClient,
  projections: readonly string[],
): Promise<GenerationRecord[]> {
  const rows = await fetchRows(
    db,
    GENERATIONS.select((eb) => [
      'g.state',
      'g.definition',
      'g.complete',
      epochMs(eb.ref('g.retired_at')).as('retiredAt'),
    ])
      .where('g.projection', '=', anyOf(projections))
      .orderBy('g.projection')
      .orderBy('g.generation'),
  );
  return rows.map((row) => ({ ...row, position: row.position ?? undefined }));
}

/** A projection's generations by their use. */
export class GenerationsOf {
  private constructor(
    readonly projector: Projector,
    private readonly log: Pick<EventLog, 'isPosition'>,
    private readonly records: readonly GenerationRecord[],
  ) {}

  static async read(
    db: Pool | PoolClient,
    log: Pick<EventLog, 'isPosition'>,
    projector: Projector,
  ): Promise<GenerationsOf> {
    return new GenerationsOf(projector, log, await generationRecords(db, [projector.name]));
  }

  /** @throws {GenerationRefused} when this release knows the tables of none. */
  get live(): GenerationRecord {
    const { followed } = this;
    if (followed.length === 0)
      throw new GenerationRefused(
        `${this.projector.name} has no live generation yet: start the service once`,
      );
    const own = followed.find((record) => this.isUsable(record));
    if (!own)
      throw new GenerationRefused(
        `the tables of ${this.projector.name} are not those of this release: start the service of this release, which makes its own`,
      );
    return own;
  }

  /** Of any release. */
  private get followed(): readonly GenerationRecord[] {
    return this.records.filter(({ state }) => isFollowed(state));
  }

  /** The one that is built and not live yet. */
  get ready(): GenerationRecord | undefined {
    return this.records.find((record) => record.state === 'ready' && this.isUsable(record));
  }

  /** The previous live one. */
  get previous(): GenerationRecord | undefined {
    const [newest] = this.records
      .filter(
        (record) =>
          record.state === 'retired' && record.retiredAt !== null && this.isUsable(record),
      )
      .sort((a, b) => (b.retiredAt ?? 0) - (a.retiredAt ?? 0));
    return newest;
  }

  /** Earlier unfinished or unused ones, and live ones before the previous one. */
  obsolete(now: number): readonly GenerationRecord[] {
    return this.records.filter(({ state, generation, retiredAt }) => {
      if (generation === this.previous?.generation) return false;
      if (state === 'building' || state === 'ready') return true;
      return state === 'retired' && now - (retiredAt ?? 0) > STILL_READ_MS;
    });
  }

  private isUsable({ definition, position }: GenerationRecord): boolean {
    // A position of another log: the generation was built from that log.
    return (
      definition === definitionOf(this.projector) &&
      (position === undefined || this.log.isPosition(position))
    );
  }
}

/** A process may use a generation for a moment after the switch, and a read takes some time. */
const STILL_READ_MS = 60_000;

/** Deletes a generation with its tables, in the caller's transaction or alone. */
export async function dropGeneration(
  client: PoolClient,
  projection: string,
  generation: number,
): Promise<void> {
  await client.query(`drop schema if exists ${quoted(schemaOf(projection, generation))} cascade`);
  await run(
    client,
    tables
      .deleteFrom('ledger.projection_generations')
      .where((eb) => eb.and({ projection, generation })),
  );
}

/** The generation may become live. @throws {GenerationRefused} when its state has changed. */
export async function markReady(
  client: PoolClient,
  { projection, generation }: Pick<GenerationRecord, 'projection' | 'generation'>,
): Promise<void> {
  const changed = await run(
    client,
    tables
      .updateTable('ledger.projection_generations')
      .set({ state: 'ready' })
      .where((eb) => eb.and({ projection, generation, state: 'building' as const })),
  );
  if (changed !== 1)
    throw new GenerationRefused(`generation ${generation} of ${projection} is no longer building`);
}

/** Records parked streams, within the caller's transaction. Raw SQL: one statement for all. */
export async function recordParked(
  client: PoolClient,
  projection: string,
  generation: number,
  parked: readonly ParkedEvent[],
): Promise<void> {
  if (parked.length === 0) return;
  const events = JSON.stringify(
    parked.map((event) => ({ ...event, revision: String(event.revision) })),
  );
  await client.query(
    `insert into ledger.parked_streams (projection, generation, stream, revision, "position", reason)
     select $1, $2, r.* from json_to_recordset($3::json) as r (stream text, revision bigint, "position" text, reason text)
     on conflict do nothing`,
    [projection, generation, events],
  );
}
