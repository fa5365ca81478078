import type { Pool, PoolClient } from 'pg';
import { accountProjectors } from '../../../projections/account-projectors.js';
import type { Core } from '../../stores/core.js';
import { openPool } from '../../postgres/database.js';
import { GenerationsBusy, withGenerationsLock } from '../../postgres/generations-lock.js';
import { decodeForProjectors } from '../../projecting/decode-events.js';
import { Interrupted, type GenerationParts } from '../../projecting/generations/catch-up.js';
import { GenerationRefused } from '../../projecting/generations/generation-records.js';
import { ensureLiveGenerations } from '../../projecting/generations/generations.js';
import {
  recordBegun,
  recordEnd,
  type OperationEnd,
  type ProjectionAction,
  type ProjectionOperation,
} from '../../projecting/generations/projection-history.js';
import { describeError, isDataError } from '../../projecting/projecting-errors.js';
import type { Projector } from '../../projecting/projector.js';
import { shownStaff, type Staff } from '../audit.js';
import type { OperationContext } from '../registry/context.js';
import { NotDone, notDone, notDoneAbout, quoted } from '../outcome.js';

/** The connections and parts that operations on read models use. */
export interface ProjectionOperator {
  readonly parts: GenerationParts;
  readonly names: Core['names'];
  readonly commands: Core['commands'];
  readonly tenants: Pick<Core['tenants'], 'find'>;
  readonly by: Staff;
  readonly signal: AbortSignal;
  /** Called, with one line, for finished work that could not be recorded. */
  readonly warn: (line: string) => void;
}

/** What a recorded operation needs. */
export type RecordingOperator = Pick<ProjectionOperator, 'parts' | 'by' | 'signal' | 'warn'>;

interface OperationCaller extends Pick<ProjectionOperator, 'by' | 'signal' | 'warn'> {
  /** Replaces the service's projectors in tests. */
  readonly projectors?: readonly Projector[];
}

type OperationCore = Pick<Core, 'log' | 'codec' | 'names' | 'commands' | 'tenants' | 'logger'>;

/** Without a statement timeout: some statements write or compare whole tables. */
export const openOperationsPool = (
  { databaseUrl: url }: Pick<Core, 'databaseUrl'>,
  max: number,
): Pool => openPool({ url, max, applicationName: 'ledger-projection' });

/** The work of an operation of the registry on read models. */
export const onReadModels = <T>(
  { core, operationsPool, by, signal, warn }: OperationContext,
  work: (operator: ProjectionOperator) => Promise<T>,
): Promise<T> => onProjections(core, operationsPool(), { by, signal, warn }, work);

/** @param pool see `openOperationsPool`; operations may share it. */
export async function onProjections<T>(
  { log, codec, names, commands, tenants, logger }: OperationCore,
  pool: Pool,
  { projectors = accountProjectors, ...caller }: OperationCaller,
  work: (operator: ProjectionOperator) => Promise<T>,
): Promise<T> {
  // Fails here, before positions are read, when the log is unreachable or the database follows
  // another one.
  await log.id();
  await ensureLiveGenerations(pool, projectors);
  const operator = {
    parts: { pool, log, decode: decodeForProjectors(codec), projectors, logger },
    names,
    commands,
    tenants,
    ...caller,
  };
  try {
    return await work(operator);
  } catch (error) {
    throw refusalBelow(error);
  }
}

/** Generations have refusals of their own; any other error is thrown as it is. */
function refusalBelow(error: unknown): unknown {
  if (error instanceof Interrupted)
    return notDone('stopped; nothing that is read was changed. The next rebuild starts again');
  if (isDataError(error))
    return notDone(
      `nothing was changed: a table of the projection refuses a row made from the log: ${describeError(error)}; remove a constraint that was added to the table by hand, or start the release with a fixed projector, and run this again`,
    );
  return error instanceof GenerationsBusy || error instanceof GenerationRefused
    ? notDone(error.message)
    : error;
}

/** The selected projections: one by its name, or all. @throws {NotDone} */
export function chosenOf(
  { parts: { projectors } }: Pick<ProjectionOperator, 'parts'>,
  { projection, all = false }: { readonly projection?: string | undefined; readonly all?: boolean },
): readonly Projector[] {
  if ((projection === undefined) !== all)
    throw notDoneAbout('projection', (word) => `name one projection, or say ${word('all')}`);
  return projection === undefined ? projectors : [projectorNamed(projectors, projection)];
}

/** @throws {NotDone} */
export function projectorNamed(projectors: readonly Projector[], name: string): Projector {
  const projector = projectors.find((candidate) => candidate.name === name);
  if (projector) return projector;
  const known = projectors.map((each) => each.name);
  throw new NotDone(
    'PROJECTION_UNKNOWN',
    [`there is no projection ${quoted(name)}; there are ${known.join(', ')}`],
    ['projection'],
  );
}

/** The result of an operation: its document, and the line of history of each projection. */
export interface OperationResult {
  readonly document: object;
  readonly ends: readonly (Omit<OperationEnd, 'outcome'> & { readonly projection: string })[];
}

/**
 * Runs the work under the lock and writes a line of history for each projection, also when it
 * fails.
 */
export async function recorded(
  { parts, by, signal, warn }: RecordingOperator,
  {
    action,
    projectors,
    where = {},
  }: {
    readonly action: ProjectionAction;
    readonly projectors: readonly Projector[];
    /** The part of the rows; undefined: all. */
    readonly where?: Pick<ProjectionOperation, 'tenant' | 'mode' | 'accountRef'>;
  },
  work: (client: PoolClient, signal: AbortSignal) => Promise<OperationResult>,
): Promise<object> {
  const { pool } = parts;
  return withGenerationsLock(pool, async (client, lost) => {
    const operations = projectors.map(({ name }) => ({
      action,
      projection: name,
      actor: shownStaff(by),
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
    // The work is done: reported as a failure, it would be repeated.
    const doneOf = (name: string): OperationEnd | undefined => {
      const found = ends.find(({ projection }) => projection === name);
      return found && { outcome: 'done', ...found };
    };
    await end(doneOf).catch((error: unknown) =>
      warn(
        `the ${action} stands; its line of history could not be written: ${describeError(error)}`,
      ),
    );
    return document;
  });
}
