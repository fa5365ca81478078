import * as z from 'zod';
import type { OperatorRole } from '../../config/operators.js';
import { help, limit, mode, text } from '../registry/members.js';
import { serviceOperation, type Operation, type RequestRule } from '../registry/operation.js';
import type { Outcome } from '../outcome.js';
import {
  showHistory,
  showParkedStreams,
  showStatus,
  type DiffDocument,
} from './projection-commands.js';
import { onReadModels } from './projection-operator.js';
import {
  diffRun,
  rebuildRun,
  repairRun,
  retryParkedRun,
  rollBackRun,
  skipRun,
  swapRun,
  workOn,
} from './projection-runs.js';

const SUPPORT: readonly OperatorRole[] = ['support'];
const projection = help(text, 'the name of the projection');
const account = help(text, 'the account');
const tenant = help(text, 'the alias of the tenant');
const choice = {
  projection: projection.optional(),
  all: help(z.boolean().default(false), 'all projections'),
};

const NAMED = { required: ['projection'], properties: { projection: {} } };
/** One projection, or all; the operation checks it. */
const ONE_OR_ALL = {
  oneOf: [
    { required: ['projection'], properties: { projection: {}, all: { const: false } } },
    { required: ['all'], properties: { all: { const: true } }, not: NAMED },
  ],
};
const SET = { const: true };
/** A list of documents. */
const ARRAY = { type: 'array', items: { type: 'object' } };

interface RebuildRequest {
  readonly tenant?: string | undefined;
  readonly account?: string | undefined;
  readonly dryRun: boolean;
  readonly resume: boolean;
}

const REBUILD_RULE: RequestRule<RebuildRequest> = {
  check: ({ tenant: part, account: one, dryRun, resume }) => {
    if (part === undefined && one !== undefined) return '{account} needs {tenant}';
    if (part !== undefined && (dryRun || resume))
      return '{dryRun} and {resume} are for whole projections';
    return dryRun && resume ? '{dryRun} and {resume} exclude each other' : undefined;
  },
  schema: {
    ...ONE_OR_ALL,
    dependentRequired: { account: ['tenant'] },
    not: {
      anyOf: [
        { required: ['dryRun', 'resume'], properties: { dryRun: SET, resume: SET } },
        { required: ['tenant', 'dryRun'], properties: { tenant: {}, dryRun: SET } },
        { required: ['tenant', 'resume'], properties: { tenant: {}, resume: SET } },
      ],
    },
  },
};

/** Changes read models: a run, in their history. */
const CHANGE = { roles: SUPPORT, isLong: true, isRecorded: true, output: 'lists' } as const;

