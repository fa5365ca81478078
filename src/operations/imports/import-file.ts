import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { errorCode } from '../../foundation/error-code.js';
import { FileFault, type FileBytes } from '../../imports/files/file-blocks.js';
import { openImportFile, type ImportFile } from '../../imports/files/import-file.js';
import type { ImportKind } from '../../imports/rows/import-rows.js';
import { openRowImport } from '../../imports/rows/open-row-import.js';
import { EqualRows } from '../../imports/runs/equal-rows.js';
import { runImport, type EndedImport, type ImportAnswer } from '../../imports/runs/run-import.js';
import { ScratchConnection } from '../../postgres/scratch-connection.js';
import { RunFiles, type RunFileKind } from '../../runs/run-files.js';
import { withThousands } from '../../foundation/thousands.js';
import { actorOf, recordDone } from '../audit.js';
import { NotDone, notDoneAbout } from '../outcome.js';
import type { ScopedContext } from '../registry/operation.js';
import { WrittenFile } from '../written-file.js';
import { ResultFile } from './result-file.js';

export interface ImportRequest {
  /** On this machine. */
  readonly file: string;
  /** The run whose stored file is read in its place, and which keeps the results. */
  readonly upload?: string | undefined;
  readonly dryRun: boolean;
  /** Columns to fields. */
  readonly map?: Readonly<Record<string, string>> | undefined;
  readonly rejected?: string | undefined;
  readonly ids?: string | undefined;
}

const IDS_HEAD = 'kind,imported,ledger\n';

/** Imports a file into a ledger. @throws {NotDone} */
export async function importFile(
  context: ScopedContext,
  kind: ImportKind,
  request: ImportRequest,
): Promise<ImportAnswer> {
  const { core, operationsPool, scope, signal, onProgress, giveWay, note, by } = context;
  const { dryRun, map, upload } = request;
  const files = new RunFiles(core.pool, core.answerSealer);
  const bytes =
    upload === undefined
      ? await fileHere(request.file)
      : () => files.read({ run: upload, kind: 'upload' });
  const file = await readable(() =>
    openImportFile(kind, new Map(Object.entries(map ?? {})), bytes),
  );
  const db = new ScratchConnection(operationsPool());
  const equalRows = new EqualRows(db);
  const results = await Results.open(request, (of, lines) =>
    upload === undefined ? undefined : files.store({ run: upload, kind: of }, scope, lines),
  );
  try {
    await results.rejected.write(file.rejectedHead);
    await results.ids.write(IDS_HEAD);
    const ended = await readable(() =>
      runImport({
        file,
        dryRun,
        signal,
        onProgress,
        giveWay,
        rejected: (line) => results.rejected.write(line),
        ids: (line) => results.ids.write(line),
        numberOf: (values) => equalRows.numberOf(values),
        areFirst: (values) => equalRows.areFirst(values),
        checked: () => noteColumns(file, note),
        open: (codes) => {
          const run = { ...scope, kind, dryRun, actor: actorOf(core, scope, by) };
          return openRowImport(core, run, { db, codes });
        },
      }),
    );
    await results.keep();
    if (!dryRun) await record(context, ended);
    if (ended.isStopped) throw stopped(ended.answer);
    return ended.answer;
  } finally {
    db.close();
    await results.discard();
  }
}

const stopped = ({ rows, imported }: ImportAnswer): NotDone =>
  new NotDone('CANCELLED', [
    `stopped: ${withThousands(imported)} rows were imported, of ${withThousands(rows)} that were read; the same import continues`,
  ]);

/** @throws {NotDone} for a fault of the file. */
async function readable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof FileFault) throw notDoneAbout('file', error.message);
    throw error;
  }
}

/** @throws {NotDone} for what cannot be read twice. */
async function fileHere(path: string): Promise<FileBytes> {
  const found = await stat(path).catch((error: unknown) => {
    throw notDoneAbout('file', `cannot read ${path}: ${errorCode(error) ?? 'unknown error'}`);
  });
  if (!found.isFile())
    throw notDoneAbout('file', `${path} is no file: an import reads it twice, so no pipe will do`);
  return () => createReadStream(path, { highWaterMark: 256 * 1024 });
}

function noteColumns({ columns }: ImportFile, note: (line: string) => void): void {
  const ignored = columns.ignored();
  if (ignored !== undefined) note(ignored);
  if (columns.kind === 'users' && !columns.has('accountStatus'))
    note('the file has no column accountStatus: new accounts become TRIAL');
}

/** The rows are in: an audit entry that fails does not undo them. */
async function record(
  { core, scope, by, warn }: ScopedContext,
  { answer, isStopped }: EndedImport,
): Promise<void> {
  const { kind, rows, imported, unchanged, rejected } = answer;
  await recordDone(
    core,
    scope,
    {
      operation: `import ${kind}`,
      by,
      parameters: { rows, imported, unchanged, rejected, stopped: isStopped },
      result: answer,
    },
    { completed: `${imported} rows were imported`, warn },
  );
}

type Store = (
  of: Exclude<RunFileKind, 'upload'>,
  lines: AsyncIterable<Buffer>,
) => Promise<unknown> | undefined;

/** The files of rejected rows and of ids: named by the request, or stored. */
class Results {
  private constructor(
    readonly rejected: ResultFile,
    readonly ids: ResultFile,
    private readonly written: readonly WrittenFile[],
  ) {}

  /** @throws {NotDone} for a name that cannot be written. */
  static async open(
    { rejected, ids }: Pick<ImportRequest, 'rejected' | 'ids'>,
    store: Store,
  ): Promise<Results> {
    const written: WrittenFile[] = [];
    const open = async (of: 'rejected' | 'ids', name: string | undefined): Promise<ResultFile> => {
      if (name === undefined) return new ResultFile((lines) => store(of, lines) ?? skipped(lines));
      const file = await WrittenFile.open(name);
      written.push(file);
      return new ResultFile((lines) => file.write(lines));
    };
    return new Results(await open('rejected', rejected), await open('ids', ids), written);
  }

  async keep(): Promise<void> {
    await this.rejected.end();
    await this.ids.end();
    for (const file of this.written) await file.keep();
  }

  async discard(): Promise<void> {
    for (const lines of [this.rejected, this.ids]) lines.discard();
    for (const file of this.written) await file.discard();
  }
}

async function skipped(lines: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of lines);
}
