import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { accountProjectors } from '../../projections/account-projectors.js';
import type { Core } from '../stores/core.js';
import {
  EXPORT_FORMATS,
  EXPORT_TYPES,
  type ExportFormat,
  type ExportType,
} from '../domain/export/export.decider.js';
import type { Scope } from '../domain/scope.js';
import type { ExportParams } from '../exports/export-params.js';
import type { ShownExport } from '../exports/shown-export.js';
import { errorCode } from '../foundation/error-code.js';
import { pause } from '../foundation/pause.js';
import { OPERATOR, operatingSystemUser } from '../operations/audit.js';
import { auditedOn, type Done } from '../operations/audited.js';
import {
  cancelOnRecord,
  listExports,
  requestOnRecord,
  showExport,
} from '../operations/exports/export-commands.js';
import { NotDone, type Outcome } from '../operations/outcome.js';
import { filled, LIMIT_MAX, parseLimit, scopeOf } from './arguments.js';
import { CommandError } from './command-error.js';
import { note, printJson, printTable, withCore, type OutputOptions } from './command-line.js';
import { ExportProgressLines } from './export-progress.js';
import { whileExportsAreWritten } from './export-writer.js';
import { done } from './outcomes.js';

interface ScopeOptions extends OutputOptions {
  readonly mode: string;
}

interface RunOptions extends ScopeOptions {
  readonly type: string;
  readonly format: string;
  readonly param: readonly string[];
  readonly name?: string;
  readonly out: string;
}

const POLL_MS = 200;
const NAME_MAX = 255;

/** `export …` */
export function addExportCommands(cli: Command): void {
  const group = cli.command('export').description('files with the data of a tenant');
  const command = (words: string, description: string): Command =>
    group
      .command(words)
      .description(description)
      .option('--mode <mode>', 'live or test', 'live')
      .option('--json', 'one JSON document');
  command('run <tenant>', 'asks for an export, waits, and writes the file')
    .requiredOption('--type <type>', EXPORT_TYPES.join(', '))
    .option('--format <format>', EXPORT_FORMATS.join(', '), 'CSV')
    .option(
      '--param <key=value>',
      'a filter, such as createdSince=2026-01-01; may be repeated',
      (param: string, before: readonly string[]) => [...before, param],
      [],
    )
    .option('--name <name>', 'names the export')
    .requiredOption('--out <file>', 'where to; - is standard output')
    .action(run);
  command('list <tenant>', 'exports, newest first')
    .option('--limit <number>', `entries to show, up to ${LIMIT_MAX}`, '100')
    .action(list);
  command('cancel <tenant> <id>', 'cancels an export that is not over').action(cancel);
}

async function run(tenant: string, options: RunOptions): Promise<void> {
  const scope = scopeOf(tenant, options.mode);
  const requested = {
    exportType: choiceOf('--type', options.type, EXPORT_TYPES),
    format: choiceOf('--format', options.format, EXPORT_FORMATS),
    texts: {
      name: options.name === undefined ? null : nameOf(options.name),
      requester: operatingSystemUser(),
      params: paramsOf(options.param),
    },
  } satisfies { exportType: ExportType; format: ExportFormat; texts: object };
  const out = filled('--out', options.out);
  const target = await Target.open(out);
  try {
    const completed = await withCore((core) =>
      whileExportsAreWritten(core, async () => {
        const { id } = await onRecord(core, scope, 'export run', () =>
          requestOnRecord(core, scope, requested),
        );
        const shown = done(await completion(core, scope, id));
        await target.write(core.downloads.readWhole(shown.id, bytesOf(shown)));
        return shown;
      }),
    );
    await target.keep();
    if (out !== '-') printJson(completed);
  } catch (error) {
    await target.discard();
    throw error;
  }
}

const bytesOf = ({ stats }: ShownExport): number => Number(stats?.['bytes'] ?? 0);

/** Shows the progress until the export is over. */
async function completion(
  core: Core,
  scope: Scope,
  exportId: string,
): Promise<Outcome<ShownExport>> {
  const progress = new ExportProgressLines(process.stderr);
  try {
    for (;;) {
      const shown = await showExport(core, scope, exportId);
      if (shown instanceof NotDone) return shown;
      const { status, stats } = shown;
      if (status === 'COMPLETED') return shown;
      if (status !== 'PENDING') {
        const reason = String(stats?.['reason'] ?? 'somebody in it was forgotten');
        return new NotDone({ code: 'EXPORT_NOT_COMPLETED', reason });
      }
      progress.at(Number(stats?.['rowsDone'] ?? 0), stats?.['rowsTotal']);
      await pause(POLL_MS);
    }
  } finally {
    progress.end();
  }
}

