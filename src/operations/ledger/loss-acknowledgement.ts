import { sql } from 'kysely';
import type { PoolClient } from 'pg';
import { ChainNames } from '../../chain/chain-names.js';
import { ChainSealing } from '../../chain/chain-sealing.js';
import { ChainSeals, sealsIn } from '../../chain/chain-seals.js';
import type { ChainSigner } from '../../chain/chain-signer.js';
import {
  isLogSealed,
  LOG_START,
  nextLogLink,
  sealLog,
  writeLogSeal,
  type LogLink,
  type SealingStop,
} from '../../chain/log-seal.js';
import { sealedTail } from '../../chain/sealed-tail.js';
import type { Core } from '../../stores/core.js';
import type { Position } from '../../event-log/event-log.js';
import { fetchRow, fetchRows, now, run, tables } from '../../postgres/statements.js';
import { inTransaction } from '../../postgres/transaction.js';
import { recordEverywhere, shownStaff, type Staff } from '../audit.js';
import { NotDone, type Outcome } from '../outcome.js';
import { LogReader, type Patience } from '../log/log-reader.js';

export interface AcknowledgementOptions extends Patience {
  readonly reason: string;
  readonly by: Staff;
  readonly warn: (line: string) => void;
}

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
  readonly seals: readonly LostSeal[];
  /** Ed25519 over `acknowledgementText`, in base64. */
  readonly signature: string;
}

interface LostSeal {
  readonly chain: string;
  readonly events: number;
  readonly position: Position;
  readonly digest: string;
}

/** The signed text. Its first line distinguishes it from every other text that the key signs. */
export const acknowledgementText = ({
  log,
  from,
  to,
  reason,
  acknowledgedAt,
  seals,
}: Omit<LossAcknowledgement, 'signature'>): string =>
  [
    'referral-ledger acknowledged loss 1',
    log,
    from ?? '',
    to ?? '',
    acknowledgedAt,
    JSON.stringify(reason),
    JSON.stringify(seals),
    '',
  ].join('\n');

/**
 * Records, signed, that the log lost its end and that this is known: seals of lost events are moved
 * from the chains into the record, the log is sealed anew up to its present end, and sealing
 * continues from there. A later loss is detected like this one.
 * @param onAcknowledged appends the audit events, once the acknowledgement is committed.
 * @throws {Stopped} {EventLogUnavailable}
 */
export async function acknowledgeLoss(
  core: Pick<Core, 'pool' | 'log' | 'chainSigner' | 'names'>,
  options: AcknowledgementOptions,
  onAcknowledged: (acknowledged: LossAcknowledgement) => Promise<void>,
): Promise<Outcome<LossAcknowledgement>> {
  const { pool, log, names, chainSigner: signer } = core;
  // Seals what can be sealed first: unsealed events would be taken for lost ones.
  const chains = new ChainNames(names);
  const sealing = new ChainSealing({ seals: sealsIn(pool), log, chains, signer });
  const { stopped } = await sealing.sealToHead({ signal: options.signal });
  const acknowledged = await inTransaction(pool, async (client) => {
    // A process that seals at the same time finds the checkpoint moved.
    const open = await fetchRow(
      client,
      tables
        .selectFrom('ledger.log_losses')
        .select('from_position as from')
        .where('log_id', '=', await core.log.id())
        .where('acknowledged_at', 'is', null)
        .forUpdate(),
    );
    return acknowledge(client, core, options, { open, stopped });
  });
  if (!(acknowledged instanceof NotDone)) await onAcknowledged(acknowledged);
  return acknowledged;
}

