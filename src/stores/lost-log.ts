import { sql, type InferResult } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import type { EventLog, Position, SeenEvent } from '../event-log/event-log.js';
import { parseWitness } from '../event-log/witness.js';
import type { TrailPoint } from '../following/trail.js';
import type { Logger } from '../foundation/logger.js';
import { addJob } from '../work-queue/jobs.js';
import { workStore } from '../work-queue/work-items.js';
import {
  loadCheckpoint,
  placeCheckpoint,
  type HandlerCheckpoint,
} from '../following/checkpoints.js';
import { POLICIES_HANDLER } from '../reacting/policy-checkpoint.js';
import { WEBHOOKS_HANDLER } from '../reacting/parked-reactions.js';
import { parkRetriedAgain } from '../reacting/postgres-parked-reactions.js';
import { repeatJobsJob } from '../policies/repeat-jobs.js';
import { fetchRow, fetchRows, run, tables } from '../postgres/statements.js';
import { withLock } from '../postgres/locks.js';
import { forgetEndpointsBehind } from '../webhooks/deliveries/delivery-rows.js';
import { GENERATIONS } from '../projecting/checkpoints.js';
import { isFollowed } from '../projecting/generations/generation-records.js';
import { definitionOf, replaceOwnGeneration } from '../projecting/generations/generations.js';
import type { Projector } from '../projecting/projector.js';

export interface LossRepairParts {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly projectors: readonly Projector[];
  readonly logger: Pick<Logger, 'warn'>;
}

const MARKED = GENERATIONS.select(['g.state', 'g.definition', 'c.witness'])
  .where('c.position', 'is not', null)
  .$narrowType<{ position: string }>()
  .where('g.definition', 'is not', null);

type GenerationMark = InferResult<typeof MARKED>[number];

/** The positions that the database refers to, by whether the log still has them. */
interface StoredPositions {
  readonly lost: readonly GenerationMark[];
  /** Undefined: the policies have not begun, or the log has their events. */
  readonly policies: HandlerCheckpoint | undefined;
  readonly webhooks: HandlerCheckpoint | undefined;
  /** Positions that the log still has. */
  readonly standing: readonly Position[];
  /** The newest lost one; undefined: none. */
  readonly from: Position | undefined;
}

/**
 * Repairs the database after the log lost its end: read models with lost events start again (503
 * until they have caught up), policies go back to the last checkpoint whose reactions are all in
 * the log, the last days' jobs are added again, later stored answers are dropped, and the loss is
 * recorded for `ledger verify`. Cheap without a loss; any number of processes may call it at any
 * time.
 * @param noticed the newest lost event that a process had seen.
 * @throws {EventLogUnavailable} and the database's errors, with nothing changed.
 */
export async function repairLoss(parts: LossRepairParts, noticed?: SeenEvent): Promise<void> {
  const { pool, log } = parts;
  const isGone =
    noticed !== undefined && log.isPosition(noticed.position) && !(await log.holds(noticed));
  if (!isGone && (await readMarks(pool, log, 'those in use')).from === undefined) return;
  await withLock(pool, 'settle a lost log', async (client) => {
    // Another process may have repaired it in the meantime.
    const marks = await readMarks(client, log, 'all');
    const from =
      isGone && log.compare(noticed.position, marks.from) > 0 ? noticed.position : marks.from;
    if (from !== undefined) await settle(client, parts, marks, from);
  });
}

const isFollowedMark = (
  { projection, state, definition }: GenerationMark,
  projector: Projector,
): boolean =>
  projection === projector.name && isFollowed(state) && definition === definitionOf(projector);

async function settle(
  client: PoolClient,
  { log, projectors, logger }: LossRepairParts,
  marks: StoredPositions,
  from: Position,
): Promise<void> {
  const standing = newestOf(log, marks.standing);
  const renewed = projectors.filter((projector) =>
    marks.lost.some((mark) => isFollowedMark(mark, projector)),
  );
  for (const projector of renewed) await replaceOwnGeneration(client, projector);
  // A definition of no release: such a generation is never read, switched to or restored. Another
  // release that followed it makes its own anew.
  for (const { projection, generation, state } of marks.lost)
    await run(
      client,
      tables
        .updateTable('ledger.projection_generations')
        .set({
          definition: null,
          ...(state === 'live' || !isFollowed(state) ? {} : { state: 'retired' as const }),
        })
        .where((eb) => eb.and({ projection, generation })),
    );
  if (marks.policies) await resetPolicies(client, log, marks.policies);
  if (marks.webhooks) await resetWebhooks(client, log, marks.webhooks);
  await dropParked(client, log);
  // Effects of jobs are in no reaction's trail.
  await addJob(workStore(client), repeatJobsJob());
  // Claims without an owner: the same request runs again, and finds the rest of its effect by its
  // command.
  const kept = standing === undefined ? -1n : log.order(standing);
  await run(
    client,
    tables
      .updateTable('ledger.idempotency_keys')
      .set({ answer: null, owner: 0n })
      .where('answer', 'is not', null)
      .where((eb) =>
        eb.or([eb('log_position', 'is', null), eb('log_position', '>', String(kept))]),
      ),
  );
  await run(
    client,
    tables
      .updateTable('vault.erasures_checked')
      .set({ position: null })
      .where('log_id', '=', await log.id()),
  );
  await record(client, log, from, standing);
  logger.warn(
    {
      from,
      standing: standing ?? null,
      readModels: renewed.map(({ name }) => name),
      policies: marks.policies !== undefined,
    },
    'the database was repaired after the log lost its end',
  );
}

