import { sql, type RawBuilder, type Selectable } from 'kysely';
import type { Pool } from 'pg';
import { scopeOfMode, type Mode, type Scope, type ScopeOfMode } from '../domain/scope.js';
import type { LedgerTables } from '../postgres/ledger-tables.js';
import { ProcessPresence } from '../postgres/process-presence.js';
import { fetchRow, fetchRows, now, run, tables, type Connection } from '../postgres/statements.js';
import { withLock } from '../postgres/locks.js';
import type { Sealer } from '../privacy/sealed-bytes.js';
import { forgetInRunFiles } from './run-files.js';
import { cutToBytes } from './cut-to-bytes.js';

export interface NewRun {
  readonly id: string;
  readonly operation: string;
  /** The operator's name. */
  readonly by: string;
  /** Null: it concerns several tenants. */
  readonly scope: ScopeOfMode | null;
  /** May name people. */
  readonly parameters: object;
}

export interface RunProgress {
  readonly phase: string;
  readonly done: number;
  readonly total: number | null;
}

/** The result of a run, or its error in one line. */
export type RunEnd =
  | { readonly result: unknown }
  /** `isCancelled`: an operator stopped it. */
  | { readonly error: string; readonly isCancelled?: boolean };

/** A recorded run. Times are epoch milliseconds. */
export interface RecordedRun extends NewRun {
  readonly state: 'running' | 'done' | 'failed' | 'cancelled' | 'abandoned';
  readonly startedAt: number;
  readonly finishedAt: number | null;
  readonly progress: RunProgress | null;
  /** Null: none, or deleted. */
  readonly result: unknown;
  readonly error: string | null;
  /** People of its tenant were forgotten after its start: data that may name them are deleted. */
  readonly forgotten: boolean;
}

/**
 * Limits of running runs, per operator and in total. An operator without a run may always start
 * one, so that others cannot block all work.
 */
export const UNFINISHED_MAX = { ofOperator: 8, inAll: 32 } as const;

/** Retention of ended runs. */
export const KEPT_RUNS = {
  days: 30,
  /** The newest runs of each operator; results are kept for fewer of them and a shorter time. */
  ofOperator: 100,
  resultHours: 24,
  resultsOfOperator: 20,
  /** Longest result as JSON; see `cutToBytes`. */
  resultBytesMax: 1024 * 1024,
} as const;

/** A process that was briefly away reports again within this time. */
const SILENT_SECONDS = 3;
/** After this silence a run is unknown to its process: the answer to its start was lost. */
const UNKNOWN_SECONDS = 60;

type Row = Selectable<LedgerTables['ledger.operation_runs']>;

/** Parameters and results of imports are counts and are kept; errors may name people. */
const IS_IMPORT = sql<boolean>`operation like 'import %'`;

/**
 * The runs of all processes, in Postgres. Arguments, results and errors may name people: they are
 * encrypted, and deleted with the first erasure in their tenant or after a day.
 */
export class RecordedRuns {
  /** @param owner id of this process, see `ProcessPresence`. */
  constructor(
    private readonly pool: Pool,
    private readonly sealer: Sealer,
    private readonly owner: number,
  ) {}

  /**
   * @returns false: too many runs are running, and nothing was recorded.
   * @throws DatabaseUnavailable
   */
  async begin({ id, operation, by, scope, parameters }: NewRun): Promise<boolean> {
    const sealed = await this.sealed(id, 'parameters', JSON.stringify(parameters));
    return withLock(this.pool, 'start operation runs', async (client) => {
      await markAbandoned(client);
      await purgeRuns(client);
      const begun = await run(
        client,
        sql`insert into ledger.operation_runs (id, operation, operator, tenant, mode, owner, state, parameters)
            select ${id}::uuid, ${operation}::text, ${by}::text, ${scope?.tenant ?? null}::text, ${scope?.mode ?? null}::text,
              ${this.owner}::integer, 'running', ${sealed}::bytea
            from (select count(*) as all, count(*) filter (where operator = ${by}) as own
                  from ledger.operation_runs where state = 'running') as unfinished
            where unfinished.own = 0 or
              (unfinished.all < ${UNFINISHED_MAX.inAll} and unfinished.own < ${UNFINISHED_MAX.ofOperator})`,
      );
      return begun > 0;
    });
  }

  /** Continues a stopped run in this process. False: it is running or done. */
  async resume(id: string): Promise<boolean> {
    await this.markAbandoned();
    const resumed = await run(
      this.pool,
      tables
        .updateTable('ledger.operation_runs')
        .set({ state: 'running', owner: this.owner, cancel_requested: false, finished_at: null })
        .set({ started_at: now, beat_at: now, error: null, phase: null, done: 0n, total: null })
        .where('id', '=', id)
        .where('state', 'in', ['failed', 'cancelled', 'abandoned']),
    );
    return resumed > 0;
  }

