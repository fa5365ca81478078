import type { Pool, PoolClient } from 'pg';
import { accountProjectors } from '../../../projections/account-projectors.js';
import type { Core } from '../../core/core.js';
import { openPool } from '../../postgres/database.js';
import { withGenerationsLock } from '../../postgres/generations-lock.js';
import { decodeForProjectors } from '../../projecting/decode-events.js';
import { Interrupted, type GenerationParts } from '../../projecting/generations/catch-up.js';
import { ensureLiveGenerations } from '../../projecting/generations/generations.js';
import {
  recordBegun,
  recordEnd,
  type OperationEnd,
  type ProjectionAction,
  type ProjectionOperation,
} from '../../projecting/generations/projection-history.js';
import { describeError } from '../../projecting/projecting-errors.js';
import type { Projector } from '../../projecting/projector.js';
import { argument, sentence } from '../../foundation/operator-refusal.js';
import { CommandError } from '../command-error.js';

/** What the operations on read models are done with. */
export interface ProjectionOperator {
  readonly parts: GenerationParts;
  readonly names: Core['names'];
  readonly commands: Core['commands'];
  readonly tenants: Pick<Core['tenants'], 'find'>;
  /** Who does it, for the history. */
  readonly actor: string;
  readonly signal: AbortSignal;
  /** Is told, in one line, of work that stands and could not be put on record. */
  readonly warn: (line: string) => void;
}

interface OperationCaller extends Pick<ProjectionOperator, 'actor' | 'signal' | 'warn'> {
  /** Other ones than the service's, for tests. */
  readonly projectors?: readonly Projector[];
}

type OperationCore = Pick<Core, 'log' | 'codec' | 'names' | 'commands' | 'tenants'>;

/** Some statements write or compare whole tables: they have no limit of time. */
export const openOperationsPool = (
  { databaseUrl: url }: Pick<Core, 'databaseUrl'>,
  max: number,
): Pool => openPool({ url, max, applicationName: 'ledger-projection' });

/** Of the command line, which does one thing at a time. */
const CONNECTIONS = 10;

/** For a process that does nothing else: with connections of its own. */
export async function withProjections<T>(
  core: OperationCore & Pick<Core, 'databaseUrl'>,
  caller: OperationCaller,
  work: (operator: ProjectionOperator) => Promise<T>,
): Promise<T> {
  const pool = openOperationsPool(core, CONNECTIONS);
  try {
    return await onProjections(core, pool, caller, work);
  } finally {
    await pool.end();
  }
}

/** @param pool see `openOperationsPool`; operations may share it. */
export async function onProjections<T>(
  { log, codec, names, commands, tenants }: OperationCore,
  pool: Pool,
  { projectors = accountProjectors, ...caller }: OperationCaller,
  work: (operator: ProjectionOperator) => Promise<T>,
): Promise<T> {
  // Positions are read below by who the log is: a log that is away says so here, and a database
  // that follows another one, too.
  await log.id();
  await ensureLiveGenerations(pool, projectors);
  return work({
    parts: { pool, log, decode: decodeForProjectors(codec), projectors },
    names,
    commands,
    tenants,
    ...caller,
  });
}

/** One projection by its name, or all of them. */
export function chosenProjectors(
  { projectors }: Pick<GenerationParts, 'projectors'>,
  name: string | undefined,
  all = false,
): readonly Projector[] {
  if ((name === undefined) !== all)
    throw new CommandError(sentence`name one projection, or say ${argument('all')}`);
  if (name === undefined) return projectors;
  const projector = projectors.find((candidate) => candidate.name === name);
  if (!projector)
    throw new CommandError(
      `there is no projection ${JSON.stringify(name.slice(0, 80))}; there are ${projectors.map((each) => each.name).join(', ')}`,
    );
  return [projector];
}

/** What an operation comes to: its document, and the line of history of each projection. */
export interface OperationResult {
  readonly document: object;
  readonly ends: ReadonlyMap<string, OperationEnd>;
}

/** What is done, to which projections, and to whose rows. */
export interface RecordedAction {
  readonly action: ProjectionAction;
  readonly projectors: readonly Projector[];
  /** Left out: to all rows. */
  readonly where?: Pick<ProjectionOperation, 'tenant' | 'mode' | 'accountRef'>;
}

/**
 * Does it under the lock and leaves a line of history for each projection, whatever becomes of it.
 */
export async function recorded(
  { parts, actor, signal, warn }: ProjectionOperator,
  { action, projectors, where = {} }: RecordedAction,
  work: (client: PoolClient, signal: AbortSignal) => Promise<OperationResult>,
): Promise<object> {
  const { pool } = parts;
  return withGenerationsLock(pool, async (client, lost) => {
    const operations = projectors.map(({ name }) => ({
      action,
      projection: name,
      actor,
      ...where,
    }));
    const ids = await recordBegun(pool, operations);
    const end = async (endOf: (projection: string) => OperationEnd | undefined): Promise<void> => {
      for (const [index, { name }] of projectors.entries()) {
        const how = endOf(name);
        if (how) await recordEnd(pool, ids[index] ?? '', how);
      }
    };
    let result: OperationResult;
    try {
      result = await work(client, AbortSignal.any([signal, lost]));
    } catch (error) {
      const failed: OperationEnd =
        error instanceof Interrupted
          ? { outcome: 'cancelled', details: {} }
          : { outcome: 'failed', details: { error: describeError(error) } };
      await end(() => failed).catch(() => undefined);
      throw error;
    }
    const { document, ends } = result;
    // What was done stands: reported as a failure, somebody would do it a second time.
    await end((projection) => ends.get(projection)).catch((error: unknown) =>
      warn(
        `the ${action} stands; its line of history could not be written: ${describeError(error)}`,
      ),
    );
    return document;
  });
}
