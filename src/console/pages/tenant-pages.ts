import { LRUCache } from 'lru-cache';
import * as z from 'zod';
import type { Core } from '../../stores/core.js';
import type { Scope } from '../../domain/scope.js';
import type { StaffMeta } from '../../operations/audit.js';
import { auditedOn, type Done } from '../../operations/audited.js';
import type { BackgroundPacer } from '../../foundation/background-pacer.js';
import { timeNow } from '../../foundation/world.js';
import { ApiError, unavailable } from '../../http/edge/api-error.js';
import type { OwnWrites } from '../../http/writing/own-writes.js';
import type { Acted } from '../../operations/customers/actions/account-action.js';
import type { OperationsCore } from '../../http/operations/operations-core.js';
import type { OperationCalls } from '../../http/operations/operation-calls.js';
import type { ShownRun } from '../../http/operations/operation-runs.js';
import { shownMoney } from '../../operations/ledger/shown-money.js';
import type { PaymentWorld } from '../../operations/registry/context.js';
import type { Operation } from '../../operations/registry/operation.js';
import type { Money } from '../../operations/registry/printing.js';
import { type ConsoleCall, staffOf, type TenantCall } from '../console-call.js';
import { runView, type FoundBy } from '../view/run-view.js';
import { onceIfKeyed } from '../../operations/operator-keys.js';
import { NotDone, type Outcome, outcomeOf } from '../../operations/outcome.js';

const REFRESH_SECONDS = 2;
const CATCH_UP_MS = 5_000;

/** For the frame of a page with this run, where no script follows it. */
export const refreshOf = (run: Pick<ShownRun, 'state'> | undefined) =>
  run?.state === 'running' ? { refreshSeconds: REFRESH_SECONDS } : {};

/**
 * The texts of a query as they were typed; several of one name, or none, are empty. Without NUL,
 * which Postgres has no text for.
 */
export function queried<N extends string>(query: unknown, ...names: N[]): Record<N, string> {
  const given = z.record(z.string(), z.unknown()).catch({}).parse(query);
  const textOf = (name: N): string => {
    const value = given[name];
    return typeof value === 'string' ? value.replaceAll('\0', '').trim().slice(0, 1_000) : '';
  };
  return Object.fromEntries(names.map((name) => [name, textOf(name)])) as Record<N, string>;
}

/** The fields of a form that was sent, or of the address of a page. */
export function given<N extends string>(
  { query, form }: Pick<ConsoleCall, 'query' | 'form'>,
  ...names: N[]
): Record<N, string> {
  const texts = names.map((name) => [name, queried(query, name)[name] || form.text(name)]);
  return Object.fromEntries(texts) as Record<N, string>;
}

/** Without those that are not filled in. */
export const filledIn = <N extends string>(
  texts: Readonly<Record<N, string>>,
): Partial<Record<N, string>> =>
  Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== '')) as Partial<
    Record<N, string>
  >;

/** A query string of what is filled in, with its question mark; empty: nothing is. */
export function queryOf(texts: Readonly<Record<string, string>>): string {
  const given = Object.entries(texts).filter(([, text]) => text !== '');
  const query = new URLSearchParams(given).toString();
  return query === '' ? '' : `?${query}`;
}

/** Pages show ids of their own tenant: a form with another one was not made by them. */
const IDS_OF_OTHERS: ReadonlySet<string> = new Set([
  'DELIVERY_NOT_FOUND',
  'EXPORT_NOT_FOUND',
  'MAIL_NOT_FOUND',
]);

/** @throws {ApiError} FORBIDDEN for an id that the tenant does not have. */
export function ofThisTenant<T>(outcome: Outcome<T>): Outcome<T> {
  if (outcome instanceof NotDone && IDS_OF_OTHERS.has(outcome.code)) throw notOfThisTenant();
  return outcome;
}

export const notOfThisTenant = (): ApiError =>
  new ApiError('FORBIDDEN', { message: 'It is not one of this tenant, or is gone' });

type OperatorCall = Pick<ConsoleCall, 'operator'>;

/** The operations that pages of a tenant stand on. */
export class TenantPages {
  /** Currencies are read from every account, and hardly ever change. */
  private readonly moneys = new LRUCache<string, Money>({ max: 1_000, ttl: 60_000 });

  constructor(
    private readonly operations: OperationsCore,
    private readonly calls: OperationCalls,
    private readonly ownWrites: OwnWrites,
  ) {}

  get core(): Core {
    return this.operations.core;
  }

  /** How amounts of an account are shown, as its read models are by now. */
  moneyOf(scope: Scope, account: string): Promise<Money> {
    return shownMoney(this.reads, scope, { account });
  }

  private get reads() {
    return { core: this.core, operationsPool: () => this.operations.pool };
  }

  /** How sums over all accounts of a ledger are shown: as money where they have one currency. */
  async moneyOfAll(scope: Scope): Promise<Money> {
    const units = (await this.core.tenants.find(scope.tenant))?.units;
    const key = JSON.stringify([scope.tenant, scope.mode, units?.formats]);
    const known = this.moneys.get(key);
    if (known !== undefined) return known;
    const money = await shownMoney(this.reads, scope, 'all');
    this.moneys.set(key, money);
    return money;
  }

  get payments(): PaymentWorld {
    return this.calls.payments;
  }