  /**
   * Records the progress of this process's runs, even if others marked them as abandoned.
   * @returns ids of runs to stop: cancelled by an operator, or continued by another process.
   */
  async report(
    runs: readonly { readonly id: string; readonly progress: RunProgress | null }[],
  ): Promise<readonly string[]> {
    if (runs.length === 0) return [];
    const reported = JSON.stringify(runs.map(({ id, progress }) => ({ id, ...progress })));
    const toStop = await fetchRows(
      this.pool,
      sql<{ id: string }>`
        with p as (
          select * from jsonb_to_recordset(${reported}::jsonb)
            as p (id uuid, phase text, done bigint, total bigint)),
        reported as (
          update ledger.operation_runs as r
          set beat_at = now(), state = 'running', finished_at = null,
            phase = p.phase, done = coalesce(p.done, 0), total = p.total
          from p where r.id = p.id and r.owner = ${this.owner} and ${isOpen('r')}
          returning r.id, r.cancel_requested)
        select id from reported where cancel_requested
        union all
        select r.id from ledger.operation_runs as r join p on r.id = p.id where r.owner <> ${this.owner}`,
    );
    return toStop.map(({ id }) => id);
  }

  /** Records the end of a run; a finished one deletes its upload. */
  async end(id: string, end: RunEnd, progress: RunProgress | null): Promise<void> {
    const isDone = 'result' in end;
    const document = isDone ? cutToBytes(end.result, KEPT_RUNS.resultBytesMax) : undefined;
    const result = isDone ? await this.sealed(id, 'result', JSON.stringify(document)) : null;
    const error = isDone ? null : await this.sealed(id, 'error', JSON.stringify(end.error));
    const names = !isDone || mayNamePeople(end.result);
    const state = isDone ? 'done' : end.isCancelled ? 'cancelled' : 'failed';
    await run(
      this.pool,
      sql`with ended as (
          update ledger.operation_runs
          set state = ${state}, finished_at = now(), beat_at = now(), names_people = ${names},
            phase = ${progress?.phase ?? null}, done = ${progress?.done ?? 0}, total = ${progress?.total ?? null},
            result = case when forgotten and ${names} then null else ${result}::bytea end,
            error = case when forgotten and ${names} then null else ${error}::bytea end
          where id = ${id} and owner = ${this.owner} and ${isOpen('operation_runs')}
          returning id)
        delete from ledger.run_files
        where kind = 'upload' and ${isDone}::boolean and run in (select id from ended)`,
    );
  }

  async find(id: string): Promise<RecordedRun | undefined> {
    if (!/^[0-9a-f-]{36}$/.test(id)) return undefined;
    await this.markAbandoned();
    const row = await fetchRow(
      this.pool,
      tables.selectFrom('ledger.operation_runs').selectAll().where('id', '=', id),
    );
    return row && this.opened(row);
  }

  /** Newest first, without results. @param by undefined: the running ones of all operators. */
  async list(by: string | undefined): Promise<readonly RecordedRun[]> {
    const rows = await this.newest(
      by === undefined ? sql<boolean>`state = 'running'` : sql<boolean>`operator = ${by}`,
    );
    return Promise.all(rows.map((row) => this.opened({ ...row, result: null })));
  }

  /** Ids of an operator's runs with differences in their stored results. */
  async differing(by: string): Promise<ReadonlySet<string>> {
    const rows = await fetchRows(
      this.pool,
      tables
        .selectFrom('ledger.operation_runs')
        .select(['id', 'result'])
        .where('operator', '=', by)
        .where('operation', 'not like', 'import %')
        .where('result', 'is not', null),
    );
    const found = await Promise.all(
      rows.map(async ({ id, result }) =>
        hasDifferences(await this.read(id, 'result', result)) ? [id] : [],
      ),
    );
    return new Set(found.flat());
  }

  /** Imports of the tenant and mode, newest first. */
  async imports(scope: Scope): Promise<readonly RecordedRun[]> {
    const { tenant, mode } = scopeOfMode(scope);
    const rows = await this.newest(
      sql<boolean>`tenant = ${tenant} and mode = ${mode} and ${IS_IMPORT}`,
    );
    return Promise.all(rows.map((row) => this.opened(row)));
  }

  private async newest(filter: RawBuilder<boolean>): Promise<Row[]> {
    await this.markAbandoned();
    return fetchRows(
      this.pool,
      tables
        .selectFrom('ledger.operation_runs')
        .selectAll()
        .where(filter)
        .orderBy('started_at', 'desc')
        .orderBy('id')
        .limit(KEPT_RUNS.ofOperator),
    );
  }

  /** The run's process stops it at its next report. */
  async requestStop(id: string): Promise<void> {
    await run(
      this.pool,
      tables
        .updateTable('ledger.operation_runs')
        .set({ cancel_requested: true })
        .where('id', '=', id)
        .where('state', '=', 'running'),
    );
  }

  /** Ignores failures: a read-only database still answers reads. */
  private async markAbandoned(): Promise<void> {
    await markAbandoned(this.pool).catch(() => undefined);
  }

