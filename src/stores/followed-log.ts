import { sql } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import type { ChainSigner } from '../chain/chain-signer.js';
import { beginLogSeal } from '../chain/log-seal.js';
import type { Position } from '../event-log/event-log.js';
import { beginCheckpoint, placeCheckpoint } from '../following/checkpoints.js';
import { POLICIES_HANDLER } from '../reacting/policy-checkpoint.js';
import { CommandPresence, ProcessPresence } from '../postgres/process-presence.js';
import { anyOf, fetchRow, now, run, tables } from '../postgres/statements.js';
import { inTransaction } from '../postgres/transaction.js';
import {
  FOLLOWED_STATES,
  isFollowedBy,
  replaceEveryGeneration,
  type ReadModel,
} from '../projecting/generations/generations.js';
import type { Projector } from '../projecting/projector.js';

/** This database follows another log than the opened one. The message contains the remedy. */
export class AnotherLogFollowed extends Error {
  override readonly name = 'AnotherLogFollowed';
}

/** A complete copy of another log, with the same events in the same order. */
export interface LogCopy {
  readonly sourceId: string;
  readonly targetId: string;
  /** Null: the log was empty. */
  readonly sourceHead: Position | null;
  readonly targetHead: Position | null;
  readonly events: number;
  /** The target's event up to which policies had run in the source; null: none. */
  readonly policiesPosition: Position | null;
}

/** `projection generation`, of each, in the order of their names. */
const followedBy = (readModels: readonly ReadModel[]) =>
  tables
    .selectFrom('ledger.projection_generations as g')
    .where(isFollowedBy(readModels))
    .select((eb) =>
      sql<
        string | null
      >`string_agg(${eb.ref('projection')} || ' ' || ${eb.ref('generation')}, ',' order by ${eb.ref('projection')})`.as(
        'followed',
      ),
    );
const NOT_COPIED =
  'this database follows another log than this one: name that one in EVENT_STORE_URL (unset: the log in Postgres), or move the log with `cli log copy` first (docs/how-to/move-the-log.md)';
const NOT_MOVED_YET =
  'the log was copied to this one and is not used from here yet: start the service once, which moves over';

/**
 * A database follows one log: its read models, policies and stored answers refer to that log's
 * positions. One row names the log; it changes only to a complete copy, when a service starts on
 * that.
 */
export class FollowedLog {
  private accepted: string | undefined;

  /** @param projectors passed only by a service, which may move the database to a copy. */
  constructor(
    private readonly pool: Pool,
    private readonly projectors?: readonly Projector[],
    /** Signs the beginning of a log's seal when this database first uses the log. */
    private readonly signer?: ChainSigner,
  ) {}

  /**
   * To be called before any read from or append to the log. A new database adopts its first log;
   * records of copies are deleted, since the log may now grow.
   * @param mayBegin false: the log already has events, so this installation cannot vouch for them.
   * @throws {AnotherLogFollowed}
   */
  async accept(logId: string, mayBegin = true): Promise<void> {
    if (this.accepted === logId) return;
    await this.settle(logId, mayBegin);
    this.accepted = logId;
  }

  /**
   * Also deletes a record of a copy that was completed between `accept` and this process's
   * presence.
   * @throws {AnotherLogFollowed} when the database has moved in the meantime.
   */
  async confirm(): Promise<void> {
    if (this.accepted !== undefined) await this.settle(this.accepted, false);
  }

  /** The generation of each read model that this release follows. */
  async liveGenerations(): Promise<string> {
    return (await fetchRow(this.pool, followedBy(this.readModels)))?.followed ?? '';
  }

  /**
   * Records that the read models of this release have caught up.
   * @param live from `liveGenerations` before the check: others may exist by now.
   */
  async markRebuilt(live: string): Promise<void> {
    if (this.accepted === undefined) return;
    const isOwn = isFollowedBy(this.readModels);
    const areSame = sql<boolean>`${followedBy(this.readModels)} is not distinct from ${live === '' ? null : live}::text`;
    await run(
      this.pool,
      tables
        .updateTable('ledger.projection_generations as g')
        .set({ complete: true })
        .where(isOwn)
        .where('g.complete', '=', false)
        .where(areSame),
    );
    await run(
      this.pool,
      // Other releases' generations are unknown here.
      tables
        .updateTable('ledger.followed_log')
        .set({ rebuilt: true })
        .where('log_id', '=', this.accepted)
        .where('rebuilt', '=', false)
        .where(areSame).where(sql<boolean>`not exists (
          select from ledger.projection_generations g where g.state = 'live' and not (${isOwn}))`),
    );
  }

  /**
   * Read models from a backup may show people who were forgotten later: the next service returns
   * 503 until they have caught up. A running service updates them anyway and would not check again.
   */
  async hideUntilCaughtUp(): Promise<void> {
    await inTransaction(this.pool, async (client) => {
      const hidden = await run(
        client,
        tables
          .updateTable('ledger.followed_log')
          .set({ rebuilt: false })
          .where((eb) => eb.not(ProcessPresence.isAnyRunning)),
      );
      if (hidden > 0)
        await run(
          client,
          tables
            .updateTable('ledger.projection_generations')
            .set({ complete: false })
            .where('state', '=', anyOf(FOLLOWED_STATES)),
        );
    });
  }

