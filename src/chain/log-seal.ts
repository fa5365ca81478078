import { hash } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import type { Position, RecordedEvent } from '../event-log/event-log.js';
import type { ChainSigner } from './chain-signer.js';

/**
 * Where the whole log stands behind one of its events: which events there are, in which places.
 * What they say the chains hold.
 */
export interface LogLink {
  /** How many events the log has up to here. */
  readonly events: number;
  /** Of the last of them; null: there is none. */
  readonly position: Position | null;
  readonly eventId: string | null;
  /** SHA-256 in hex over all of them; empty before the first one. */
  readonly digest: string;
}

/** A link that this installation signed. */
export interface LogSeal extends LogLink {
  /** In base64. */
  readonly signature: string;
}

/** Before the first event. */
export const LOG_START: LogLink = { events: 0, position: null, eventId: null, digest: '' };

/**
 * The log with one event more: `digest = SHA-256( digest before ‖ position ‖ " " ‖ id ‖ " " ‖
 * revision ‖ " " ‖ stream )`.
 */
export function nextLogLink(
  before: LogLink,
  { position, id, revision, stream }: RecordedEvent,
): LogLink {
  const digest = hash('sha256', `${before.digest}${position} ${id} ${revision} ${stream}`, 'hex');
  return { events: before.events + 1, position, eventId: id, digest };
}

/**
 * What the signature is made over. The first line keeps it apart from everything else that the key
 * may sign.
 */
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

/** @throws when the database is away. */
export async function readLogSeal(
  db: Pool | PoolClient,
  logId: string,
): Promise<LogSeal | undefined> {
  const { rows } = await db.query<Omit<LogSeal, 'events'> & { events: bigint }>(
    'select events, position, event_id as "eventId", digest, signature from ledger.log_seals where log_id = $1',
    [logId],
  );
  return rows[0] && { ...rows[0], events: Number(rows[0].events) };
}

export async function writeLogSeal(
  db: Pool | PoolClient,
  logId: string,
  seal: LogSeal,
): Promise<void> {
  await db.query(
    `insert into ledger.log_seals (log_id, position, event_id, events, digest, signature) values ($1, $2, $3, $4, $5, $6)
     on conflict (log_id) do update set position = excluded.position, event_id = excluded.event_id, events = excluded.events,
       digest = excluded.digest, signature = excluded.signature, sealed_at = now()`,
    [logId, seal.position, seal.eventId, seal.events, seal.digest, seal.signature],
  );
}

/**
 * Sealing of a log begins. Said once, when a database meets the log, and never by who seals: a log
 * with events and without a seal would else be sealed as it stands, whoever removed the seals.
 * Nothing happens when it has begun.
 */
export async function beginLogSeal(
  db: Pool | PoolClient,
  logId: string,
  signer: ChainSigner,
): Promise<void> {
  const { events, position, eventId, digest, signature } = sealLog(signer, logId, LOG_START);
  await db.query(
    `insert into ledger.log_seals (log_id, position, event_id, events, digest, signature) values ($1, $2, $3, $4, $5, $6) on conflict do nothing`,
    [logId, position, eventId, events, digest, signature],
  );
}

/** Why the log is not sealed any further, which `ledger verify` says as well. */
export type SealingStop =
  /** It lost its end, which nobody has acknowledged. */
  | 'lost'
  /** What was sealed last is not there, which no process has noticed. */
  | 'removed'
  /** The seal of the log is not there, though the log holds events. */
  | 'seal-removed'
  /** The seal of the log was not signed here, or the sealer's checkpoint was set back behind it. */
  | 'seal-signature';