async function list(
  tenant: string,
  { mode, json, limit: most }: ScopeOptions & { readonly limit: string },
): Promise<void> {
  const scope = scopeOf(tenant, mode);
  const limit = parseLimit(most);
  const found = await withCore(async (core) =>
    done(await listExports(core, scope, { projectors: accountProjectors, limit })),
  );
  if (json) return printJson(found);
  printTable(
    ['id', 'type', 'format', 'name', 'requester', 'status', 'created', { amount: 'rows' }],
    found.map(({ id, type, format, name, requester, status, dateCreated, stats }) => [
      id,
      type,
      format,
      name ?? '',
      requester,
      status,
      new Date(dateCreated).toISOString(),
      String(stats?.['rows'] ?? stats?.['rowsDone'] ?? ''),
    ]),
  );
  if (found.length === limit) note(`the newest ${limit}; there may be more`);
}

async function cancel(tenant: string, id: string, { mode, json }: ScopeOptions): Promise<void> {
  const scope = scopeOf(tenant, mode);
  const cancelled = await withCore((core) =>
    onRecord(core, scope, 'export cancel', () => cancelOnRecord(core, scope, id, OPERATOR)),
  );
  if (json) printJson(cancelled);
  else process.stdout.write(`${cancelled.id} ${cancelled.status}\n`);
}

/** Runs a change with its audit event. */
async function onRecord<T>(
  core: Core,
  scope: Scope,
  operation: string,
  work: () => Promise<Outcome<Done<T>>>,
): Promise<T> {
  const frame = { scope, by: operatingSystemUser(), operation, warn: note };
  return done(await auditedOn(core, frame, work));
}

function choiceOf<T extends string>(option: string, text: string, values: readonly T[]): T {
  const value = values.find((known) => known === text);
  if (value === undefined) throw new CommandError(`${option} must be one of ${values.join(', ')}`);
  return value;
}

function nameOf(name: string): string {
  if ([...name].length <= NAME_MAX && name !== '' && !/\p{Cc}/u.test(name)) return name;
  throw new CommandError(`--name must be 1 to ${NAME_MAX} characters without control characters`);
}

function paramsOf(params: readonly string[]): ExportParams | null {
  if (params.length === 0) return null;
  return Object.fromEntries(
    params.map((param) => {
      const at = param.indexOf('=');
      if (at < 1)
        throw new CommandError('--param takes key=value, such as createdSince=2026-01-01');
      return [param.slice(0, at), param.slice(at + 1)];
    }),
  );
}

/** Where the file goes. A file appears under its name when it is whole. */
class Target {
  /** @param whole the name of the whole file; undefined: the stream has no other name. */
  private constructor(
    private readonly stream: Writable,
    private readonly whole?: string,
  ) {}

  /** @throws {CommandError} before anything is asked for. */
  static async open(out: string): Promise<Target> {
    if (out === '-') return new Target(process.stdout);
    try {
      const there = await stat(out).catch(() => undefined);
      const isStream = there !== undefined && !there.isFile() && !there.isDirectory();
      if (there?.isDirectory()) throw new CommandError(`cannot write ${out}: it is a folder`);
      const stream = createWriteStream(isStream ? out : partOf(out), { flags: 'w', mode: 0o600 });
      await once(stream, 'open');
      return isStream ? new Target(stream) : new Target(stream, out);
    } catch (error) {
      if (error instanceof CommandError) throw error;
      throw new CommandError(`cannot write ${out}: ${errorCode(error) ?? 'unknown error'}`);
    }
  }

  /** All bytes. @throws the errors of either side. */
  async write(pieces: AsyncIterable<Buffer>): Promise<void> {
    try {
      await pipeline(pieces, this.stream, { end: this.stream !== process.stdout });
    } catch (error) {
      // A reader such as `head` has enough.
      if (this.whole !== undefined || errorCode(error) !== 'EPIPE') throw error;
    }
  }

  async keep(): Promise<void> {
    if (this.whole !== undefined) await rename(partOf(this.whole), this.whole);
  }

  async discard(): Promise<void> {
    if (this.stream === process.stdout) return;
    this.stream.destroy();
    if (this.whole !== undefined) await rm(partOf(this.whole), { force: true });
  }
}

const partOf = (path: string): string => `${path}.part`;