  /**
   * Runs an operation and records it; a refused one is a value.
   * @param operation the command's name on the command line: `ledger statement`.
   * @throws {ApiError} FORBIDDEN for an id that the tenant does not have.
   */
  async recorded<T>(
    call: Pick<TenantCall, 'operator' | 'ledger'>,
    operation: string,
    work: (core: Core, meta: StaffMeta) => Promise<Done<T>>,
  ): Promise<Outcome<T>> {
    const { core, warn } = this.operations;
    const called = { operation, by: staffOf(call), scope: call.ledger, warn };
    return ofThisTenant(await outcomeOf(() => auditedOn(core, called, work)));
  }

  /** Records a view of what people are named in. @param what as in `console users`. */
  async viewed(
    call: TenantCall,
    what: string,
    parametersOf: (core: Core) => Done<null>['parameters'],
  ): Promise<void> {
    await this.recorded(call, `console ${what}`, (core) =>
      Promise.resolve({ result: null, parameters: parametersOf(core) }),
    );
  }

  /**
   * As `recorded`, once for each key of its form: sent again, the form shows the same result.
   * @param asked the request, which the key must always come with.
   */
  once<T>(
    call: Pick<TenantCall, 'operator' | 'ledger' | 'form'>,
    { operation, asked }: { readonly operation: string; readonly asked: object },
    work: (core: Core, meta: StaffMeta) => Promise<Done<T>>,
  ): Promise<Outcome<T>> {
    const { answers } = this.operations;
    const key = call.form.text('key');
    return this.recorded(call, operation, async (core, meta) => {
      const keyed = key === '' ? undefined : { key, answers };
      const request = { meta, asked, keyed };
      const { done, replayed } = await onceIfKeyed(core.names, request, async (keyedMeta) => ({
        done: await work(core, keyedMeta),
        replayed: false,
      }));
      return replayed ? { ...done, parameters: { ...done.parameters, repeated: true } } : done;
    });
  }

  /**
   * Runs an operation of the registry with a checked request, once for each key of its form; a
   * refused one is a value.
   * @throws {ApiError} FORBIDDEN for an id that the tenant does not have.
   */
  async called<T>(call: ConsoleCall, operation: Operation, request: object): Promise<Outcome<T>> {
    const caller = { by: staffOf(call), key: call.form.text('key') || undefined };
    const outcome = await this.calls.run(operation, request, caller);
    return ofThisTenant(outcome as Outcome<T>);
  }

  /** As `called`, of a command on the ledger: pages wait for what it wrote, see `caughtUp`. */
  async commanded<T extends Acted>(
    call: TenantCall,
    operation: Operation,
    request: object,
  ): Promise<Outcome<T>> {
    const outcome = await this.called<T>(call, operation, { ...call.scope, ...request });
    if (!(outcome instanceof NotDone)) this.ownWrites.record(call.ledger, outcome.position, true);
    return outcome;
  }

  /** Waits, bounded, until the read models have what was written through this process. */
  caughtUp(scope: Scope, ...projections: readonly string[]): Promise<unknown> {
    const departure = AbortSignal.timeout(CATCH_UP_MS);
    return this.ownWrites.visible({ scope, projections, atLeast: undefined, departure });
  }

  /**
   * Starts an operation of the registry with a checked request. @returns the id of its run.
   * @throws {ApiError} UNAVAILABLE when too many are not over yet.
   */
  async startedRun(call: ConsoleCall, operation: Operation, request: object): Promise<string> {
    const run = await this.calls.start(operation, request, { by: staffOf(call) });
    if (run === undefined) throw unavailable();
    return run.id;
  }

  /**
   * What a page shows of the run that its address names.
   * @param call of no tenant: runs of all are shown.
   * @param id empty: the address names none.
   * @throws {ApiError} FORBIDDEN for a run of another tenant or mode.
   */
  async runOfPage(call: OperatorCall & { readonly scope?: Scope }, id: string) {
    const { scope } = call;
    const run = id === '' ? undefined : await this.run(call, id);
    const isOfPage =
      scope === undefined || (run?.tenant === scope.tenant && run.mode === scope.mode);
    if (run !== undefined && !isOfPage) throw notOfThisTenant();
    return {
      values: {
        run: run === undefined ? null : runView(run, timeNow()),
        isGone: id !== '' && run === undefined,
      },
      refresh: refreshOf(run),
      operation: run?.operation ?? '',
      /** The arguments of the run. */
      parameters: (run?.parameters ?? {}) as Readonly<Record<string, unknown>>,
      /** Null: it is not done. */
      result: run?.result ?? null,
      /** The document of a run of this operation; null: it is not done, or of another one. */
      resultOf: <T>(name: string): T | null =>
        run?.operation === name ? ((run.result ?? null) as T | null) : null,
    };
  }

  /** A run of this operator; undefined: there is none of that id. */
  async run({ operator }: OperatorCall, id: string): Promise<ShownRun | undefined> {
    const run = await this.calls.runs.find(id);
    return run?.by === operator.name ? run : undefined;
  }

  /** Runs of this operator, the newest first. */
  async runsOf({ operator: { name } }: OperatorCall): Promise<readonly (ShownRun & FoundBy)[]> {
    const { runs } = this.calls;
    const [listed, differing] = await Promise.all([runs.list(name), runs.differing(name)]);
    return listed.map((run) => ({ ...run, hasDifferences: differing.has(run.id) }));
  }

  /** For long work of a request: other requests come first. */
  givingWay(signal: AbortSignal): BackgroundPacer {
    return this.calls.runs.givingWay(signal);
  }

  /** Stops a run of this operator. */
  async cancel(call: OperatorCall, id: string): Promise<void> {
    if ((await this.run(call, id)) !== undefined) await this.calls.runs.cancel(id);
  }
}
