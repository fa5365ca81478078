import { hash } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import type { Position, RecordedEvent } from '../event-log/event-log.js';
import { fetchRow, now, run, tables } from '../postgres/statements.js';
import type { ChainSigner } from './chain-signer.js';

/** The log after one of its events: which events are where. Chains cover their content. */
export interface LogLink {
  readonly events: number;
  /** Of the last event; null: none. */
  readonly position: Position | null;
  readonly eventId: string | null;
  /** SHA-256 in hex over all of them; empty before the first one. */
  readonly digest: string;
}

export interface LogSeal extends LogLink {
  /** In base64. */
  readonly signature: string;
}

/** Before the first event. */
export const LOG_START: LogLink = { events: 0, position: null, eventId: null, digest: '' };

/**
 * The link after one more event: `digest = SHA-256( previous digest ‖ position ‖ " " ‖ id ‖ " " ‖
 * revision ‖ " " ‖ stream )`.
 */
export function nextLogLink(
  before: LogLink,
  { position, id, revision, stream }: RecordedEvent,
): LogLink {
  const digest = hash('sha256', `${before.digest}${position} ${id} ${revision} ${stream}`, 'hex');
  return { events: before.events + 1, position, eventId: id, digest };
}

/** The signed text. Its first line separates it from other texts that the key signs. */
const logSealText = (logId: string, { events, position, eventId, digest }: LogLink): string =>
  ['referral-ledger log seal 1', logId, events, position ?? '', eventId ?? '', digest, ''].join(
    '\n',
  );

export const sealLog = (signer: ChainSigner, logId: string, link: LogLink): LogSeal => ({
  ...link,
  signature: signer.sign(logSealText(logId, link)),
});

export const isLogSealed = (
  signer: ChainSigner,
  logId: string,
  { signature, ...link }: LogSeal,
): boolean => signer.isSigned(logSealText(logId, link), signature);

/** @throws while the database is unavailable. */
export async function readLogSeal(
  db: Pool | PoolClient,
  logId: string,
): Promise<LogSeal | undefined> {
  const row = await fetchRow(
    db,
    tables
      .selectFrom(TABLE)
      .select(['events', 'position', 'event_id as eventId', 'digest', 'signature'])
      .where('log_id', '=', logId),
  );
  return row && { ...row, events: Number(row.events) };
}

export async function writeLogSeal(
  db: Pool | PoolClient,
  logId: string,
  seal: LogSeal,
): Promise<void> {
  const row = rowOf(seal);
  await run(
    db,
    tables
      .insertInto(TABLE)
      .values({ log_id: logId, ...row })
      .onConflict((conflict) => conflict.column('log_id').doUpdateSet({ ...row, sealed_at: now })),
  );
}

/** Only when a database first uses the log: a later start would hide removed seals. Idempotent. */
export async function beginLogSeal(
  db: Pool | PoolClient,
  logId: string,
  signer: ChainSigner,
): Promise<void> {
  await run(
    db,
    tables
      .insertInto(TABLE)
      .values({ log_id: logId, ...rowOf(sealLog(signer, logId, LOG_START)) })
      .onConflict((conflict) => conflict.doNothing()),
  );
}

const TABLE = 'ledger.log_seals';

const rowOf = ({ position, eventId, events, digest, signature }: LogSeal) => ({
  position,
  event_id: eventId,
  events,
  digest,
  signature,
});

/** Why the log is not sealed any further; `ledger verify` reports the same. */
export type SealingStop =
  /** The log lost its end, and the loss is not acknowledged. */
  | 'lost'
  /** The last sealed event is missing, and no process has noticed a loss. */
  | 'removed'
  /** The seal of the log is missing, though the log has events. */
  | 'seal-removed'
  /** Not signed here, or the sealer's checkpoint was moved back before it. */
  | 'seal-signature';
