import type { Pool, PoolClient } from 'pg';
import type { EventLog, Position, SeenEvent } from '../event-log/event-log.js';
import { parseWitness } from '../event-log/witness.js';
import type { Logger } from '../foundation/logger.js';
import {
  loadPolicyCheckpoint,
  putPoliciesBack,
  type PolicyCheckpoint,
} from '../policies/policy-checkpoint.js';
import { inTransaction } from '../postgres/transaction.js';
import { replaceLiveGeneration } from '../projecting/generations/generations.js';
import type { Projector } from '../projecting/projector.js';

export interface SettlingParts {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly projectors: readonly Projector[];
  readonly logger: Pick<Logger, 'warn'>;
}

// Any number that nothing else in this database takes: processes that notice a loss at once settle
// it one after the other.
const SETTLING_LOCK = 7_202_514;

interface GenerationMark {
  readonly projection: string;
  readonly generation: number;
  readonly state: string;
  readonly position: string;
  readonly witness: string | null;
}

/**
 * What is kept in the database of how far the log was, sorted by whether the log still stands
 * there.
 */
interface Marks {
  readonly lost: readonly GenerationMark[];
  readonly policies: PolicyCheckpoint;
  readonly arePoliciesLost: boolean;
  /** Positions at which the log is what it was. */
  readonly standing: readonly Position[];
  /** The newest that is gone; undefined: none is. */
  readonly from: Position | undefined;
}

/**
 * Puts right what the database holds of a log that lost its end: read models that show what is gone
 * begin anew (the API answers 503 until they have caught up), policies go back to where all that
 * they had appended is still there, answers kept behind that are dropped, and the loss is put on
 * record for `ledger verify`. Cheap where nothing was lost. Any number of processes may do so at
 * any time.
 * @param noticed the newest event that a process had seen and that is gone.
 * @throws {EventLogUnavailable}, and what the database throws while it is away; then nothing was
 * changed.
 */
export async function settleLoss(parts: SettlingParts, noticed?: SeenEvent): Promise<void> {
  const { pool, log } = parts;
  const isGone =
    noticed !== undefined && log.isPosition(noticed.position) && !(await log.holds(noticed));
  if (!isGone && (await readMarks(pool, log, 'those in use')).from === undefined) return;
  await inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [SETTLING_LOCK]);
    // Another process may have done so meanwhile.
    const marks = await readMarks(client, log, 'all');
    const from =
      isGone && log.compare(noticed.position, marks.from) > 0 ? noticed.position : marks.from;
    if (from !== undefined) await settle(client, parts, marks, from);
  });
}

async function settle(
  client: PoolClient,
  { log, projectors, logger }: SettlingParts,
  marks: Marks,
  from: Position,
): Promise<void> {
  const standing = marks.standing.reduce<Position | undefined>(
    (a, b) => (log.compare(a, b) >= 0 ? a : b),
    undefined,
  );
  const live = new Set(
    marks.lost.filter(({ state }) => state === 'live').map(({ projection }) => projection),
  );
  const renewed = projectors.filter(({ name }) => live.has(name));
  for (const projector of renewed) await replaceLiveGeneration(client, projector);
  // A definition of nobody's: no generation of these is ever read, swapped to or gone back to.
  for (const { projection, generation } of marks.lost)
    await client.query(
      'update ledger.projection_generations set definition = null where projection = $1 and generation = $2',
      [projection, generation],
    );
  if (renewed.length > 0) await client.query('update ledger.followed_log set shown = false');
  if (marks.arePoliciesLost) await putBack(client, log, marks.policies);
  await dropParked(client, log);
  // Nobody's claims: the same request runs again, and finds what is left of its effect by its
  // command.
  await client.query(
    'update ledger.idempotency_keys set answer = null, owner = 0 where answer is not null and (log_position is null or log_position > $1)',
    [standing === undefined ? -1n : log.order(standing)],
  );
  await client.query('update vault.erasures_checked set position = null where log_id = $1', [
    await log.id(),
  ]);
  await record(client, log, from, standing);
  logger.warn(
    {
      from,
      standing: standing ?? null,
      readModels: renewed.map(({ name }) => name),
      policies: marks.arePoliciesLost,
    },
    'what the database held of the lost end of the log was put right',
  );
}