export const projectionOperations: readonly Operation[] = [
  serviceOperation({
    name: 'projection status',
    summary: 'position, lag and generation of each projection',
    members: {},
    roles: ['support', 'finance'],
    route: { method: 'GET', path: 'projections' },
    examples: ['projection status'],
    run: (context) => onReadModels(context, showStatus),
    columns: [
      ['projection', 'name'],
      ['generation', 'generation'],
      ['position', 'position'],
      ['events behind', 'lagEvents', 'amount'],
      ['seconds behind', 'lagSeconds', 'amount'],
      ['parked', 'parked', 'amount'],
      ['skipped', 'skipped', 'amount'],
      ['ready', 'ready'],
      ['previous', 'previous'],
      ['last error', 'lastError'],
    ],
  }),
  serviceOperation({
    name: 'projection rebuild',
    summary:
      'builds a new generation next to the live one, without a swap, or repairs a part in place',
    members: {
      ...choice,
      dryRun: help(z.boolean().default(false), 'shows what would be built; changes nothing'),
      resume: help(
        z.boolean().default(false),
        'continues a stopped rebuild, with the same release only',
      ),
      tenant: help(text.optional(), 'repairs this tenant only, in place'),
      account: help(text.optional(), 'repairs this account of the tenant only'),
      mode,
    },
    positions: ['projection'],
    rules: [REBUILD_RULE],
    ...CHANGE,
    parameters: ({ projection: name, dryRun, resume, account: one }) => ({
      projection: name,
      dryRun,
      resume,
      account: one,
    }),
    route: {
      method: 'POST',
      path: 'projections/rebuild',
      refusals: ['PROJECTION_UNKNOWN', 'TENANT_NOT_FOUND', 'ACCOUNT_NOT_FOUND'],
    },
    examples: [
      'projection rebuild reward-balances --dry-run',
      'projection rebuild --all',
      'projection rebuild reward-balances --tenant acme --account 42',
    ],
    run: (context, { projection: name, all, dryRun: isDryRun, resume, ...part }) => {
      const { tenant: of, account: one, mode: ofMode } = part;
      const run =
        of === undefined
          ? rebuildRun({ name, all }, { isDryRun, resume })
          : repairRun(
              { name, all },
              { tenant: of, mode: ofMode, ...(one !== undefined && { account: one }) },
            );
      return workOn(context, run);
    },
  }),
  serviceOperation({
    name: 'projection diff',
    summary: 'the rows in which the new generation differs from the live one, at one position',
    members: { projection, limit: limit(1_000) },
    positions: ['projection'],
    roles: SUPPORT,
    isLong: true,
    parameters: ({ projection: name }) => ({ projection: name }),
    route: {
      method: 'POST',
      path: 'projections/{projection}/diff',
      refusals: ['PROJECTION_UNKNOWN'],
    },
    examples: ['projection diff rewards'],
    run: (context, { projection: name, limit: most }) =>
      workOn(context, diffRun(name, most)) as Promise<Outcome<DiffDocument>>,
    columns: [
      ['table', 'table'],
      ['tenant', 'tenant'],
      ['mode', 'mode'],
      ['account', 'account'],
      ['key', 'key'],
      ['kind', 'kind'],
      ['column', 'column'],
      ['live', 'live'],
      ['new', 'new'],
    ],
    rows: ({ differences }) =>
      differences.flatMap(({ columns, ...row }) => columns.map((each) => ({ ...row, ...each }))),
    empty: 'no difference',
    ending: ({ count, projection: name }) =>
      count > 0 ? { exitCode: 2, line: `${count} rows of ${name} differ` } : undefined,
  }),
  serviceOperation({
    name: 'projection swap',
    summary: 'makes the new generation live',
    members: choice,
    positions: ['projection'],
    rules: [{ schema: ONE_OR_ALL }],
    ...CHANGE,
    parameters: ({ projection: name }) => ({ projection: name }),
    route: { method: 'POST', path: 'projections/swap', refusals: ['PROJECTION_UNKNOWN'] },
    examples: ['projection swap rewards', 'projection swap --all'],
    run: (context, { projection: name, all }) => workOn(context, swapRun({ name, all })),
  }),
  serviceOperation({
    name: 'projection rollback',
    summary: 'makes the previous generation live again',
    members: { projection },
    positions: ['projection'],
    ...CHANGE,
    route: {
      method: 'POST',
      path: 'projections/{projection}/rollback',
      refusals: ['PROJECTION_UNKNOWN'],
    },
    examples: ['projection rollback rewards'],
    run: (context, { projection: name }) => workOn(context, rollBackRun(name)),
  }),
  serviceOperation({
    name: 'projection retry-parked',
    summary: 'applies the parked streams again',
    members: { projection: projection.optional() },
    positions: ['projection'],
    ...CHANGE,
    route: {
      method: 'POST',
      path: 'projections/retry-parked',
      refusals: ['PROJECTION_UNKNOWN'],
    },
    examples: ['projection retry-parked'],
    run: (context, { projection: name }) =>
      workOn(context, retryParkedRun({ name, all: name === undefined })),
  }),
  serviceOperation({
    name: 'projection parked',
    summary: 'the parked streams with their reasons, newest first',
    members: { limit: limit(1_000) },
    roles: SUPPORT,
    route: { method: 'GET', path: 'projections/parked', schema: ARRAY },
    examples: ['projection parked'],
    output: 'lists',
    empty: 'nothing is parked',
    run: (context, { limit: most }) =>
      onReadModels(context, (operator) => showParkedStreams(operator, most)),
  }),
  serviceOperation({
    name: 'projection skip',
    summary: 'lets a parked stream continue without the event that cannot be applied',
    members: {
      projection,
      tenant: tenant.optional(),
      account: account.optional(),
      mode,
      stream: help(text.optional(), 'the stream, instead of tenant and account'),
      reason: help(text, 'why'),
    },
    positions: ['projection'],
    rules: [
      {
        schema: {
          oneOf: [{ required: ['tenant', 'account'] }, { required: ['stream'] }],
          dependentRequired: { tenant: ['account'], account: ['tenant'] },
        },
      },
    ],
    ...CHANGE,
    parameters: ({ projection: name, account: one, reason }) => ({
      projection: name,
      account: one,
      reason,
    }),
    route: {
      method: 'POST',
      path: 'projections/{projection}/skip',
      refusals: ['PROJECTION_UNKNOWN', 'TENANT_NOT_FOUND'],
    },
    examples: ['projection skip rewards --tenant acme --account 42 --reason "ticket 4711"'],
    run: (context, { projection: name, ...skipped }) => workOn(context, skipRun(name, skipped)),
  }),
  serviceOperation({
    name: 'projection history',
    summary: 'the operations on projections, newest first',
    members: { limit: limit(1_000) },
    roles: SUPPORT,
    route: { method: 'GET', path: 'projections/history', schema: ARRAY },
    examples: ['projection history'],
    output: 'lists',
    empty: 'no operation on a projection yet',
    run: (context, { limit: most }) =>
      onReadModels(context, (operator) => showHistory(operator, most)),
  }),
];
