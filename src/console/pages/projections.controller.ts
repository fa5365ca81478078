import type { Readable } from 'node:stream';
import type { Mode } from '../../domain/scope.js';
import { timeNow } from '../../foundation/world.js';
import { findAccount } from '../../operations/ledger/ledger-entries.js';
import {
  onProjections,
  type ProjectionOperator,
} from '../../operations/projections/projection-operator.js';
import {
  parkedStreams,
  showHistory,
  showStatus,
  type DiffDocument,
  type ShownProjection,
} from '../../operations/projections/projection-commands.js';
import {
  retryReactions,
  showParked,
  skipReaction,
} from '../../operations/policies/policy.operations.js';
import { badRequest } from '../../http/edge/api-error.js';
import { OperationsCore } from '../../http/operations/operations-core.js';
import { diff, rebuild, retry } from '../../operations/projections/projection.operations.js';
import { skip } from '../../operations/projections/projection-skips.js';
import { rollBack, swap } from '../../operations/projections/projection-switches.js';
import type { Operation } from '../../operations/registry/operation.js';
import type { ObservedGenerations } from '../../projecting/generations/switch-generations.js';
import type { Form } from '../sessions/form.js';
import { redirected, sendPage } from '../console-answers.js';
import { ConsoleCall, staffOf, TenantCall } from '../console-call.js';
import { ConsolePage, FilePageFor, FormFor, PageFor, TenantPage } from '../console-routes.js';
import { faultAt, faultsOf, type Faults } from '../view/faults.js';
import {
  chosenProjection,
  DIFF_TABLE,
  differingColumns,
  HISTORY_TABLE,
  PARKED_TABLE,
  parkedReactionRow,
  parkedStreamRow,
  projectionTable,
  PROJECTIONS_PATH,
  type FollowedProjection,
} from '../view/projections-view.js';
import { fileOf, tablesOf } from '../view/page-tables.js';
import type { PathWith } from '../view/table.js';
import { template } from '../view/templates.js';
import { given, queried, queryOf, TenantPages } from './tenant-pages.js';
import { NotDone, type Outcome, outcomeOf, tenantNotFound } from '../../operations/outcome.js';

const content = template('projections');

/** What is kept of a run has 1 MiB. */
const DIFF_ROWS_MAX = 1_000;
const PARKED_MAX = 100;
const HISTORY_MAX = 50;

/** The read model, and the part of a rebuild in place, as typed. */
const QUERY_FIELDS = ['projection', 'confirmed', 'tenant', 'mode', 'account'] as const;
type QueryFields = Readonly<Record<(typeof QUERY_FIELDS)[number], string>>;

/** For support: from a tenant to the read models, with the form filled in. */
@TenantPage('projections')
export class ConsoleTenantProjectionsController {
  @PageFor('support')
  page(@TenantCall() call: TenantCall): string {
    const { tenant, mode } = call.scope;
    const within = `${tenant}/${mode}`;
    return redirected(call, `${PROJECTIONS_PATH}${queryOf({ tenant, mode, within })}`);
  }
}

/** For support: the read models. */
@ConsolePage('projections')
export class ConsoleProjectionsController {
  /** How far each projection was when its page was shown. */
  private readonly seen = new Map<string, Reached & { readonly perSecond: number | null }>();

  constructor(
    private readonly pages: TenantPages,
    private readonly operations: OperationsCore,
  ) {}

  @FormFor('support')
  async act(@ConsoleCall() call: ConsoleCall): Promise<string | Readable> {
    const action = call.form.text('action');
    const asked = given(call, ...QUERY_FIELDS);
    const pathWith = pathIn(call);
    const chosen = pathWith({ projection: asked.projection });
    if (action === 'choose') return redirected(call, chosen);
    if (action === 'skip' && call.form.text('reaction') !== '') {
      const request = { id: call.form.text('reaction'), reason: call.form.text('reason') };
      const outcome = await this.pages.called(call, skipReaction, request);
      if (outcome instanceof NotDone) return this.page(call, faultsOf(outcome));
      return redirected(call, chosen, 'skipped');
    }
    const faults = faultsOfForm(action, asked) ?? (await this.faultsOfPart(action, asked));
    if (faults !== null) return this.page(call, faults);
    const [operation, request] = operationOf(action, asked, call.form);
    const run = await this.pages.startedRun(call, operation, request);
    return redirected(call, pathWith({ run, projection: asked.projection }));
  }

