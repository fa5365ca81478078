import { sql } from 'kysely';
import type { PoolClient } from 'pg';
import { ChainSeals, moveCheckpoint } from '../../chain/chain-seals.js';
import { LOG_START, nextLogLink, sealLog, type SealingStop } from '../../chain/log-seal.js';
import { findSealedTail } from '../../chain/sealed-tail.js';
import type { Core } from '../../stores/core.js';
import type { Position } from '../../event-log/event-log.js';
import { fetchRow, fetchRows, run, tables } from '../../postgres/statements.js';
import { inTransaction } from '../../postgres/transaction.js';
import { shownStaff, type Staff } from '../audit.js';
import { notDone } from '../outcome.js';
import { LogReader, type Patience } from '../log/log-reader.js';
import { sealedToHead } from './ledger-digest.js';
import { authenticLogSeal } from './ledger-verification.js';

/** The signed record; the JSON of `ledger acknowledge-loss`. */
export interface LossAcknowledgement {
  readonly log: string;
  /** The newest event that was sealed or seen before; null: unknown. */
  readonly from: Position | null;
  /** The newest sealed event that is still at its position; null: none is. */
  readonly to: Position | null;
  readonly reason: string;
  readonly acknowledgedAt: string;
  /** The seals of lost events, with their contents. */
  readonly seals: Awaited<ReturnType<typeof dropSeals>>['lost'];
  /** Ed25519 over `acknowledgementText`, in base64. */
  readonly signature: string;
}

/** The signed text. Its first line distinguishes it from every other text that the key signs. */
export const acknowledgementText = (loss: Omit<LossAcknowledgement, 'signature'>): string =>
  [
    'referral-ledger acknowledged loss 1',
    loss.log,
    loss.from ?? '',
    loss.to ?? '',
    loss.acknowledgedAt,
    JSON.stringify(loss.reason),
    JSON.stringify(loss.seals),
    '',
  ].join('\n');

type LossCore = Pick<Core, 'pool' | 'log' | 'chainSigner' | 'names'>;

/**
 * Records, signed, that the log lost its end and that this is known: seals of lost events are moved
 * from the chains into the record, the log is sealed anew up to its present end, and sealing
 * continues from there. A later loss is detected like this one.
 * @throws {Stopped} {EventLogUnavailable}
 */
export async function acknowledgeLoss(
  core: LossCore,
  options: Patience & { readonly reason: string; readonly by: Staff },
): Promise<LossAcknowledgement> {
  // Seals what can be sealed first: unsealed events would be taken for lost ones.
  const { stopped } = await sealedToHead(core, { signal: options.signal });
  return inTransaction(core.pool, (client) => acknowledge(client, core, options, stopped));
}

async function acknowledge(
  client: PoolClient,
  { pool, log, chainSigner: signer }: LossCore,
  { reason, by, ...patience }: Parameters<typeof acknowledgeLoss>[1],
  stopped: SealingStop | null,
): Promise<LossAcknowledgement> {
  const seals = new ChainSeals(pool, await log.id());
  const { logId } = seals;
  // A process that seals at the same time finds the checkpoint moved.
  const open = await fetchRow(
    client,
    tables
      .selectFrom('ledger.log_losses')
      .select(['id', 'from_position as from'])
      .where('log_id', '=', logId)
      .where('acknowledged_at', 'is', null)
      .forUpdate(),
  );
  if (open === undefined && stopped === null)
    throw notDone('nothing was lost: there is nothing to acknowledge');
  const logSeal = await authenticLogSeal(seals, signer);
  const { newestIntact, firstMissing } = await findSealedTail(log, seals, logSeal);
  const isLost = (position: Position): boolean =>
    firstMissing !== undefined && log.compare(position, newestIntact?.position) > 0;
  const { lost, left } = await dropSeals(client, logId, isLost);
  const newest = left
    .map(({ position }) => position)
    .reduce<Position | undefined>((a, b) => (log.compare(b, a) > 0 ? b : a), undefined);
  let link = LOG_START;
  for await (const page of new LogReader(log, patience, newest ?? null).pages())
    link = page.reduce(nextLogLink, link);
  await moveCheckpoint(client, logId, sealLog(signer, logId, link));
  const unsigned = {
    log: logId,
    from: open?.from ?? logSeal?.position ?? null,
    to: newestIntact?.position ?? null,
    reason,
    acknowledgedAt: new Date().toISOString(),
    seals: lost,
  };
  const signature = signer.sign(acknowledgementText(unsigned));
  const acknowledgement = { ...unsigned, signature };
  const row = {
    to_position: unsigned.to,
    acknowledged_at: unsigned.acknowledgedAt,
    acknowledged_by: shownStaff(by),
    reason,
    acknowledgement: JSON.stringify(acknowledgement),
    signature,
  };
  await run(
    client,
    open === undefined
      ? tables
          .insertInto('ledger.log_losses')
          .values({ log_id: logId, from_position: unsigned.from, ...row })
      : tables.updateTable('ledger.log_losses').set(row).where('id', '=', open.id),
  );
  return acknowledgement;
}

/**
 * Deletes the seals of lost events, and all that were made at the same moment or later, whose
 * checkpoint was before them.
 */
async function dropSeals(
  client: PoolClient,
  logId: string,
  isLost: (position: Position) => boolean,
) {
  const rows = await fetchRows(
    client,
    tables
      .selectFrom('ledger.chain_seals')
      .select(['sealed_at as at', 'chain', 'events', 'position', 'digest'])
      .where('log_id', '=', logId)
      .orderBy('sealed_at', 'desc'),
  );
  const since = rows.findLast(({ position }) => isLost(position))?.at;
  const isDropped = ({ at }: { readonly at: Date }): boolean => since !== undefined && at >= since;
  const dropped = rows.filter(isDropped);
  const [chains, lengths] = [dropped.map(({ chain }) => chain), dropped.map((row) => row.events)];
  // Raw SQL: the builder has no `unnest` of two lists.
  await run(
    client,
    sql`delete from ledger.chain_seals s
        using unnest(${chains}::text[], ${lengths}::bigint[]) as gone (chain, events)
        where s.log_id = ${logId} and s.chain = gone.chain and s.events = gone.events`,
  );
  const lost = dropped.map(({ chain, events, position, digest }) => ({
    chain,
    events: Number(events),
    position,
    digest: digest.toString('hex'),
  }));
  return { lost, left: rows.filter((row) => !isDropped(row)) };
}