async function acknowledge(
  client: PoolClient,
  { pool, log, chainSigner: signer }: Pick<Core, 'pool' | 'log' | 'chainSigner'>,
  { reason, by, ...patience }: AcknowledgementOptions,
  {
    open,
    stopped,
  }: {
    readonly open: { readonly from: string | null } | undefined;
    readonly stopped: SealingStop | null;
  },
): Promise<Outcome<LossAcknowledgement>> {
  const seals = new ChainSeals(pool, await log.id());
  const logSeal = await seals.logSeal();
  const isAuthentic = logSeal !== undefined && isLogSealed(signer, seals.logId, logSeal);
  const { newestIntact, firstMissing } = await sealedTail(
    log,
    seals,
    isAuthentic ? logSeal : undefined,
  );
  if (open === undefined && stopped === null) return new NotDone({ code: 'NOTHING_LOST' });
  const isLost = (position: Position): boolean =>
    firstMissing !== undefined && log.compare(position, newestIntact?.position) > 0;
  const { lost, left } = await dropSeals(client, seals, isLost);
  const newest = left.reduce<Position | null>(
    (a, { position }) => (a === null || log.compare(position, a) > 0 ? position : a),
    null,
  );
  const link = await linkAt(log, newest, patience);
  await setCheckpoint(client, seals, link, signer);
  const unsigned = {
    log: seals.logId,
    from: open?.from ?? (isAuthentic ? logSeal.position : null),
    to: newestIntact?.position ?? null,
    reason,
    acknowledgedAt: new Date().toISOString(),
    seals: lost,
  };
  const acknowledgement = { ...unsigned, signature: signer.sign(acknowledgementText(unsigned)) };
  await record(client, acknowledgement, shownStaff(by));
  return acknowledgement;
}

/**
 * Deletes the seals of lost events, and all that were made at the same moment or later, whose
 * checkpoint was before them.
 */
async function dropSeals(
  client: PoolClient,
  { logId }: ChainSeals,
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
  const since = rows
    .filter(({ position }) => isLost(position))
    .reduce<Date | undefined>((a, { at }) => (a === undefined || at < a ? at : a), undefined);
  if (since === undefined) return { lost: [], left: rows };
  const dropped = rows.filter(({ at }) => at >= since);
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
  return { lost, left: rows.filter(({ at }) => at < since) };
}

/** The link of the whole log up to this position. */
async function linkAt(
  log: Core['log'],
  upTo: Position | null,
  patience: Patience,
): Promise<LogLink> {
  let link = LOG_START;
  for await (const page of new LogReader(log, patience, upTo).pages())
    link = page.reduce(nextLogLink, link);
  return link;
}

async function setCheckpoint(
  client: PoolClient,
  { logId }: ChainSeals,
  link: LogLink,
  signer: ChainSigner,
): Promise<void> {
  const { position, events } = link;
  await run(
    client,
    tables
      .insertInto('ledger.chain_checkpoints')
      .values({ log_id: logId, position, events, version: 1n })
      .onConflict((conflict) =>
        conflict.column('log_id').doUpdateSet((eb) => ({
          position,
          events,
          version: eb('ledger.chain_checkpoints.version', '+', 1n),
          updated_at: now,
        })),
      ),
  );
  await writeLogSeal(client, logId, sealLog(signer, logId, link));
}

async function record(
  client: PoolClient,
  acknowledgement: LossAcknowledgement,
  by: string,
): Promise<void> {
  const { log, from, to, reason, acknowledgedAt, signature } = acknowledgement;
  await run(
    client,
    tables
      .insertInto('ledger.log_losses')
      .values({ log_id: log, from_position: from, to_position: to })
      .onConflict((conflict) =>
        conflict.column('log_id').where('acknowledged_at', 'is', null).doNothing(),
      ),
  );
  await run(
    client,
    tables
      .updateTable('ledger.log_losses')
      .set({
        to_position: to,
        acknowledged_at: acknowledgedAt,
        acknowledged_by: by,
        reason,
        acknowledgement: JSON.stringify(acknowledgement),
        signature,
      })
      .where('log_id', '=', log)
      .where('acknowledged_at', 'is', null),
  );
}

/** Recorded for every tenant, in both modes: each of them may have lost events. */
export async function auditLoss(
  core: Pick<Core, 'commands' | 'names' | 'tenantCommands'>,
  result: LossAcknowledgement,
  { by, warn }: Pick<AcknowledgementOptions, 'by' | 'warn'>,
): Promise<void> {
  // The reason is free text and may name a person: it is stored in the acknowledgement only, whose
  // digest is in the event.
  const parameters = { from: result.from ?? 'unknown', to: result.to ?? 'none' };
  await recordEverywhere(
    core,
    { operation: 'ledger acknowledge-loss', by, parameters, result },
    { completed: 'the loss was acknowledged', warn },
  );
}