  /** A part that there is not; null: there is, or nothing is rebuilt in place. */
  private async faultsOfPart(
    action: string,
    { tenant, mode, account }: QueryFields,
  ): Promise<Faults | null> {
    if (action !== 'rebuild' || tenant === '') return null;
    const { core } = this.pages;
    if ((await core.tenants.find(tenant)) === undefined) return faultsOf(tenantNotFound(tenant));
    if (account === '') return null;
    const scope = { tenant, mode: modeOf(mode) };
    const ledger = await core.tenants.ledger(scope);
    const found = await outcomeOf(() => findAccount(core, ledger, account));
    return found instanceof NotDone ? faultsOf(found) : null;
  }

  private operate<T>(
    call: ConsoleCall,
    work: (projections: ProjectionOperator) => Promise<T>,
  ): Promise<Outcome<T>> {
    const { core, pool, warn } = this.operations;
    const { signal } = new AbortController();
    return outcomeOf(() => onProjections(core, pool, { by: staffOf(call), signal, warn }, work));
  }

  @FilePageFor('support')
  async page(@ConsoleCall() call: ConsoleCall, faults?: Faults): Promise<string | Readable> {
    const { run: id } = queried(call.query, 'run');
    const { projection: chosen, ...part } = given(call, ...QUERY_FIELDS);
    // Before the state of the projections: what a run that is over has done is in it.
    const { values, operation, result, refresh, resultOf } = await this.pages.runOfPage(call, id);
    const status = await this.operate(call, showStatus);
    const projections = status instanceof NotDone ? [] : await this.followed(status);
    const history = await this.operate(call, (each) => showHistory(each, HISTORY_MAX));
    const parked = await this.parked(call);
    const diff = resultOf<DiffDocument>('projection diff');
    const pathWith = pathIn(call);
    const kept = { run: id, projection: chosen, within: call.within };
    const tables = tablesOf(call, PROJECTIONS_PATH, kept);
    const shown = {
      projections: tables({ ...projectionTable(pathWith), rows: projections }),
      parked: tables({ ...PARKED_TABLE, rows: parked }),
      history: tables({ ...HISTORY_TABLE, rows: listOf(history) }),
      diff: tables({ ...DIFF_TABLE, rows: diff ? differingColumns(diff) : [] }),
    };
    const file = fileOf(...Object.values(shown));
    if (file) return file;
    const openForm = faults === undefined ? '' : call.form.text('action');
    const one = projections.find(({ name }) => name === chosen);
    return sendPage(
      call,
      { title: 'Projections', section: PROJECTIONS_PATH, faults, ...refresh },
      content,
      {
        notices: faultsOf(status).problems,
        table: shown.projections.view,
        livePath: pathWith(queried(call.query, 'run', 'projection', ...LIVE)),
        path: pathWith({}),
        chosen,
        one: one ? chosenProjection(one, openForm) : null,
        names: projections.map(({ name }) => name),
        part,
        modes: MODE_OPTIONS,
        ...values,
        runTitle: RUN_TITLES[operation] ?? operation,
        here: pathWith({ run: id, projection: chosen }),
        diff: diff && {
          ...diff,
          rowCount: diff.rows,
          hasMore: diff.count > diff.differences.length,
        },
        diffTable: diff && shown.diff.view,
        result,
        parked: shown.parked.view,
        parkedForms: shown.parked.rows.map(({ form }) => form),
        history: shown.history.view,
      },
    );
  }

  private async parked(call: ConsoleCall) {
    const streams = await this.operate(call, (each) => parkedStreams(each, PARKED_MAX));
    const reactions = await showParked(this.pages.core, PARKED_MAX);
    return [...listOf(streams).map(parkedStreamRow), ...reactions.map(parkedReactionRow)];
  }

  /** With the speed since the page was shown before. */
  private async followed(status: readonly ShownProjection[]): Promise<FollowedProjection[]> {
    const now = timeNow();
    const { log } = this.pages.core;
    return status.map((one) => {
      const at = one.position === null ? 0n : log.order(one.position);
      const before = this.seen.get(one.name);
      if (before === undefined || now - before.now >= SPEED_OVER_MS)
        this.seen.set(one.name, { at, now, perSecond: speedOf(before, { at, now }) });
      return { ...one, perSecond: this.seen.get(one.name)?.perSecond ?? null };
    });
  }
}

