import type { Pool } from 'pg';
import type { SubjectId } from '../domain/personal.js';
import { erasedSubjects, erasesKeys } from '../event-log/codec.js';
import type { EventLog, Position } from '../event-log/event-log.js';
import { logPages } from '../event-log/event-pages.js';
import type { EventData } from '../event-log/event-schemas.js';
import { anyOf, fetchRow, run, tables } from '../postgres/statements.js';
import { unusedFileKeys } from '../privacy/file-keys.js';
import { subjectsIn } from '../privacy/sealed-values.js';
import type { SubjectKeys } from '../privacy/subject-keys.js';

export interface ReplayedErasures {
  /** Number of events read. */
  readonly events: number;
  /** Number of keys that should have been destroyed before. */
  readonly destroyed: number;
}

const PAGE = 1_000;

/**
 * Destroys the keys of all people whose erasure is in the log, and those of lost export files. The
 * vault stores the position up to which this is done, so that a vault from a backup repeats later
 * erasures. Nothing is decrypted; safe at any time and in several processes concurrently.
 * @throws errors of the log and the database while they are unavailable; then no mark is written.
 */
export async function replayErasures(
  pool: Pool,
  log: Pick<EventLog, 'id' | 'head' | 'readAll' | 'compare'>,
  keys: Pick<SubjectKeys, 'destroy'>,
  { fromStart = false }: { readonly fromStart?: boolean } = {},
): Promise<ReplayedErasures> {
  const logId = await log.id();
  const head = await log.head();
  const mark = fromStart ? undefined : await readMark(pool, logId);
  // A mark beyond the head belongs to a log that was restored: those positions now have other,
  // unchecked events.
  let at = log.compare(head, mark) < 0 ? undefined : mark;
  let events = 0;
  let destroyed = 0;
  for await (const page of logPages(log, { after: at, upTo: head, limit: PAGE })) {
    const erased = page.flatMap(({ type, data }) =>
      erasesKeys(type) ? erasedSubjects(type, JSON.parse(data) as EventData) : [],
    );
    destroyed += await destroyAlive(pool, keys, erased);
    events += page.length;
    at = page.at(-1)?.position;
  }
  // No event names the keys of files.
  const unused = await unusedFileKeys(pool);
  if (unused.length > 0) await keys.destroy(unused);
  destroyed += unused.length;
  // Of a restored database: results of operators' runs may name these people.
  if (destroyed > 0) await forgetRuns(pool);
  await writeMark(pool, logId, at);
  return { events, destroyed };
}

/** Streams of customers by the keys of their ids, destroyed ones included. Nothing is decrypted. */
export async function customerStreams(
  log: Pick<EventLog, 'head' | 'readAll' | 'compare'>,
  customers: ReadonlySet<SubjectId>,
): Promise<ReadonlyMap<SubjectId, string>> {
  const streams = new Map<SubjectId, string>();
  if (customers.size === 0) return streams;
  for await (const page of logPages(log, { upTo: await log.head(), limit: PAGE }))
    for (const { type, stream, data } of page) {
      if (type !== 'ProviderEventReceived') continue;
      for (const subject of subjectsIn(JSON.parse(data)))
        if (customers.has(subject)) streams.set(subject, stream);
    }
  return streams;
}

async function destroyAlive(
  pool: Pool,
  keys: Pick<SubjectKeys, 'destroy'>,
  erased: readonly SubjectId[],
): Promise<number> {
  if (erased.length === 0) return 0;
  const row = await fetchRow(
    pool,
    tables
      .selectFrom('vault.subject_keys')
      .select((eb) => eb.fn.countAll<bigint>().as('alive'))
      .where('subject', '=', anyOf(erased))
      .where('wrapped', 'is not', null),
  );
  // Also subjects without a row: no key is made for them later.
  await keys.destroy(erased);
  return Number(row?.alive ?? 0);
}

async function forgetRuns(pool: Pool): Promise<number> {
  await run(pool, tables.deleteFrom('ledger.run_files'));
  const gone = { forgotten: true, parameters: null, result: null, error: null };
  return run(pool, tables.updateTable('ledger.operation_runs').set(gone));
}

async function readMark(pool: Pool, logId: string): Promise<Position | undefined> {
  const mark = await fetchRow(
    pool,
    tables.selectFrom('vault.erasures_checked').select(['log_id', 'position']),
  );
  return mark?.log_id === logId ? (mark.position ?? undefined) : undefined;
}

async function writeMark(pool: Pool, logId: string, position: Position | undefined): Promise<void> {
  const mark = { log_id: logId, position: position ?? null };
  await run(
    pool,
    tables
      .insertInto('vault.erasures_checked')
      .values(mark)
      .onConflict((conflict) => conflict.column('one').doUpdateSet(mark)),
  );
}

/** Loads keys only after the log's erasures were repeated. */
export class SubjectKeysAfterReplay implements SubjectKeys {
  private checked: Promise<unknown> | undefined;

  constructor(
    private readonly keys: SubjectKeys,
    private readonly replay: () => Promise<unknown>,
  ) {}

  async load(subjects: Iterable<SubjectId>): Promise<ReadonlyMap<SubjectId, Buffer | null>> {
    await this.check();
    return this.keys.load(subjects);
  }

  async loadOrCreate(
    subjects: Iterable<SubjectId>,
  ): Promise<ReadonlyMap<SubjectId, Buffer | null>> {
    await this.check();
    return this.keys.loadOrCreate(subjects);
  }

  destroy(subjects: readonly SubjectId[]): Promise<void> {
    return this.keys.destroy(subjects);
  }

  forget(subjects?: Iterable<SubjectId>): void {
    this.keys.forget(subjects);
  }

  /** Once per process; after a failure the next caller tries again. */
  private check(): Promise<unknown> {
    this.checked ??= this.replay().catch((error: unknown) => {
      this.checked = undefined;
      throw error;
    });
    return this.checked;
  }
}