  private async opened(row: Row): Promise<RecordedRun> {
    const { id, operation, operator: by, tenant, mode, state, phase, done, total } = row;
    const [parameters, result, error] = await Promise.all([
      this.read(id, 'parameters', row.parameters),
      this.read(id, 'result', row.result),
      this.read(id, 'error', row.error),
    ]);
    return {
      id,
      operation,
      by,
      scope: tenant === null ? null : { tenant, mode: mode as Mode },
      parameters: parameters ?? {},
      state: state as RecordedRun['state'],
      startedAt: row.started_at.getTime(),
      finishedAt: row.finished_at?.getTime() ?? null,
      progress:
        phase === null
          ? null
          : { phase, done: Number(done), total: total === null ? null : Number(total) },
      result,
      error: error as string | null,
      forgotten: row.forgotten,
    };
  }

  private sealed(id: string, part: string, json: string): Promise<Buffer> {
    return this.sealer.seal(Buffer.from(json), contextOf(id, part));
  }

  /** Null also for a value that no key decrypts any more. */
  private async read(id: string, part: string, sealed: Buffer | null): Promise<unknown> {
    if (sealed === null) return null;
    const plain = await this.sealer.open(sealed, contextOf(id, part)).catch(() => undefined);
    return plain === undefined ? null : JSON.parse(plain.toString());
  }
}

/**
 * Deletes what may name people from the runs of this tenant and mode and of all tenants; running
 * ones lose it when they end.
 * @param before see `forgetInRunFiles`.
 */
export async function forgetInRuns(db: Connection, scope: Scope, before?: number): Promise<void> {
  const { tenant, mode } = scopeOfMode(scope);
  await run(
    db,
    sql`update ledger.operation_runs set forgotten = true, parameters = case when ${IS_IMPORT} then parameters end,
          result = case when names_people then null else result end,
          error = case when names_people then null else error end
        where (tenant is null or (tenant = ${tenant} and mode = ${mode}))
          and (state = 'running' or not forgotten or num_nonnulls(parameters, result, error) > 0)`,
  );
  await forgetInRunFiles(db, { tenant, mode }, before);
}

/** Applies `KEPT_RUNS`. @returns the number of changed runs. */
export async function purgeRuns(db: Connection): Promise<number> {
  return run(
    db,
    sql`with ranked as (
          select id, finished_at, started_at, row_number() over (partition by operator order by started_at desc, id) as number
          from ledger.operation_runs where state <> 'running'),
        gone as (
          delete from ledger.operation_runs r using ranked where r.id = ranked.id
            and (ranked.number > ${KEPT_RUNS.ofOperator} or ranked.started_at < now() - make_interval(days => ${KEPT_RUNS.days}))
          returning r.id)
        update ledger.operation_runs r set parameters = case when ${IS_IMPORT} then parameters end,
          result = case when ${IS_IMPORT} then result end, error = case when r.names_people then null else r.error end
        from ranked where r.id = ranked.id and r.id not in (select id from gone)
          and case when ${IS_IMPORT} then r.names_people and r.error is not null else num_nonnulls(r.parameters, r.result) > 0 end
          and (ranked.number > ${KEPT_RUNS.resultsOfOperator} or ranked.finished_at < now() - make_interval(hours => ${KEPT_RUNS.resultHours}))`,
  );
}

/** Ends runs of gone processes, and runs that are unknown to their processes. */
async function markAbandoned(db: Connection): Promise<void> {
  await run(
    db,
    sql`update ledger.operation_runs as r set state = 'abandoned', finished_at = now()
        where r.state = 'running' and r.beat_at < now() - make_interval(secs => ${SILENT_SECONDS})
          and (r.beat_at < now() - make_interval(secs => ${UNKNOWN_SECONDS}) or not ${ProcessPresence.isRunning(sql.ref('r.owner'))})`,
  );
}

/** Its process may still report. */
const isOpen = (table: string): RawBuilder<boolean> =>
  sql`${sql.ref(`${table}.state`)} in ('running', 'abandoned')`;

const contextOf = (id: string, part: string): string => `operation-run/${id}/${part}`;

/** Whether a comparison found differences; `count`: of two generations. */
export function hasDifferences(document: unknown): boolean {
  const { ok, differences, count } = Object(document) as Readonly<Record<string, unknown>>;
  const isAny = Array.isArray(differences) && differences.length > 0;
  return ok === false || isAny || (Array.isArray(differences) && Number(count) > 0);
}

/** Whether a document may hold ids of people: it has differences, or a part of it an account. */
export function mayNamePeople(document: unknown): boolean {
  if (typeof document !== 'object' || document === null) return false;
  if (Array.isArray(document)) return document.some(mayNamePeople);
  const { differences, account } = document as { differences?: unknown; account?: unknown };
  const hasAny = Array.isArray(differences) && differences.length > 0;
  const isNamed = account !== undefined && account !== null;
  return hasAny || isNamed || Object.values(document).some(mayNamePeople);
}