/**
 * The last checkpoint of policies whose reactions are all in the log; otherwise the first event:
 * repeated reactions are harmless.
 */
async function resetPolicies(
  client: PoolClient,
  log: EventLog,
  checkpoint: HandlerCheckpoint,
): Promise<void> {
  const trail = await intactPart(log, checkpoint.trail);
  const position = trail.at(-1)?.reached ?? null;
  await placeCheckpoint(client, POLICIES_HANDLER, { position, trail });
}

/** A trail up to its last point whose witness the log still has. */
async function intactPart(
  log: EventLog,
  trail: readonly TrailPoint[],
): Promise<readonly TrailPoint[]> {
  const left = [...trail];
  for (let point = left.at(-1); point !== undefined; point = left.at(-1)) {
    if (log.isPosition(point.reached) && (await log.holds(point.witness))) break;
    left.pop();
  }
  return left;
}

/** Continues at the last event that the log still has, or at the head. */
async function resetWebhooks(
  client: PoolClient,
  log: EventLog,
  checkpoint: HandlerCheckpoint,
): Promise<void> {
  const trail = await intactPart(log, checkpoint.trail);
  const position = trail.at(-1)?.reached ?? (await log.head()) ?? null;
  const last = position === null ? -1n : log.order(position);
  await placeCheckpoint(client, WEBHOOKS_HANDLER, { position, trail });
  await forgetEndpointsBehind(
    client,
    (changed) => log.isPosition(changed) && log.order(changed) > last,
  );
}

/** Deletes parked reactions to lost events, and parks retried reactions to others. */
async function dropParked(client: PoolClient, log: EventLog): Promise<void> {
  await parkRetriedAgain(
    client,
    async (event) => !log.isPosition(event.position) || log.holds(event),
  );
  const parked = await fetchRows(
    client,
    sql<{ position: Position; eventId: string }>`
      select distinct position, event_id as "eventId" from ledger.parked_reactions`,
  );
  for (const event of parked) {
    if (!log.isPosition(event.position) || (await log.holds(event))) continue;
    await run(
      client,
      sql`
        delete from ledger.parked_reactions
        where event_id = ${event.eventId} and position = ${event.position}`,
    );
  }
}

/** One row until it is acknowledged: newest lost event, last intact position. */
async function record(
  client: PoolClient,
  log: EventLog,
  from: Position,
  standing: Position | undefined,
): Promise<void> {
  const logId = await log.id();
  const head = await log.head();
  const to = head !== undefined && log.compare(head, from) < 0 ? head : standing;
  const open = await fetchRow(
    client,
    tables
      .selectFrom('ledger.log_losses')
      .select(['from_position', 'to_position'])
      .where('log_id', '=', logId)
      .where('acknowledged_at', 'is', null)
      .forUpdate(),
  );
  const earlier =
    open !== undefined && log.compare(open.to_position ?? undefined, to) < 0
      ? open.to_position
      : (to ?? null);
  const later =
    log.compare(open?.from_position ?? undefined, from) > 0 ? (open?.from_position ?? from) : from;
  const lost = { from_position: later, to_position: earlier };
  await run(
    client,
    tables
      .insertInto('ledger.log_losses')
      .values({ log_id: logId, ...lost })
      .onConflict((conflict) =>
        conflict.column('log_id').where('acknowledged_at', 'is', null).doUpdateSet(lost),
      ),
  );
}

async function readMarks(
  db: Pool | PoolClient,
  log: EventLog,
  which: 'all' | 'those in use',
): Promise<StoredPositions> {
  const head = await log.head();
  const standing: Position[] = [];
  const gone: Position[] = [];
  const stands = async (
    position: Position | null,
    witness: SeenEvent | undefined,
  ): Promise<boolean> => {
    // No position yet, or one of another log.
    if (position === null || !log.isPosition(position)) return true;
    const isThere =
      witness === undefined ? log.compare(position, head) <= 0 : await log.holds(witness);
    if (!isThere) gone.push(witness?.position ?? position);
    else if (witness !== undefined) standing.push(witness.position);
    return isThere;
  };
  const lost: GenerationMark[] = [];
  for (const row of await fetchRows(db, MARKED))
    if (!(await stands(row.position, parseWitness(row.witness, row.position)))) lost.push(row);
  const policies = await loadCheckpoint(db, POLICIES_HANDLER);
  const arePoliciesLost = !(await stands(policies?.position ?? null, policies?.witness));
  for (const { witness } of which === 'all' ? (policies?.trail ?? []) : [])
    if (log.isPosition(witness.position) && (await log.holds(witness)))
      standing.push(witness.position);
  const webhooks = await loadCheckpoint(db, WEBHOOKS_HANDLER);
  const areWebhooksLost = !(await stands(webhooks?.position ?? null, webhooks?.witness));
  return {
    lost,
    policies: arePoliciesLost ? policies : undefined,
    webhooks: areWebhooksLost ? webhooks : undefined,
    standing,
    from: newestOf(log, gone),
  };
}

const newestOf = (log: EventLog, positions: readonly Position[]): Position | undefined =>
  positions.toSorted((a, b) => log.compare(a, b)).at(-1);
