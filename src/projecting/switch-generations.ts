import type { PoolClient } from 'pg';
import type { Position } from '../event-log/event-log.js';
import { atOnePosition, Follower, type GenerationParts, type Pairing } from './catch-up.js';
import { changeState, type GenerationRecord, GenerationRefused, GenerationsOf } from './generation-records.js';
import type { Projector } from './projector.js';

export interface SwitchedGeneration {
  readonly projection: string;
  readonly generation: number;
  readonly previous: number;
  readonly position: Position | null;
}

export interface Switched {
  readonly switched: readonly SwitchedGeneration[];
  /** For how long whoever writes the live generations had to wait, milliseconds. */
  readonly heldMs: number;
}

/** Makes the generations live that were built and wait. @throws {GenerationRefused} with nothing changed. */
export async function swap(
  parts: GenerationParts,
  client: PoolClient,
  projectors: readonly Projector[],
  signal?: AbortSignal,
): Promise<Switched> {
  return switchTo(parts, client, projectors, signal, ({ ready, projector }) => {
    if (!ready) throw new GenerationRefused(`there is no new generation of ${projector.name}: rebuild it first`);
    return ready;
  });
}

/** Makes the generation live that was so before. The one that was live is kept, so that this can be undone. @throws {GenerationRefused} */
export async function rollBack(parts: GenerationParts, client: PoolClient, projector: Projector, signal?: AbortSignal): Promise<Switched> {
  return switchTo(parts, client, [projector], signal, ({ previous }) => {
    if (!previous) throw new GenerationRefused(`there is no earlier generation of ${projector.name} to go back to`);
    return previous;
  });
}

/**
 * All of them change in one transaction. Whoever writes the generation that was live loses the race at once (its checkpoint's version
 * grows), finds another one live, and goes on with that from the same position.
 */
async function switchTo(
  parts: GenerationParts,
  client: PoolClient,
  projectors: readonly Projector[],
  signal: AbortSignal | undefined,
  choose: (generations: GenerationsOf) => GenerationRecord,
): Promise<Switched> {
  const chosen: (Pairing & { readonly next: GenerationRecord })[] = [];
  for (const projector of projectors) {
    const generations = await GenerationsOf.read(client, parts.log, projector);
    const { live } = generations;
    const next = choose(generations);
    chosen.push({ projector, live, next, follower: await Follower.open(parts, projector, next) });
  }
  const { heldMs } = await atOnePosition(
    parts,
    client,
    chosen,
    async () => {
      for (const { live, next } of chosen) {
        await changeState(client, live, ['live'], 'retired');
        await changeState(client, next, ['ready', 'retired'], 'live');
        await client.query('update ledger.projection_checkpoints set version = version + 1 where projection = $1 and generation = $2', [
          live.projection,
          live.generation,
        ]);
      }
    },
    signal ? { signal } : {},
  );
  const switched = chosen.map(({ projector, live, next, follower }) => ({
    ...{ projection: projector.name, generation: next.generation, previous: live.generation },
    position: follower.track.position ?? null,
  }));
  return { switched, heldMs };
}