/**
 * Where all that policies had appended by then is still there; without such a point, from the
 * beginning: a reaction twice is harmless.
 */
async function putBack(
  client: PoolClient,
  log: EventLog,
  { trail }: PolicyCheckpoint,
): Promise<void> {
  const left = [...trail];
  while (left.length > 0) {
    const point = left.at(-1);
    if (point !== undefined && log.isPosition(point.reached) && (await log.holds(point.witness)))
      break;
    left.pop();
  }
  await putPoliciesBack(client, left.at(-1), left);
}

/** Reactions to events that are gone are nobody's any more. */
async function dropParked(client: PoolClient, log: EventLog): Promise<void> {
  const { rows } = await client.query<SeenEvent>(
    'select distinct position, event_id as "eventId" from ledger.parked_reactions',
  );
  for (const event of rows) {
    if (!log.isPosition(event.position) || (await log.holds(event))) continue;
    await client.query(
      'delete from ledger.parked_reactions where event_id = $1 and position = $2',
      [event.eventId, event.position],
    );
  }
}

/**
 * One row until somebody acknowledges it, from the newest event that was lost to where the log is
 * known to be what it was.
 */
async function record(
  client: PoolClient,
  log: EventLog,
  from: Position,
  standing: Position | undefined,
): Promise<void> {
  const logId = await log.id();
  const head = await log.head();
  const to = head !== undefined && log.compare(head, from) < 0 ? head : standing;
  const { rows } = await client.query<{ from_position: string | null; to_position: string | null }>(
    'select from_position, to_position from ledger.log_losses where log_id = $1 and acknowledged_at is null for update',
    [logId],
  );
  const [open] = rows;
  const earlier =
    open !== undefined && log.compare(open.to_position ?? undefined, to) < 0
      ? open.to_position
      : (to ?? null);
  const later =
    log.compare(open?.from_position ?? undefined, from) > 0 ? (open?.from_position ?? from) : from;
  await client.query(
    `insert into ledger.log_losses (log_id, from_position, to_position) values ($1, $2, $3)
     on conflict (log_id) where acknowledged_at is null do update set from_position = excluded.from_position, to_position = excluded.to_position`,
    [logId, later, earlier],
  );
}

async function readMarks(
  db: Pool | PoolClient,
  log: EventLog,
  which: 'all' | 'those in use',
): Promise<Marks> {
  const head = await log.head();
  const standing: Position[] = [];
  const gone: Position[] = [];
  const stands = async (
    position: Position | null,
    witness: SeenEvent | undefined,
  ): Promise<boolean> => {
    // Nothing was made of the log yet, or of another log.
    if (position === null || !log.isPosition(position)) return true;
    const isThere =
      witness === undefined ? log.compare(position, head) <= 0 : await log.holds(witness);
    if (!isThere) gone.push(witness?.position ?? position);
    else if (witness !== undefined) standing.push(witness.position);
    return isThere;
  };
  const { rows } = await db.query<GenerationMark>(
    `select projection, generation, g.state, c.position, c.witness
       from ledger.projection_generations g join ledger.projection_checkpoints c using (projection, generation)
      where c.position is not null and g.definition is not null`,
  );
  const lost: GenerationMark[] = [];
  for (const row of rows)
    if (!(await stands(row.position, parseWitness(row.witness, row.position)))) lost.push(row);
  const policies = await loadPolicyCheckpoint(db);
  const arePoliciesLost = !(await stands(policies.position, policies.witness));
  for (const { witness } of which === 'all' ? policies.trail : [])
    if (log.isPosition(witness.position) && (await log.holds(witness)))
      standing.push(witness.position);
  const from = gone.reduce<Position | undefined>(
    (a, b) => (log.compare(a, b) >= 0 ? a : b),
    undefined,
  );
  return { lost, policies, arePoliciesLost, standing, from };
}
