import { followedLogId, mayLogGrow, recordCopy } from '../../stores/followed-log.js';
import type { LedgerDatabase } from '../../stores/ledger-database.js';
import { EventLogUnavailable, type EventLog, type Position } from '../../event-log/event-log.js';
import { logPages } from '../../event-log/event-pages.js';
import { readPolicyPosition } from '../../reacting/policy-checkpoint.js';
import { compareLogs } from './log-comparison.js';
import { notDone } from '../outcome.js';
import { copyLog } from './log-copy.js';
import { LogReader, type Patience } from './log-reader.js';

/** The phases that progress shows. */
export type CopyPhase = 'counting' | 'copying' | 'comparing';

export interface LogMoveOptions extends Patience {
  readonly database: LedgerDatabase;
  readonly source: EventLog;
  readonly target: EventLog;
  /** A first copy while the service runs, never the last one. */
  readonly whileRunning: boolean;
  /** `total` is unknown while counting. */
  readonly onProgress?: (phase: CopyPhase, events: number, total: number | undefined) => void;
}

export type LogMoveResult = Awaited<ReturnType<typeof copyWholeLog>>;

/**
 * Copies a whole log and compares the two. When the database follows the source and nothing can
 * have been appended meanwhile, it records the copy, so that the service may be started on the
 * target.
 * @throws {EventLogUnavailable} @throws {NotDone}
 */
export async function copyWholeLog(options: LogMoveOptions) {
  const { database, source, target, whileRunning, onProgress } = options;
  const { pool } = database;
  const sourceId = await named('--from', source.id());
  const targetId = await named('--to', target.id());
  if (sourceId === targetId)
    throw notDone((word) => `${word('from')} and ${word('to')} are the same log`);
  const followed = await followedLogId(pool);
  if (followed === targetId)
    throw notDone(
      (word) =>
        `the service follows the log at ${word('to')}: copy from it, or correct DATABASE_URL, which is another service's`,
    );
  const isMove = followed === sourceId;
  if (isMove && !whileRunning && (await mayLogGrow(pool))) throw SOURCE_MAY_GROW;

  const policies = isMove ? await readPolicyPosition(pool) : null;
  const upTo = (await source.head()) ?? null;
  const total = await countEvents(source, upTo, options);
  const progress = (phase: CopyPhase) => (events: number) => onProgress?.(phase, events, total);
  const copied = await copyLog(source, target, {
    ...options,
    upTo,
    onProgress: progress('copying'),
  });
  const compared = await compareLogs(source, target, {
    ...options,
    upTo,
    translate: policies,
    onProgress: progress('comparing'),
  });
  // Events that were appended to the source during the copy, and that the target lacks.
  const cameSince = await countSince(source, upTo);
  const isEqual = compared.differences.length === 0 && compared.isOrderSame;
  const isLast = isMove && !whileRunning && isEqual && cameSince === 0;
  if (isLast && policies !== null && compared.translated === null)
    throw notDone(
      'policies are at a position that the source does not have: start the service on the source once, stop it and run again',
    );
  const copy = {
    sourceId,
    targetId,
    sourceHead: upTo,
    targetHead: compared.targetHead,
    events: compared.events,
  };
  // The database follows the source, and the next service on it moves over to the target.
  const isRecorded =
    isLast && (await recordCopy(pool, { ...copy, policiesPosition: compared.translated }));
  if (isLast && !isRecorded) throw SOURCE_MAY_GROW;
  return { ...copied, ...compared, cameSince, isRecorded };
}

const SOURCE_MAY_GROW = notDone(
  (word) =>
    `a service or a command runs on this database and may append: stop it, or make a first pass while it runs with ${word('whileRunning')}`,
);

async function countEvents(
  source: EventLog,
  upTo: Position | null,
  options: LogMoveOptions,
): Promise<number> {
  let count = 0;
  for await (const page of new LogReader(source, options, upTo).pages())
    options.onProgress?.('counting', (count += page.length), undefined);
  return count;
}

const COUNTED_MAX = 100_000;
const COUNTED_PAGE = 1_000;

/** Counts up to this many. */
async function countSince(source: EventLog, position: Position | null): Promise<number> {
  let count = 0;
  const range = { after: position ?? undefined, upTo: await source.head() };
  for await (const page of logPages(source, { ...range, limit: COUNTED_PAGE })) {
    count += page.length;
    if (count >= COUNTED_MAX) break;
  }
  return Math.min(count, COUNTED_MAX);
}

/** Names the address whose log must not be used. */
async function named<T>(option: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof EventLogUnavailable)
      throw new EventLogUnavailable(`${option}: ${error.message}`);
    throw error;
  }
}
