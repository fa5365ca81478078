import { readFile } from 'node:fs/promises';
import { pino, type Logger } from 'pino';
import { loadConfig } from '../config/config.js';
import { openCore, type Core, type CoreOptions } from '../stores/core.js';
import { fileText, NOT_STORABLE, unstorablePath } from '../foundation/outside-text.js';
import { firstLine } from '../foundation/describe-error.js';
import { errorCode } from '../foundation/error-code.js';
import { coloured } from './colours.js';
import { CommandError } from './command-error.js';
import { CommandPresence } from '../postgres/process-presence.js';
import { tableLines, tabLines, type Column } from './table.js';

export interface OutputOptions {
  readonly json?: boolean;
}

/**
 * Opens the stores with the configuration of the service, and closes them in any case. If the
 * service is not running, the embedded server runs for this command.
 */
export async function withCore<T>(
  work: (core: Core) => Promise<T>,
  options: Pick<CoreOptions, 'acceptsClock'> = {},
): Promise<T> {
  const config = loadConfig();
  const logger = commandLogger();
  const actor = { kind: 'system' as const, id: 'command-line' };
  const applicationName = 'ledger-cli';
  const core = await openCore({ config, logger, actor, applicationName, ...options });
  return withOpened(core, () => whilePresent(core, () => work(core)));
}

/**
 * Registers this process while the work runs: otherwise its appends during the end of a `log copy`
 * would stay in the abandoned log.
 * @throws {AnotherLogFollowed} when the database was moved meanwhile.
 */
export async function whilePresent<T>(
  { pool, followedLog }: Pick<Core, 'pool' | 'followedLog'>,
  work: () => Promise<T>,
): Promise<T> {
  const presence = new CommandPresence(pool);
  await presence.start();
  try {
    await followedLog.confirm();
    return await work();
  } finally {
    await presence.stop().catch(() => undefined);
  }
}

/**
 * Closes the stores in any case. A failure to close them is only noted: it does not undo finished
 * work.
 */
export async function withOpened<C extends { close(): Promise<void> }, T>(
  opened: C,
  work: (opened: C) => Promise<T>,
): Promise<T> {
  try {
    return await work(opened);
  } finally {
    await opened.close().catch((error: unknown) => {
      note(`what was opened for the command could not be closed: ${firstLine(error)}`);
    });
  }
}

/** Logs to standard error: standard output is for the answer. */
export const commandLogger = (): Logger =>
  pino({ level: 'warn', base: null }, pino.destination({ fd: 2, sync: true }));

/** Exactly one JSON document. */
export const printJson = (value: unknown): void =>
  void process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);

/** A note in addition to the answer. */
export const note = (line: string): void => void process.stderr.write(`${line}\n`);

let isWide = false;

/** For `--wide`: tables are shown whole, however narrow the terminal is. */
export const showWhole = (whole: boolean): void => {
  isWide = whole;
};

/**
 * On a terminal as wide as it is, else tab-separated. Written in pieces: a table can have hundreds
 * of thousands of rows.
 */
export function printTable(columns: readonly Column[], rows: readonly (readonly string[])[]): void {
  let isShortened = false;
  const width = isWide ? undefined : process.stdout.columns;
  const lines = process.stdout.isTTY
    ? tableLines(columns, rows, width, () => (isShortened = true))
    : tabLines(columns, rows);
  let piece = '';
  let isHead = true;
  for (const line of lines) {
    isHead &&= !line.startsWith('─');
    piece += isHead ? coloured(process.stdout, 'bold', line) : line;
    if (piece.length < PIECE_CHARACTERS) continue;
    process.stdout.write(piece);
    piece = '';
  }
  process.stdout.write(piece);
  if (isShortened) note('shortened to fit the terminal; --wide shows all of it');
}

const PIECE_CHARACTERS = 64 * 1024;

/** UTF-8 without NUL. @throws {CommandError} */
export async function readTextFile(path: string): Promise<string> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new CommandError(`cannot read ${path}: ${whyNotRead(error)}`);
  });
  const content = fileText(bytes);
  if ('fault' in content) throw new CommandError(`${path}: ${content.fault}`);
  return content.text;
}

/** Why a file is not read, with the code of the operating system. */
function whyNotRead(error: unknown): string {
  const code = errorCode(error) ?? 'unknown error';
  const words = NOT_READ[code];
  return words === undefined ? code : `${words} (${code})`;
}

const NOT_READ: Readonly<Record<string, string | undefined>> = {
  ENOENT: 'there is no such file',
  EACCES: 'this user may not read it',
  EISDIR: 'it is a folder',
  ERR_STRING_TOO_LONG: 'it is too large',
  ERR_FS_FILE_TOO_LARGE: 'it is too large',
};

/** @throws {CommandError} */
export async function readJsonFile(path: string): Promise<unknown> {
  const content = await readTextFile(path);
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    throw new CommandError(`${path} is no JSON`);
  }
  const unstorable = unstorablePath(value);
  if (unstorable !== undefined) throw new CommandError(`${path}: ${unstorable} ${NOT_STORABLE}`);
  return value;
}
