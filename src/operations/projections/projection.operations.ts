import * as z from 'zod';
import type { RebuildProgress } from '../../projecting/generations/rebuild.js';
import { help, limit, mode, text } from '../registry/members.js';
import { type Operation, serviceOperation } from '../registry/operation.js';
import { get, post } from '../registry/routes.js';
import {
  diffProjection,
  planRebuild,
  rebuildProjections,
  showHistory,
  showParkedStreams,
  showStatus,
} from './projection-commands.js';
import {
  CHANGE,
  choice,
  ONE_OR_ALL,
  onNamedModel,
  parameters,
  projection,
  reading,
  SUPPORT,
} from './projection-members.js';
import { chosenOf, onReadModels, type ProjectionOperator } from './projection-operator.js';
import { repairProjections, retryParked } from './projection-repairs.js';
import { skip } from './projection-skips.js';
import { rollBack, swap } from './projection-switches.js';

/** A list of documents. */
const ARRAY = { type: 'array', items: { type: 'object' } };
const SET = { const: true };

/** Events to read, from how far the log was read; undefined: not known. */
function totalOf({ parts: { log } }: ProjectionOperator, progress: RebuildProgress) {
  if (progress.phase !== 'reading' || progress.until === undefined) return undefined;
  const fraction = Number(log.order(progress.last)) / Number(log.order(progress.until));
  return Math.round(progress.events / Math.min(1, fraction));
}

export const rebuild = serviceOperation({
  name: 'projection rebuild',
  summary:
    'builds a new generation next to the live one, without a swap, or repairs a part in place',
  members: {
    ...choice,
    dryRun: help(z.boolean().default(false), 'shows what would be built; changes nothing'),
    tenant: help(text.optional(), 'repairs this tenant only, in place'),
    account: help(text.optional(), 'repairs this account of the tenant only'),
    mode,
  },
  positions: ['projection'],
  rules: [
    {
      check: ({ tenant: part, account: one, dryRun }) => {
        if (part === undefined && one !== undefined) return '{account} needs {tenant}';
        return part !== undefined && dryRun ? '{dryRun} is for whole projections' : undefined;
      },
      schema: {
        ...ONE_OR_ALL,
        dependentRequired: { account: ['tenant'] },
        not: { required: ['tenant', 'dryRun'], properties: { tenant: {}, dryRun: SET } },
      },
    },
  ],
  ...CHANGE,
  parameters: ({ projection: name, dryRun, account: one }) => ({
    projection: name,
    dryRun,
    account: one,
  }),
  route: post('projections/rebuild', 'PROJECTION_UNKNOWN', 'TENANT_NOT_FOUND', 'ACCOUNT_NOT_FOUND'),
  examples: [
    'projection rebuild reward-balances --dry-run',
    'projection rebuild --all',
    'projection rebuild reward-balances --tenant acme --account 42',
  ],
  run: (context, { dryRun, tenant: part, mode: ofMode, account: one, ...choice }) =>
    onReadModels<object>(context, (operator) => {
      const chosen = chosenOf(operator, choice);
      if (part !== undefined) {
        const target = { tenant: part, mode: ofMode, account: one };
        return repairProjections(operator, chosen, target, reading(context));
      }
      if (dryRun) return planRebuild(operator, chosen);
      return rebuildProjections(operator, chosen, {
        onProgress: (progress) => {
          const done = 'events' in progress ? progress.events : 0;
          const of = 'projection' in progress ? ` ${progress.projection}` : '';
          context.onProgress(progress.phase + of, done, totalOf(operator, progress));
        },
      });
    }),
});

export const diff = serviceOperation({
  name: 'projection diff',
  summary: 'the rows in which the new generation differs from the live one, at one position',
  members: { projection, limit: limit(1_000) },
  positions: ['projection'],
  roles: SUPPORT,
  isLong: true,
  parameters,
  route: post('projections/{projection}/diff', 'PROJECTION_UNKNOWN'),
  examples: ['projection diff rewards'],
  run: (context, { projection: name, limit: most }) =>
    onNamedModel(context, name, (operator, projector) => diffProjection(operator, projector, most)),
  columns: ['table', 'tenant', 'mode', 'account', 'key', 'kind', 'column', 'live', 'new'],
  rows: ({ differences }) =>
    differences.flatMap(({ columns, ...row }) => columns.map((each) => ({ ...row, ...each }))),
  empty: 'no difference',
  ending: ({ count, projection: name }) =>
    count > 0 ? { exitCode: 2, line: `${count} rows of ${name} differ` } : undefined,
});

export const retry = serviceOperation({
  name: 'projection retry-parked',
  summary: 'applies the parked streams again',
  members: { projection: projection.optional() },
  positions: ['projection'],
  ...CHANGE,
  route: post('projections/retry-parked', 'PROJECTION_UNKNOWN'),
  examples: ['projection retry-parked'],
  run: (context, { projection: name }) =>
    onReadModels(context, (operator) => {
      const chosen = chosenOf(operator, { projection: name, all: name === undefined });
      return retryParked(operator, chosen, { onPage: reading(context) });
    }),
});

export const operations: readonly Operation[] = [
  serviceOperation({
    name: 'projection status',
    summary: 'position, lag and generation of each projection',
    roles: ['support', 'finance'],
    route: get('projections'),
    examples: ['projection status'],
    run: (context) => onReadModels(context, showStatus),
    columns: [
      ['projection', 'name'],
      'generation',
      'position',
      ['events behind', 'lagEvents', 'amount'],
      ['seconds behind', 'lagSeconds', 'amount'],
      ['parked', 'parked', 'amount'],
      ['skipped', 'skipped', 'amount'],
      'ready',
      'previous',
      ['last error', 'lastError'],
    ],
  }),
  rebuild,
  diff,
  swap,
  rollBack,
  retry,
  serviceOperation({
    name: 'projection parked',
    summary: 'the parked streams with their reasons, newest first',
    members: { limit: limit(1_000) },
    roles: SUPPORT,
    route: { ...get('projections/parked'), schema: ARRAY },
    examples: ['projection parked'],
    output: 'lists',
    empty: 'nothing is parked',
    run: (context, { limit: most }) =>
      onReadModels(context, (operator) => showParkedStreams(operator, most)),
  }),
  skip,
  serviceOperation({
    name: 'projection history',
    summary: 'the operations on projections, newest first',
    members: { limit: limit(1_000) },
    roles: SUPPORT,
    route: { ...get('projections/history'), schema: ARRAY },
    examples: ['projection history'],
    output: 'lists',
    empty: 'no operation on a projection yet',
    run: (context, { limit: most }) =>
      onReadModels(context, (operator) => showHistory(operator, most)),
  }),
];
