import { MODES, type Mode } from '../../domain/scope.js';
import { scopeOfStream } from '../../privacy/keyed-names.js';
import { parkedStreams } from '../../projecting/checkpoints.js';
import type { GenerationParts } from '../../projecting/generations/catch-up.js';
import { GenerationsOf } from '../../projecting/generations/generation-records.js';
import type { OperationEnd } from '../../projecting/generations/projection-history.js';
import {
  repair,
  type RepairedProjection,
  type RepairScope,
} from '../../projecting/generations/repair.js';
import { isDataError } from '../../projecting/projecting-errors.js';
import type { Projector } from '../../projecting/projector.js';
import { recordDone } from '../audit.js';
import { NotDone, type Outcome } from '../outcome.js';
import { recorded, type ProjectionOperator } from './projection-operator.js';

/** The part that a repair rebuilds, as the operator names it. */
export interface RepairTarget {
  readonly tenant: string;
  readonly mode: Mode;
  readonly account?: string;
}

/**
 * Rebuilds a part of a live generation in place, and appends an audit event to the log of its
 * tenant.
 */
export async function repairProjections(
  operator: ProjectionOperator,
  projectors: readonly Projector[],
  { tenant, mode, account }: RepairTarget,
  onPage?: (events: number, last: string) => void,
): Promise<Outcome<object>> {
  const { names, tenants, parts } = operator;
  if (!MODES.includes(mode) || (await tenants.find(tenant)) === undefined)
    return new NotDone({ code: 'TENANT_NOT_FOUND', tenant });
  const accountRef =
    account === undefined ? undefined : names.accountRef({ tenant, mode }, account);
  const part: RepairScope['part'] =
    accountRef === undefined
      ? { kind: 'tenant', tenant, mode }
      : { kind: 'streams', streams: new Set([names.accountStream({ tenant, mode }, accountRef)]) };
  if (part.kind === 'streams' && !(await areThere(parts, part.streams)))
    return new NotDone({ code: 'REPAIRED_ACCOUNT_NOT_FOUND' });
  const concerns = (stream: string): boolean => {
    const scope = scopeOfStream(stream);
    return scope?.tenant === tenant && scope.mode === mode;
  };
  const where = { tenant, mode, ...(accountRef === undefined ? {} : { accountRef }) };
  const document = await recorded(
    operator,
    { action: 'repair', projectors, where },
    async (client, signal) => {
      const repaired = await repair(
        { ...parts, client },
        projectors,
        // A rebuild tries skipped events again.
        { part, concerns, skips: [] },
        { signal, ...(onPage ? { onPage } : {}) },
      );
      const target = { tenant, mode, ...(account === undefined ? {} : { account }) };
      return {
        document: { ...target, projections: repaired },
        ends: new Map(repaired.map((each) => [each.projection, endOf(each)])),
      };
    },
  );
  const parameters = {
    projections: projectors.map(({ name }) => name).join(' '),
    account: accountRef,
  };
  const done = {
    operation: 'projection rebuild',
    by: operator.by,
    parameters,
    result: document,
  };
  await recordDone(operator, { tenant, mode }, done, {
    completed: 'the repair stands',
    warn: operator.warn,
  });
  return document;
}

export const endOf = ({
  projection: _,
  generation,
  ...details
}: RepairedProjection): OperationEnd => ({
  outcome: 'done',
  generation,
  details,
});

async function areThere({ log }: GenerationParts, streams: Iterable<string>): Promise<boolean> {
  for (const stream of streams) {
    const events = log.readStream(stream)[Symbol.asyncIterator]();
    const { done } = await events.next();
    await events.return?.();
    if (done === true) return false;
  }
  return true;
}

interface RetryOptions {
  readonly onPage?: ((events: number, last: string) => void) | undefined;
  /** Undefined: all parked streams. */
  readonly only?: ReadonlySet<string>;
}

/** Retries parked streams: their accounts are rebuilt in place. */
export async function retryParked(
  operator: ProjectionOperator,
  projectors: readonly Projector[],
  { onPage, only }: RetryOptions = {},
): Promise<object> {
  const { parts } = operator;
  return recorded(operator, { action: 'retry-parked', projectors }, async (client, signal) => {
    const done: {
      projection: string;
      parkedBefore: number;
      parked: number;
      details: OperationEnd;
    }[] = [];
    for (const projector of projectors) {
      const { live } = await GenerationsOf.read(client, parts.log, projector);
      const all = await parkedStreams(parts.pool, projector.name, live.generation);
      const streams = new Set(only === undefined ? all : all.filter((stream) => only.has(stream)));
      const again = (some: readonly string[]): Promise<readonly RepairedProjection[]> =>
        repair({ ...parts, client }, [projector], scopeOfParked(new Set(some)), {
          signal,
          ...(onPage ? { onPage } : {}),
        });
      const { parkedBefore, parked } = await released([...streams], again);
      const details: OperationEnd = {
        outcome: 'done',
        generation: live.generation,
        details: { parkedBefore, parked },
      };
      done.push({ projection: projector.name, parkedBefore, parked, details });
    }
    const document = {
      projections: done.map(({ projection, parkedBefore, parked }) => ({
        projection,
        retried: parkedBefore,
        released: parkedBefore - parked,
        parked,
      })),
    };
    return {
      document,
      ends: new Map(done.map(({ projection, details }) => [projection, details])),
    };
  });
}

/**
 * Streams with rows that the table refuses stay parked and hold no other stream back; halving the
 * set finds them.
 */
async function released(
  streams: readonly string[],
  again: (streams: readonly string[]) => Promise<readonly RepairedProjection[]>,
): Promise<Pick<RepairedProjection, 'parkedBefore' | 'parked'>> {
  if (streams.length === 0) return { parkedBefore: 0, parked: 0 };
  try {
    const [repaired] = await again(streams);
    return repaired ?? { parkedBefore: 0, parked: 0 };
  } catch (error) {
    if (!isDataError(error)) throw error;
    if (streams.length === 1) return { parkedBefore: 1, parked: 1 };
    const middle = streams.length >> 1;
    const first = await released(streams.slice(0, middle), again);
    const second = await released(streams.slice(middle), again);
    return {
      parkedBefore: first.parkedBefore + second.parkedBefore,
      parked: first.parked + second.parked,
    };
  }
}

export function scopeOfParked(streams: ReadonlySet<string>): RepairScope {
  const textOf = (stream: string): string => JSON.stringify(scopeOfStream(stream) ?? null);
  const scopes = new Set([...streams].map(textOf));
  // The name of such a stream contains no tenant; its rows may belong to any tenant or to none.
  return {
    part: { kind: 'streams', streams },
    concerns: (stream) => scopes.has('null') || scopes.has(textOf(stream)),
  };
}
