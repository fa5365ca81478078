import * as z from 'zod';
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
import { RunFiles } from '../../runs/run-files.js';
import { withThousands } from '../../foundation/thousands.js';
import { actorOf, recordDone } from '../audit.js';
import { NotDone, notDoneAbout } from '../outcome.js';
import type { ScopedContext } from '../registry/context.js';
import { given, help, text } from '../registry/members.js';
import { ResultFile } from './result-file.js';

/** The members of a request to import a file of this machine, or over HTTP a stored one. */
export const IMPORT_MEMBERS = {
  file: given(text, { only: 'cli', placeholder: 'file', help: 'CSV or JSON lines, in UTF-8' }),
  /** The run whose stored file is read in its place, and which keeps the results. */
  upload: given(text.optional(), { only: 'http' }),
  dryRun: help(z.boolean().default(false), 'checks every row, and writes nothing'),
  map: given(z.record(z.string(), z.string()).optional(), {
    placeholder: 'Column=field',
    help: 'reads a column of the file as a field; may be repeated',
  }),
  rejected: given(text.optional(), {
    only: 'cli',
    placeholder: 'file',
    help: 'takes the rejected rows, each with its line and the reason',
  }),
  ids: given(text.optional(), {
    only: 'cli',
    placeholder: 'file',
    help: 'takes the ids of rows with those of the ledger',
  }),
};

const IDS_HEAD = 'kind,imported,ledger\n';

/** Imports a file into a ledger. @throws {NotDone} */
export async function importFile(
  context: ScopedContext,
  kind: ImportKind,
  request: z.output<z.ZodObject<typeof IMPORT_MEMBERS>>,
): Promise<ImportAnswer> {
  const { core, operationsPool, scope, signal, onProgress, pauseForRequests, note, by } = context;
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
  const stored = (of: 'rejected' | 'ids') => (lines: AsyncIterable<Buffer>) =>
    upload === undefined ? skipped(lines) : files.store({ run: upload, kind: of }, scope, lines);
  const rejected = await ResultFile.open(request.rejected, stored('rejected'));
  const ids = await ResultFile.open(request.ids, stored('ids'));
  try {
    await rejected.write(file.rejectedHead);
    await ids.write(IDS_HEAD);
    const ended = await readable(() =>
      runImport({
        file,
        dryRun,
        signal,
        onProgress,
        pauseForRequests,
        rejected: (line) => rejected.write(line),
        ids: (line) => ids.write(line),
        numberOf: (values) => equalRows.numberOf(values),
        areFirst: (values) => equalRows.areFirst(values),
        checked: () => noteColumns(file, note),
        open: (codes) => {
          const run = { ...scope, kind, dryRun, actor: actorOf(core, scope, by) };
          return openRowImport(core, run, { db, codes });
        },
      }),
    );
    await rejected.keep();
    await ids.keep();
    if (!dryRun) await record(context, ended);
    if (ended.isStopped) throw stopped(ended.answer);
    return ended.answer;
  } finally {
    db.close();
    await rejected.discard();
    await ids.discard();
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

async function skipped(lines: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of lines);
}
