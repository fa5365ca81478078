import type { Command } from 'commander';
import type { Core } from '../stores/core.js';
import { checkAlias, checkedActor, filled, parseMode } from './arguments.js';
import { CommandError } from './command-error.js';
import {
  diffProjection,
  planRebuild,
  rebuildProjections,
  rollBackProjection,
  showHistory,
  showParkedStreams,
  showStatus,
  swapProjections,
  type DiffDocument,
} from '../operations/projections/projection-commands.js';
import {
  onChosen,
  onNamed,
  withProjections,
  type ProjectionOperator,
} from '../operations/projections/projection-operator.js';
import type { Outcome } from '../operations/outcome.js';
import { skipParkedEvent, type SkipRequest } from '../operations/projections/projection-skips.js';
import { repairProjections, retryParked } from '../operations/projections/projection-repairs.js';
import { note, printJson, printTable, withCore, type OutputOptions } from './command-line.js';
import { asRun, type CommandRun, type NoteProgress } from './command-run.js';
import { done } from './outcomes.js';
import { RebuildProgress } from './rebuild-progress.js';

interface ActorOptions extends OutputOptions {
  readonly by?: string;
}

interface RebuildCommandOptions extends ActorOptions {
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly resume?: boolean;
  readonly tenant?: string;
  readonly account?: string;
  readonly mode?: string;
}

const BY = [
  '--by <who>',
  'the operator, for the history; default: the user of the operating system',
] as const;
const JSON_OUT = ['--json', 'one JSON document'] as const;

/** `projection …` */
export function addProjectionCommands(cli: Command): void {
  const projection = cli.command('projection').description('the read models: status and rebuilds');
  projection
    .command('status')
    .description('position, lag and generation of each projection')
    .option(...JSON_OUT)
    .action(async ({ json }: OutputOptions) => {
      const shown = await operate({}, showStatus);
      if (json) return printJson(shown);
      const head = [
        'projection',
        'generation',
        'position',
        { amount: 'events behind' },
        { amount: 'seconds behind' },
        { amount: 'parked' },
        { amount: 'skipped' },
        'ready',
        'previous',
        'last error',
      ];
      printTable(
        head,
        shown.map(({ head: _, ...row }) =>
          [
            row.name,
            row.generation,
            row.position,
            row.lagEvents,
            row.lagSeconds,
            row.parked,
            row.skipped,
            row.ready,
            row.previous,
            row.lastError,
          ].map(cell),
        ),
      );
    });
  projection
    .command('rebuild')
    .argument('[name]')
    .description(
      'builds a new generation beside the live one, without a swap; with --tenant, repairs that part in place',
    )
    .option('--all', 'all projections, in one pass over the log')
    .option('--dry-run', 'shows what would be built; changes nothing')
    .option('--resume', 'continues a stopped rebuild, with the same release only')
    .option('--tenant <alias>', 'repairs this tenant only, in place')
    .option('--account <id>', 'repairs this account of the tenant only')
    .option('--mode <mode>', 'live or test; default live')
    .option(...BY)
    .option(...JSON_OUT)
    .action(rebuildCommand);
  projection
    .command('diff')
    .argument('<name>')
    .description(
      'the rows in which the new generation differs from the live one, at one position; exit 2 if there are any',
    )
    .option('--limit <rows>', 'rows to show', '1000')
    .option(...JSON_OUT)
    .action(diffCommand);
  projection
    .command('swap')
    .argument('[name]')
    .description('makes the new generation live')
    .option('--all', 'all that have a new generation, at once')
    .option(...BY)
    .option(...JSON_OUT)
    .action(
      async (name: string | undefined, { all = false, ...options }: RebuildCommandOptions) => {
        print(
          await operate(
            options,
            (operator) =>
              onChosen(operator, { name, all }, (chosen) => swapProjections(operator, chosen, all)),
            { operation: 'projection swap', scope: null, parameters: { projection: name } },
          ),
          options,
        );
      },
    );
  projection
    .command('rollback')
    .argument('<name>')
    .description('makes the previous generation live again')
    .option(...BY)
    .option(...JSON_OUT)
    .action(async (name: string, options: ActorOptions) => {
      const document = await operate(
        options,
        (operator) =>
          onNamed(operator, name, (projector) => rollBackProjection(operator, projector)),
        { operation: 'projection rollback', scope: null, parameters: { projection: name } },
      );
      print(document, options);
    });
  projection
    .command('retry-parked')
    .argument('[name]')
    .description('retries parked accounts')
    .option(...BY)
    .option(...JSON_OUT)
    .action(async (name: string | undefined, options: ActorOptions) => {
      print(
        await operate(
          options,
          (operator, progress) =>
            onChosen(operator, { name, all: name === undefined }, (chosen) =>
              retryParked(operator, chosen, { onPage: progress.read }),
            ),
          { operation: 'projection retry-parked', scope: null, parameters: { projection: name } },
        ),
        options,
      );
    });
  projection
    .command('parked')
    .description('accounts that an event holds back from a read model, newest first')
    .option('--limit <entries>', 'entries to show', '100')
    .option(...JSON_OUT)
    .action(async (options: OutputOptions & { limit: string }) => {
      const limit = parseLimit(options.limit);
      print(await operate({}, (operator) => showParkedStreams(operator, limit)), options, {
        empty: 'nothing is parked',
      });
    });
  projection
    .command('skip')
    .argument('<name>')
    .description('lets a parked stream continue without the event that cannot be applied')
    .option('--tenant <alias>', 'the tenant of the account')
    .option('--account <id>', 'the account whose stream is parked')
    .option('--mode <mode>', 'live or test; default live')
    .option('--stream <name>', 'the stream, instead of tenant and account')
    .requiredOption('--reason <text>', 'why')
    .option(...BY)
    .option(...JSON_OUT)
    .action(skipCommand);
  projection
    .command('history')
    .description('the operations on projections, newest first')
    .option('--limit <entries>', 'entries to show', '100')
    .option(...JSON_OUT)
    .action(async (options: OutputOptions & { limit: string }) => {
      const limit = parseLimit(options.limit);
      print(await operate({}, (operator) => showHistory(operator, limit)), options, {
        empty: 'no operation on a projection yet',
      });
    });
}

