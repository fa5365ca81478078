import { Socket } from 'node:net';
import pg from 'pg';

export interface DedicatedConnectionOptions {
  /** Called at every connect: the server's address may change. */
  readonly url: () => string;
  readonly applicationName: string;
  readonly connectTimeoutMs: number;
  /** Ends statements whose caller has gone and that wait for a lock. */
  readonly statementTimeoutMs: number;
  /** Sends a statement while the previous one is running, instead of waiting for its answer. */
  readonly pipeline?: boolean;
}

/** Has access to its socket: a hanging server never answers a regular close. */
export interface DedicatedConnection {
  readonly client: pg.Client;
  readonly isLost: () => boolean;
  /** Resolves when either side has closed the connection. */
  readonly lost: Promise<void>;
  /** Closes it immediately; running statements reject but may still take effect. */
  destroy(): void;
}

export async function openDedicatedConnection(
  options: DedicatedConnectionOptions,
): Promise<DedicatedConnection> {
  const socket = new Socket();
  const client = new pg.Client({
    connectionString: options.url(),
    application_name: options.applicationName,
    connectionTimeoutMillis: options.connectTimeoutMs,
    statement_timeout: options.statementTimeoutMs,
    client_encoding: 'UTF8',
    keepAlive: true,
    pipeline: options.pipeline ?? false,
    stream: () => socket,
  });
  let isLost = false;
  const lost = new Promise<void>((resolve) => {
    const lose = () => {
      isLost = true;
      resolve();
    };
    client.on('end', lose);
    // Also keeps an idle connection that breaks from ending the process.
    client.on('error', lose);
  });
  const connection = { client, lost, isLost: () => isLost, destroy: () => void socket.destroy() };
  try {
    await client.connect();
  } catch (error) {
    connection.destroy();
    throw error;
  }
  return connection;
}

export async function readLogId(connection: pg.Pool | pg.Client): Promise<string> {
  const { rows } = await connection.query<{ log_id: string }>('select log_id from ledger.log_head');
  const row = rows[0];
  if (row === undefined)
    throw new Error('ledger.log_head has no row: the event log of this database is damaged');
  return row.log_id;
}
