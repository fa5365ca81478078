import type { OperatorRole } from '../../config/operators.js';
import type { ImportKind } from '../../imports/rows/import-rows.js';
import { isEqual, type UnitControl } from '../../imports/runs/control.js';
import type { ImportAnswer } from '../../imports/runs/run-import.js';
import { given, text } from '../registry/members.js';
import { ledgerOperation, type Operation, tenantOperation } from '../registry/operation.js';
import type { Ending, Printer } from '../registry/printing.js';
import { get } from '../registry/routes.js';
import { overlap } from '../written-file.js';
import { IMPORT_MEMBERS, importFile } from './import-file.js';
import { findImport, listImports, shownImport } from './import-runs.js';

export const IMPORT_ROLES: Readonly<Record<ImportKind, OperatorRole>> = {
  users: 'support',
  referrals: 'support',
  rewards: 'finance',
};

const importOf = (kind: ImportKind): Operation =>
  ledgerOperation({
    name: `import ${kind}`,
    summary: `imports the ${kind} of another program from a file`,
    members: IMPORT_MEMBERS,
    rules: [
      {
        check: ({ file, rejected, ids }) =>
          overlap(file, [rejected, ids])
            ? 'the results need files of their own: {rejected}, {ids} and {file} must differ'
            : undefined,
      },
    ],
    roles: [IMPORT_ROLES[kind]],
    isLong: true,
    isRecorded: true,
    parameters: ({ dryRun, map }) => ({ dryRun, ...(map && { map }) }),
    examples: [
      `import ${kind} acme --file ${kind}.csv --dry-run --rejected rejected.csv`,
      `import ${kind} acme --file ${kind}.csv --rejected rejected.csv`,
    ],
    run: (context, request) => importFile(context, kind, request),
    print: printAnswer,
    ending: endingOf,
  });

export const IMPORTS: Readonly<Record<ImportKind, Operation>> = {
  users: importOf('users'),
  referrals: importOf('referrals'),
  rewards: importOf('rewards'),
};

export const isImportKind = (kind: string): kind is ImportKind => Object.hasOwn(IMPORTS, kind);

export const operations: readonly Operation[] = [
  ...Object.values(IMPORTS),
  ledgerOperation({
    name: 'import list',
    summary: 'imports, newest first',
    roles: ['support', 'finance'],
    route: get('imports/{tenant}'),
    examples: ['import list acme'],
    run: ({ core, scope }) => listImports(core, scope),
    columns: [
      ...(['id', 'kind', 'by', 'state', 'startedAt', 'finishedAt'] as const),
      ['rows', ({ progress }) => progress?.done, 'amount'],
    ],
  }),
  tenantOperation({
    name: 'import show',
    summary: 'an import, with its progress and result',
    members: { import: given(text, { help: 'the id of the import' }) },
    positions: ['import'],
    roles: ['support', 'finance'],
    route: get('imports/{tenant}/{import}', 'IMPORT_NOT_FOUND'),
    examples: ['import show acme 3f0c9a52-6d0e-4c1b-9d2a-0b7f4f1f6a11'],
    run: async ({ core }, { tenant, import: id }) =>
      shownImport(await findImport(core, tenant, id)),
    output: 'lists',
  }),
];

function printAnswer(answer: ImportAnswer, { line, table }: Printer): void {
  const { rows, imported, unchanged, rejected, control } = answer;
  line(`${rows} rows: ${imported} imported, ${unchanged} unchanged, ${rejected} rejected`);
  if (control.length > 0)
    table(
      [
        'unit',
        'of',
        ['rewards', 'rewards', 'amount'],
        ['assigned', 'assigned', 'amount'],
        ['redeemed', 'redeemed', 'amount'],
        ['available', 'available', 'amount'],
      ],
      control.flatMap(figuresOf),
    );
}

const figuresOf = ({ unit, file, ledger }: UnitControl) => [
  { unit, of: 'file', ...file },
  { unit, of: 'ledger', ...ledger },
];

function endingOf({ rejected, control }: ImportAnswer): Ending | undefined {
  const lines = [
    ...(rejected > 0 ? [`${rejected} rows were rejected`] : []),
    ...(isEqual(control) ? [] : ['the control figures of the file and of the ledger differ']),
  ];
  return lines.length === 0 ? undefined : { exitCode: 2, line: lines.join('; ') };
}