async function rebuildCommand(
  name: string | undefined,
  options: RebuildCommandOptions,
): Promise<void> {
  const { all = false, dryRun = false, resume = false, tenant, account, mode } = options;
  if (tenant === undefined && (account !== undefined || mode !== undefined))
    throw new CommandError('--account and --mode need --tenant');
  if (tenant !== undefined && (dryRun || resume))
    throw new CommandError('--dry-run and --resume are for whole projections');
  if (dryRun && resume) throw new CommandError('--dry-run and --resume exclude each other');
  if (tenant !== undefined) checkAlias(tenant);
  const scopeMode = parseMode(mode ?? 'live');
  const work: OperatorWork<object> = (operator, progress) =>
    onChosen<object>(operator, { name, all }, (projectors) => {
      if (dryRun) return planRebuild(operator, projectors);
      if (tenant === undefined)
        return rebuildProjections(operator, projectors, { resume, onProgress: progress.rebuild });
      const target = { tenant, mode: scopeMode, ...(account === undefined ? {} : { account }) };
      return repairProjections(operator, projectors, target, progress.read);
    });
  const document = await operate(options, work, {
    operation: 'projection rebuild',
    scope: tenant === undefined ? null : { tenant, mode: scopeMode },
    parameters: { projection: name, dryRun, resume, account },
  });
  print(document, options);
}

async function skipCommand(
  name: string,
  options: ActorOptions & Omit<SkipRequest, 'mode'> & { mode?: string },
): Promise<void> {
  const { tenant, account, stream } = options;
  const mode = parseMode(options.mode ?? 'live');
  const reason = filled('--reason', options.reason);
  const document = await operate(
    options,
    (operator, { read }) =>
      onNamed(operator, name, (projector) =>
        skipParkedEvent(operator, projector, { tenant, account, mode, stream, reason }, read),
      ),
    {
      operation: 'projection skip',
      scope: tenant === undefined ? null : { tenant, mode },
      parameters: { projection: name, account, reason },
    },
  );
  print(document, options);
}

