import pg from 'pg';
import { errorCode } from '../../foundation/error-code.js';
import { timeNow } from '../../foundation/world.js';
import { CLOCK_AHEAD_MS_MAX } from '../clock.js';
import { EventLogUnavailable } from '../event-log.js';
import type { NewestSeen } from '../newest-seen.js';
import type { BatchStore } from './group-commit.js';
import {
  AHEAD_OF_CLOCK,
  batchCall,
  END_MISMATCH,
  singleQuery,
  singleResult,
  type BatchedAppend,
  type BatchedResult,
  type BatchRow,
  type RecordingTime,
  type SingleRow,
} from './postgres-append-batch.js';
import { openDedicatedConnection, readLogId } from './postgres-connection.js';
import { compareSeen } from './postgres-seen.js';

/**
 * Reads committed rows whatever the database's default, as ledger.append_batch requires, and
 * returns only after the disk write, even where commits are asynchronous by default.
 */
const WRITER_SETTINGS = `
  select set_config('default_transaction_isolation', 'read committed', false),
         set_config('enable_seqscan', 'off', false),
         set_config('enable_hashjoin', 'off', false),
         set_config('enable_mergejoin', 'off', false),
         set_config('plan_cache_mode', 'force_generic_plan', false),
         set_config('jit', 'off', false),
         case when current_setting('synchronous_commit') = 'off' then set_config('synchronous_commit', 'on', false) end`;

type WriterOptions = Parameters<typeof openDedicatedConnection>[0] & {
  readonly acceptsClock: boolean;
};

/** Compares the seen events first. @throws {EventLogUnavailable} for another log. */
export async function openWriter(
  options: WriterOptions,
  logId: string,
  seen: NewestSeen,
): Promise<BatchStore> {
  const connection = await openDedicatedConnection(options);
  const { client, isLost } = connection;
  const destroy = () => connection.destroy();
  const timer = setTimeout(destroy, options.connectTimeoutMs);
  try {
    await client.query(WRITER_SETTINGS);
    if ((await readLogId(client)) !== logId)
      throw new EventLogUnavailable('the address of this log leads to another log');
    await compareSeen(seen, async (question) => (await client.query<unknown[]>(question)).rows);
  } catch (error) {
    destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
  return {
    isLost,
    destroy,
    commit: async (appends) => {
      try {
        return await commitBatch(client, appends, recordingTime(options));
      } catch (error) {
        // The detail of a refused row is the row, which must not appear in an error.
        if (error instanceof pg.DatabaseError) error.detail = undefined;
        throw error;
      }
    },
  };
}

function recordingTime({ acceptsClock }: WriterOptions): RecordingTime {
  const clock = timeNow();
  return { clock, newestMax: acceptsClock ? null : clock + CLOCK_AHEAD_MS_MAX };
}

/** @param appends one or more. For a single one, a stream with another last event is a conflict. */
async function commitBatch(
  client: pg.Client,
  appends: readonly BatchedAppend[],
  time: RecordingTime,
): Promise<readonly BatchedResult[]> {
  try {
    return await sendBatch(client, appends, time);
  } catch (error) {
    if (errorCode(error) === AHEAD_OF_CLOCK) return appends.map(() => ({ kind: 'ahead' }));
    const [first, second] = appends;
    if (errorCode(error) !== END_MISMATCH || first === undefined || second !== undefined)
      throw error;
    return [{ kind: 'conflict', actual: first.expected }];
  }
}

async function sendBatch(
  client: pg.Client,
  appends: readonly BatchedAppend[],
  time: RecordingTime,
): Promise<readonly BatchedResult[]> {
  const [first, second] = appends;
  const [event, another] = first?.events ?? [];
  if (first !== undefined && second === undefined && event !== undefined && another === undefined) {
    const { rows } = await client.query<[...SingleRow]>(singleQuery(first, event, time));
    const result = singleResult(first.expected, rows[0] ?? [null]);
    if (result !== undefined) return [result];
  }
  const call = batchCall(appends, time);
  const { rows } = await client.query<[...BatchRow]>(call.query);
  const row = rows[0];
  if (row === undefined) throw new Error('no answer row');
  return call.results(row);
}
