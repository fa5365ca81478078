import * as z from 'zod';
import type { Core } from '../../stores/core.js';
import { given, help, text } from '../registry/members.js';
import {
  ledgerOperation,
  type Operation,
  recordedTenantOperation,
  tenantOperation,
} from '../registry/operation.js';
import type { Printer } from '../registry/printing.js';
import { post } from '../registry/routes.js';
import { ISO_TIME } from '../../foundation/instant.js';
import { applyProgram, programOf } from './apply-program.js';
import { forecastProgram, type ProgramForecast } from './program-forecast.js';
import { tenantDocument } from './tenant-document.js';
import { tenantNamed } from './tenant-operation.js';

const programsOf = async (core: Pick<Core, 'tenants'>, alias: string) =>
  tenantDocument(await tenantNamed(core, alias)).programs;

/** Checked by their operation, which says what is wrong with them. */
const programFile = z.unknown().meta({
  type: 'object',
  required: ['id'],
  properties: { id: { type: 'string' } },
  additionalProperties: true,
});
const since = text.meta({ pattern: `^(?:0|[0-9]{1,9}[smhd]|${ISO_TIME})$` });

/** Also started by the console. */
export const forecast = ledgerOperation({
  name: 'program forecast',
  summary: 'the rewards that another program would have granted, next to those of the live one',
  members: {
    program: given(programFile, {
      file: 'json',
      option: 'file',
      help: 'the program file to compare; it is not applied',
    }),
    since: help(since.default('90d'), 'rewards earned from then on: a duration or a time'),
    live: given(text.optional(), {
      option: 'program',
      placeholder: 'id',
      help: 'the live program; default: the one with the id of the file',
    }),
  },
  roles: ['finance', 'support'],
  isLong: true,
  // With the program: a run that failed is started again.
  parameters: ({ program, since, live }) => ({ program, since, live }),
  route: post('programs/{tenant}/forecast', 'TENANT_NOT_FOUND'),
  examples: [
    'program forecast acme --file program.json',
    'program forecast acme --file program.json --since 2026-01-01 --program default',
  ],
  run: ({ core, scope, ...work }, { program, since, live }) =>
    forecastProgram(
      core,
      scope,
      { candidate: programOf(program), since, ...(live !== undefined && { live }) },
      work,
    ),
  print: printForecast,
});

function printForecast({ since, facts, rules, accounts }: ProgramForecast, printer: Printer) {
  const difference = (live: number | string, candidate: number | string): string => {
    const by = BigInt(candidate) - BigInt(live);
    return by > 0n ? `+${by}` : String(by);
  };
  printer.line(`${facts} referrals, conversions and events since ${since}`);
  printer.table<ProgramForecast['rules'][number]>(
    [
      'rule',
      ['unit', ({ unit }) => unit ?? 'codes'],
      ['live rewards', ({ live }) => live.count, 'amount'],
      ['live amount', ({ live }) => live.amount, 'amount'],
      ['candidate rewards', ({ candidate }) => candidate.count, 'amount'],
      ['candidate amount', ({ candidate }) => candidate.amount, 'amount'],
      ['difference', ({ live, candidate }) => difference(live.amount, candidate.amount), 'amount'],
    ],
    rules,
  );
  if (accounts.length === 0) return printer.line('no account would have another amount');
  printer.line('the accounts with the largest differences');
  printer.table<ProgramForecast['accounts'][number]>(
    [
      'account',
      ['unit', ({ unit }) => unit ?? 'codes'],
      ['live', 'live', 'amount'],
      ['candidate', 'candidate', 'amount'],
      ['difference', ({ live, candidate }) => difference(live, candidate), 'amount'],
    ],
    accounts,
  );
}

export const operations: readonly Operation[] = [
  recordedTenantOperation({
    name: 'program apply',
    summary: 'applies a program file; rewards earned before keep their terms',
    members: { file: given(z.unknown(), { file: 'json', help: 'the program file' }) },
    positions: ['file'],
    examples: ['program apply acme program.json'],
    record: async ({ core, meta }, { tenant: alias, file }) => {
      const program = programOf(file);
      const applied = await applyProgram(core, meta, { program });
      const programs = await programsOf(core, alias);
      const result = { alias, ...applied, ...programs.find(({ id }) => id === applied.id) };
      const completed = `program ${applied.id} is at version ${applied.version}`;
      return { result, parameters: { ...applied }, completed };
    },
    said: ({ alias, id, version }) => `${alias}: program ${id} is at version ${version}`,
  }),
  forecast,
  tenantOperation({
    name: 'program show',
    summary: 'the programs of a tenant, with their documents',
    examples: ['program show acme --json'],
    run: ({ core }, { tenant }) => programsOf(core, tenant),
    print: (programs, printer: Printer) => printer.line(JSON.stringify(programs, null, 2)),
  }),
  tenantOperation({
    name: 'program list',
    summary: 'the programs of a tenant',
    examples: ['program list acme'],
    run: async ({ core }, { tenant }) => {
      const programs = await programsOf(core, tenant);
      return programs.map(({ id, version, default: isDefault, document }) => ({
        id,
        name: document?.name ?? id,
        version,
        default: isDefault,
      }));
    },
    columns: [
      'id',
      'name',
      ['version', 'version', 'amount'],
      ['default', ({ default: isDefault }) => (isDefault ? 'yes' : '')],
    ],
  }),
];
