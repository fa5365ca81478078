import * as z from 'zod';
import type { Core } from '../../stores/core.js';
import { given } from '../registry/members.js';
import {
  recordedTenantOperation,
  tenantOperation,
  type Operation,
  type Printer,
} from '../registry/operation.js';
import { applyProgram, programOf } from './apply-program.js';
import { tenantDocument } from './tenant-document.js';
import { tenantNamed } from './tenant-operation.js';

const programsOf = async (core: Pick<Core, 'tenants'>, alias: string) =>
  tenantDocument(await tenantNamed(core, alias)).programs;

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