async function diffCommand(
  name: string,
  options: OutputOptions & { limit: string },
): Promise<void> {
  const limit = parseLimit(options.limit);
  const diff = await operate<DiffDocument>(
    {},
    (operator) =>
      onNamed(operator, name, (projector) => diffProjection(operator, projector, limit)),
    { operation: 'projection diff', scope: null, parameters: { projection: name } },
  );
  if (options.json) printJson(diff);
  else printDiff(diff);
  if (diff.count > 0) throw new CommandError(`${diff.count} rows of ${diff.projection} differ`, 2);
}

function printDiff({ differences, rows, position }: DiffDocument): void {
  if (differences.length === 0)
    process.stdout.write(`no difference in ${rows} rows at position ${position ?? 'none'}\n`);
  else
    printTable(
      ['table', 'tenant', 'mode', 'account', 'key', 'kind', 'column', 'live', 'new'],
      differences.flatMap(({ table, tenant, mode, account, key, kind, columns }) =>
        columns.map((each) =>
          [
            table,
            tenant,
            mode,
            account,
            JSON.stringify(key),
            kind,
            each.column,
            each.live,
            each.new,
          ].map(cell),
        ),
      ),
    );
}

interface ProgressOf {
  readonly rebuild: RebuildProgress['at'];
  readonly read: (events: number, last: string) => void;
}

type OperatorWork<T> = (operator: ProjectionOperator, progress: ProgressOf) => Promise<Outcome<T>>;

/**
 * Opens the stores, stops cleanly at the first Ctrl-C, and says so in one line.
 * @param run what it is recorded as; undefined: it is only a look.
 */
async function operate<T>(
  { by }: { readonly by?: string },
  work: OperatorWork<T>,
  run?: Pick<CommandRun, 'operation' | 'scope' | 'parameters'>,
): Promise<T> {
  const actor = checkedActor(by);
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    const outcome = await withCore((core: Core) =>
      withProjections(core, { actor, signal: stopping.signal, warn: note }, async (operator) => {
        const shown = new RebuildProgress(core.log, process.stderr);
        let read = 0;
        const head = await core.log.head();
        const noting = (noteProgress: NoteProgress): ProgressOf => ({
          rebuild: (progress) => {
            shown.at(progress);
            noteProgress(progress.phase, 'events' in progress ? progress.events : 0);
          },
          read: (events, last) => {
            shown.folded((read += events), last, head);
            noteProgress('reading', read);
          },
        });
        try {
          if (run === undefined)
            return await work(
              operator,
              noting(() => undefined),
            );
          return await asRun(core, { ...run, by: actor, stop }, (noteProgress) =>
            work(operator, noting(noteProgress)),
          );
        } finally {
          shown.end();
        }
      }),
    );
    return done(outcome);
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

function parseLimit(text: string): number {
  const limit = Number(text);
  if (!/^\d{1,6}$/.test(text) || limit < 1)
    throw new CommandError('--limit takes a number from 1 to 999999');
  return limit;
}

const cell = (value: unknown): string =>
  value === null || value === undefined
    ? ''
    : typeof value === 'string'
      ? value
      : JSON.stringify(value);

/**
 * Without `--json`: a table for each list in the document, and a line for each figure.
 * @param empty says why an empty list shows nothing.
 */
function print(
  document: object,
  { json }: OutputOptions,
  { empty }: { readonly empty?: string } = {},
): void {
  if (json) return printJson(document);
  if (empty !== undefined && Array.isArray(document) && document.length === 0) return note(empty);
  const lists = Array.isArray(document) ? { '': document as unknown[] } : document;
  for (const [name, value] of Object.entries(lists)) {
    if (!Array.isArray(value)) process.stdout.write(`${name}: ${cell(value)}\n`);
    else if (value.length > 0) {
      const head = [...new Set(value.flatMap((row: object) => Object.keys(row)))];
      printTable(
        head,
        value.map((row: Record<string, unknown>) => head.map((column) => cell(row[column]))),
      );
    }
  }
}