const pathIn =
  ({ within }: ConsoleCall): PathWith =>
  (members) =>
    PROJECTIONS_PATH + queryOf({ ...members, within });

const LIVE = ['projections.sort', 'projections.dir'] as const;
const MODE_OPTIONS = [
  { value: 'live', words: 'Live' },
  { value: 'test', words: 'Test' },
];
const RUN_TITLES: Readonly<Record<string, string>> = {
  'projection rebuild': 'Rebuild',
  'projection diff': 'Diff',
  'projection swap': 'Swap',
  'projection rollback': 'Roll back',
  'projection retry-parked': 'Retry parked streams',
  'projection skip': 'Skip an event',
  'policy retry': 'Retry a reaction',
};

const listOf = <R>(outcome: Outcome<readonly R[]>): readonly R[] =>
  outcome instanceof NotDone ? [] : outcome;

/** A shorter span says nothing about the speed. */
const SPEED_OVER_MS = 2_000;
/** After a longer one the speed is measured anew. */
const SPEED_WITHIN_MS = 60_000;

interface Reached {
  readonly at: bigint;
  /** Epoch milliseconds. */
  readonly now: number;
}

function speedOf(before: Reached | undefined, { at, now }: Reached): number | null {
  if (before === undefined || now - before.now > SPEED_WITHIN_MS || at < before.at) return null;
  return Math.round((Number(at - before.at) * 1_000) / (now - before.now));
}

/** What a button starts, with its request. */
function operationOf(
  action: string,
  { projection, ...part }: QueryFields,
  form: Form,
): readonly [Operation, object] {
  const seen = seenIn(form, projection);
  const one = { projection, all: false };
  switch (action) {
    case 'rebuild': {
      const chosen = projection === '' ? { all: true } : one;
      return [rebuild, { ...partOf(part), ...chosen, dryRun: false }];
    }
    case 'diff':
      return [diff, { projection, limit: DIFF_ROWS_MAX }];
    case 'swap':
      return [swap, { ...one, seen }];
    case 'rollback':
      return [rollBack, { projection, seen }];
    case 'retry':
      return [retry, { projection: projection || undefined }];
    case 'skip': {
      const [stream, reason] = [form.text('stream'), form.text('reason')];
      return [skip, { projection, mode: 'live', stream, reason }];
    }
    case 'retry-reaction':
      return [retryReactions, { id: form.text('reaction') }];
    default:
      throw badRequest('action: one of the buttons');
  }
}

const modeOf = (typed: string): Mode => (typed === 'test' ? 'test' : 'live');

/** What is wrong in the form; null: it can be begun. */
function faultsOfForm(
  action: string,
  { projection, confirmed, tenant, account }: QueryFields,
): Faults | null {
  const isConfirmed = projection !== '' && confirmed === projection;
  if ((action === 'swap' || action === 'rollback') && !isConfirmed)
    return projection === ''
      ? faultAt('projection', 'Choose a projection.')
      : faultAt(`confirmed-${action}`, `Type "${projection}" to confirm.`);
  if (action === 'diff' && projection === '') return faultAt('projection', 'Choose a projection.');
  return action === 'rebuild' && tenant === '' && account !== ''
    ? faultAt('tenant', 'Name the tenant of the account.')
    : null;
}

/** A part, in place, where a tenant is named; otherwise new generations. */
function partOf({ tenant, mode, account }: Pick<QueryFields, 'tenant' | 'mode' | 'account'>) {
  return tenant === '' ? {} : { tenant, mode: modeOf(mode), account: account || undefined };
}

/** The generations that the page showed; undefined: the form was not that of the page. */
function seenIn(form: Form, projection: string): ObservedGenerations | undefined {
  const [, live, ready, previous] =
    /^(\d+)\/(\d*)\/(\d*)$/.exec(form.text(`seen:${projection}`)) ?? [];
  return live === undefined
    ? undefined
    : { live: Number(live), ready: Number(ready), previous: Number(previous) };
}