  private get readModels(): readonly ReadModel[] {
    return this.projectors ?? [];
  }

  private async settle(logId: string, mayBegin: boolean): Promise<void> {
    await inTransaction(this.pool, async (client) => {
      const adopted = await run(
        client,
        tables
          .insertInto('ledger.followed_log')
          .values({ log_id: logId })
          .onConflict((conflict) => conflict.doNothing()),
      );
      if (adopted === 1 && mayBegin && this.signer) await beginLogSeal(client, logId, this.signer);
      const followed = await lockFollowedLog(client);
      if (followed === logId) return forgetCopiesOf(client, logId);
      const copy = await copyBetween(client, followed ?? '', logId);
      if (copy === undefined) throw new AnotherLogFollowed(NOT_COPIED);
      if (this.projectors === undefined) throw new AnotherLogFollowed(NOT_MOVED_YET);
      await moveTo(client, copy, this.projectors);
      if (this.signer) await beginLogSeal(client, logId, this.signer);
    });
  }
}

const FOLLOWED = tables.selectFrom('ledger.followed_log').select('log_id');

/** The identity of the followed log; undefined: none yet. */
export async function followedLogId(db: Pool): Promise<string | undefined> {
  return (await fetchRow(db, FOLLOWED))?.log_id;
}

/** A service runs on this database. */
export async function isServiceRunning(db: Pool | PoolClient): Promise<boolean> {
  const running = tables.selectNoFrom(ProcessPresence.isAnyRunning.as('running'));
  return (await fetchRow(db, running))?.running ?? false;
}

/** A service or an operator's command runs on this database, so its log may grow. */
export async function mayLogGrow(db: Pool | PoolClient): Promise<boolean> {
  const mayGrow = tables.selectNoFrom((eb) =>
    eb.or([ProcessPresence.isAnyRunning, CommandPresence.isAnyRunning]).as('mayGrow'),
  );
  return (await fetchRow(db, mayGrow))?.mayGrow === true;
}

/**
 * Records a finished copy: the next service that starts on the target moves the database to it.
 * False, with nothing written, when a service or a command runs, or has run on another log
 * meanwhile: the source may have more events.
 */
export function recordCopy(pool: Pool, copy: LogCopy): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    if ((await lockFollowedLog(client)) !== copy.sourceId || (await mayLogGrow(client)))
      return false;
    const copied = {
      source_head: copy.sourceHead,
      target_head: copy.targetHead,
      events: copy.events,
      policies_position: copy.policiesPosition,
    };
    await run(
      client,
      tables
        .insertInto('ledger.log_copies')
        .values({ source_id: copy.sourceId, target_id: copy.targetId, ...copied })
        .onConflict((conflict) =>
          conflict.columns(['source_id', 'target_id']).doUpdateSet({ ...copied, copied_at: now }),
        ),
    );
    return true;
  });
}

/** Serialises opening the log, recording a copy and moving to one. */
async function lockFollowedLog(client: PoolClient): Promise<string | undefined> {
  return (await fetchRow(client, FOLLOWED.forUpdate()))?.log_id;
}

async function forgetCopiesOf(client: PoolClient, logId: string): Promise<void> {
  await run(client, tables.deleteFrom('ledger.log_copies').where('source_id', '=', logId));
}

type CopyToFollow = Pick<LogCopy, 'targetId' | 'policiesPosition'>;

async function copyBetween(
  client: PoolClient,
  sourceId: string,
  targetId: string,
): Promise<CopyToFollow | undefined> {
  const copy = await fetchRow(
    client,
    tables
      .selectFrom('ledger.log_copies')
      .select('policies_position')
      // As texts: an unknown identity need not be a UUID.
      .where(sql`source_id::text`, '=', sourceId)
      .where(sql`target_id::text`, '=', targetId),
  );
  return copy && { targetId, policiesPosition: copy.policies_position };
}

/**
 * Read models start again, empty, since their positions are the other log's; policies continue,
 * since their reactions have happened. Old generations are kept, as after every switch.
 */
async function moveTo(
  client: PoolClient,
  { targetId, policiesPosition }: CopyToFollow,
  projectors: readonly Projector[],
): Promise<void> {
  for (const projector of projectors) await replaceEveryGeneration(client, projector);
  await beginCheckpoint(client, POLICIES_HANDLER, null);
  await placeCheckpoint(client, POLICIES_HANDLER, { position: policiesPosition, trail: [] });
  await run(client, tables.deleteFrom('ledger.log_copies'));
  // Positions of the other log are invalid in this one.
  await run(
    client,
    tables
      .updateTable('ledger.idempotency_keys')
      .set({ log_position: null })
      .where('log_position', 'is not', null),
  );
  await run(
    client,
    tables.updateTable('ledger.followed_log').set({ log_id: targetId, rebuilt: false }),
  );
}
