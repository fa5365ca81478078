import pg from 'pg';
import { firstLine } from '../foundation/describe-error.js';
import { errorCode } from '../foundation/error-code.js';
import type { Logger } from '../foundation/logger.js';
import { pause } from '../foundation/pause.js';

/** The database of DATABASE_URL cannot be opened; the message is one line without the password. */
export class DatabaseNotOpened extends Error {
  override readonly name = 'DatabaseNotOpened';
}

const RETRY_MS = 250;

/** Refusals that another attempt does not change, with their remedies. */
const REFUSALS: ReadonlyMap<string, string> = new Map([
  ['28P01', 'refuses the user or the password: correct them in DATABASE_URL'],
  ['28000', 'refuses the user: correct it in DATABASE_URL, or allow it in pg_hba.conf'],
  ['3D000', 'has no such database: create it, or correct its name in DATABASE_URL'],
  ['42501', 'does not let this user connect: grant CONNECT on the database'],
]);

/** Why a server does not answer now. */
const ABSENCES: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['ENOTFOUND', 'unknown host'],
  ['EAI_AGAIN', 'unknown host'],
  ['EHOSTUNREACH', 'no route to the host'],
  ['ENETUNREACH', 'no route to the host'],
  ['ETIMEDOUT', 'no answer'],
  ['ECONNRESET', 'connection reset'],
  ['ENOENT', 'no socket'],
  ['57P03', 'it is starting or shutting down'],
  ['53300', 'it has no free connection'],
]);

interface Opening {
  /** For an answer, and for a server that is unavailable. */
  readonly withinMs: number;
  /** False: reports an unavailable server immediately. */
  readonly waits: boolean;
  readonly logger: Logger;
}

/** Resolves when a connection was opened. @throws {DatabaseNotOpened} */
export async function untilDatabaseOpens(
  url: string,
  { withinMs, waits, logger }: Opening,
): Promise<void> {
  const end = performance.now() + withinMs;
  const left = (): number => Math.max(1, Math.round(end - performance.now()));
  for (let attempt = 1; ; attempt += 1) {
    const error = await failureOf(url, left());
    if (error === undefined) return;
    const refusal = REFUSALS.get(errorCode(error) ?? '');
    if (refusal !== undefined)
      throw new DatabaseNotOpened(`Postgres at ${placeOf(url)} ${refusal}`);
    const absence = absenceOf(error);
    if (absence === undefined || !waits || left() <= RETRY_MS)
      throw new DatabaseNotOpened(
        `Postgres at ${placeOf(url)} cannot be reached (${absence ?? firstLine(error)}): start it, or correct DATABASE_URL`,
      );
    if (attempt === 1) logger.info({ database: placeOf(url) }, 'waiting for Postgres');
    await pause(RETRY_MS);
  }
}

async function failureOf(url: string, connectionTimeoutMillis: number): Promise<unknown> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis });
  // A connection that breaks later would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return undefined;
  } catch (error) {
    return error;
  } finally {
    await client.end().catch(() => undefined);
  }
}

function absenceOf(error: unknown): string | undefined {
  // Of a host with several addresses, the first one that failed.
  if (error instanceof AggregateError) return absenceOf(error.errors[0]);
  // pg has no code for it.
  if (firstLine(error).includes('timeout')) return 'no answer';
  return ABSENCES.get(errorCode(error) ?? '');
}

/** `host:port`, never the password. */
function placeOf(url: string): string {
  const { hostname, port, searchParams } = new URL(url);
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  return `${host || 'localhost'}:${port || '5432'}`;
}
