import type { PoolClient } from 'pg';
import type { Position } from '../../event-log/event-log.js';
import type { Projector } from '../projector.js';
import { atOnePosition, Follower, type GenerationParts, type GenerationPair } from './catch-up.js';
import { type GenerationRecord, GenerationRefused, GenerationsOf } from './generation-records.js';

export interface SwitchedGeneration {
  readonly projection: string;
  readonly generation: number;
  readonly previous: number;
  readonly position: Position | null;
}

export interface Switched {
  readonly switched: readonly SwitchedGeneration[];
  /** How long writers of the live generations waited, milliseconds. */
  readonly heldMs: number;
}

/** The generations that the operator saw; 0: none. */
export interface ObservedGenerations {
  readonly live: number;
  readonly ready: number;
  readonly previous: number;
}

export interface SwitchOptions {
  readonly signal?: AbortSignal | undefined;
  /** Refused when others exist now; undefined: not compared. */
  readonly seen?: ObservedGenerations | undefined;
}

/** Makes the built generations live. @throws {GenerationRefused} with nothing changed. */
export async function swap(
  parts: GenerationParts,
  client: PoolClient,
  projectors: readonly Projector[],
  options: SwitchOptions = {},
): Promise<Switched> {
  return switchTo({ ...parts, client }, projectors, options, ({ ready, projector }) => {
    if (!ready)
      throw new GenerationRefused(
        `there is no new generation of ${projector.name}: rebuild it first`,
      );
    return ready;
  });
}

/** Keeps the current generation, so that this can be undone. @throws {GenerationRefused} */
export async function rollBack(
  parts: GenerationParts,
  client: PoolClient,
  projector: Projector,
  options: SwitchOptions = {},
): Promise<Switched> {
  return switchTo({ ...parts, client }, [projector], options, ({ previous }) => {
    if (!previous)
      throw new GenerationRefused(
        `there is no earlier generation of ${projector.name} to go back to`,
      );
    return previous;
  });
}

/**
 * Changes all in one transaction. The next write of the old live generation fails, since its
 * checkpoint's version grows; its writer continues with the new one from the same position.
 */
async function switchTo(
  { client, ...parts }: GenerationParts & { readonly client: PoolClient },
  projectors: readonly Projector[],
  { signal, seen }: SwitchOptions,
  choose: (generations: GenerationsOf) => GenerationRecord,
): Promise<Switched> {
  const chosen: (GenerationPair & { readonly next: GenerationRecord })[] = [];
  for (const projector of projectors) {
    const generations = await GenerationsOf.read(client, parts.log, projector);
    refuseChanged(generations, seen);
    const { live } = generations;
    const next = choose(generations);
    chosen.push({ projector, live, next, follower: await Follower.open(parts, projector, next) });
  }
  const { heldMs } = await atOnePosition(
    { log: parts.log, client },
    chosen,
    () => change(client, chosen),
    signal ? { signal } : {},
  );
  const switched = chosen.map(({ projector, live, next, follower }) => ({
    projection: projector.name,
    generation: next.generation,
    previous: live.generation,
    position: follower.track.position ?? null,
  }));
  return { switched, heldMs };
}

/** @throws {GenerationRefused} for other generations than were seen. */
function refuseChanged(generations: GenerationsOf, seen: ObservedGenerations | undefined): void {
  if (seen === undefined) return;
  const { live, ready, previous, projector } = generations;
  const isSame =
    live.generation === seen.live &&
    (ready?.generation ?? 0) === seen.ready &&
    (previous?.generation ?? 0) === seen.previous;
  if (!isSame)
    throw new GenerationRefused(
      `the generations of ${projector.name} have changed: list them again first`,
    );
}

/** In few statements, since writers wait. @throws {GenerationRefused} */
async function change(
  client: PoolClient,
  chosen: readonly { readonly live: GenerationRecord; readonly next: GenerationRecord }[],
): Promise<void> {
  const names = chosen.map(({ live }) => live.projection);
  const states = chosen.map(({ live }) => live.state);
  const retired = await client.query(
    `with old as (
       update ledger.projection_generations g set state = 'retired', retired_at = clock_timestamp()
       from unnest($1::text[], $2::integer[], $3::text[]) as o (projection, generation, state)
       where g.projection = o.projection and g.generation = o.generation and g.state = o.state returning g.projection, g.generation)
     update ledger.projection_checkpoints c set version = version + 1
     from old where c.projection = old.projection and c.generation = old.generation`,
    [names, chosen.map(({ live }) => live.generation), states],
  );
  const made = await client.query(
    `update ledger.projection_generations g set state = n.state, complete = o.complete
     from unnest($1::text[], $2::integer[], $3::text[], $4::integer[]) as n (projection, generation, state, previous)
     join ledger.projection_generations o on o.projection = n.projection and o.generation = n.previous
     where g.projection = n.projection and g.generation = n.generation and g.state in ('ready', 'retired')`,
    [
      names,
      chosen.map(({ next }) => next.generation),
      states,
      chosen.map(({ live }) => live.generation),
    ],
  );
  if (retired.rowCount !== chosen.length || made.rowCount !== chosen.length)
    throw new GenerationRefused(
      'the generations have changed meanwhile: see `projection status` and try again',
    );
}
