import { MODES, type ScopeOfMode } from '../../domain/scope.js';
import { ledgerOf } from '../../domain/tenant/test-clock.js';
import { scopeOfStream } from '../../privacy/keyed-names.js';
import { parkedStreams } from '../../projecting/checkpoints.js';
import { GenerationsOf } from '../../projecting/generations/generation-records.js';
import {
  repair,
  type RepairedProjection,
  type RepairScope,
} from '../../projecting/generations/repair.js';
import { isDataError } from '../../projecting/projecting-errors.js';
import type { Projector } from '../../projecting/projector.js';
import { recordDone } from '../audit.js';
import { findAccount } from '../ledger/ledger-entries.js';
import { tenantNotFound } from '../outcome.js';
import { recorded, type ProjectionOperator } from './projection-operator.js';

/** The part that a repair rebuilds, as the operator names it. */
export interface RepairTarget extends ScopeOfMode {
  readonly account?: string | undefined;
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
): Promise<object> {
  const { names, tenants, parts } = operator;
  const owner = MODES.includes(mode) ? await tenants.find(tenant) : undefined;
  if (owner === undefined) throw tenantNotFound(tenant);
  const ledger = ledgerOf(owner, mode);
  const found =
    account === undefined
      ? undefined
      : await findAccount({ log: parts.log, names }, ledger, account);
  const part: RepairScope['part'] =
    found === undefined
      ? { kind: 'tenant', ...ledger }
      : { kind: 'streams', streams: new Set([found.stream]) };
  const concerns = (stream: string): boolean => {
    const scope = scopeOfStream(stream);
    return scope?.tenant === tenant && scope.mode === ledger.mode;
  };
  const where = { tenant, mode, ...(found && { accountRef: found.ref }) };
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
        ends: repaired.map(({ projection, generation, ...details }) => ({
          projection,
          generation,
          details,
        })),
      };
    },
  );
  const projections = projectors.map(({ name }) => name).join(' ');
  const { by, warn } = operator;
  const parameters = { projections, account: found?.ref };
  const done = { operation: 'projection rebuild', by, parameters, result: document };
  await recordDone(operator, { tenant, mode }, done, { completed: 'the repair stands', warn });
  return document;
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
    const ends = [];
    for (const projector of projectors) {
      const { live } = await GenerationsOf.read(client, parts.log, projector);
      const all = await parkedStreams(parts.pool, projector.name, live.generation);
      const streams = new Set(only === undefined ? all : all.filter((stream) => only.has(stream)));
      const again = (some: readonly string[]): Promise<readonly RepairedProjection[]> =>
        repair({ ...parts, client }, [projector], scopeOfParked(new Set(some)), {
          signal,
          ...(onPage ? { onPage } : {}),
        });
      const details = await released([...streams], again);
      ends.push({ projection: projector.name, generation: live.generation, details });
    }
    const projections = ends.map(({ projection, details: { parkedBefore, parked } }) => ({
      projection,
      retried: parkedBefore,
      released: parkedBefore - parked,
      parked,
    }));
    return { document: { projections }, ends };
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
    const [{ parkedBefore, parked } = { parkedBefore: 0, parked: 0 }] = await again(streams);
    return { parkedBefore, parked };
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
