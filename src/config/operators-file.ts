import { randomUUID } from 'node:crypto';
import { open, rename, writeFile, type FileHandle } from 'node:fs/promises';
import type { Logger } from 'pino';
import { errorCode, hasCode } from '../foundation/error-code.js';
import { ConfigError, type OperatorsFilePath } from './config.js';
import {
  NO_OPERATORS,
  operatorEntries,
  Operators,
  type CurrentOperators,
  type OperatorEntry,
} from './operators.js';
import { fileText } from '../foundation/outside-text.js';

/** Enough for ten thousand operators; a longer file is not read. */
const FILE_BYTES_MAX = 4 * 1024 * 1024;
const WRITABLE_BY_OTHERS = 0o022;

/**
 * The operators in OPERATORS_FILE, read at each call. While the file is invalid, no key is
 * accepted, and each reason is logged once.
 */
export class OperatorsFile implements CurrentOperators {
  private problem: string | undefined;

  private constructor(
    private readonly file: OperatorsFilePath,
    private readonly logger: Pick<Logger, 'info' | 'error'>,
  ) {}

  /** Without a path there are no operators. @throws {ConfigError} without content of the file. */
  static async open(
    file: OperatorsFilePath | undefined,
    logger: Pick<Logger, 'info' | 'error'>,
  ): Promise<CurrentOperators> {
    if (file === undefined) return NO_OPERATORS;
    await readOperators(file);
    return new OperatorsFile(file, logger);
  }

  async now(): Promise<Operators> {
    try {
      const operators = new Operators(await readOperators(this.file));
      if (this.problem !== undefined) this.logger.info({}, 'OPERATORS_FILE can be used again');
      this.problem = undefined;
      return operators;
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      const [problem = ''] = error.problems;
      if (problem !== this.problem) this.logger.error({ problem }, 'no key of an operator counts');
      this.problem = problem;
      return new Operators();
    }
  }
}

/** The entries of the file. @throws {ConfigError} */
export async function readOperators({
  path,
  mayBeMissing,
}: OperatorsFilePath): Promise<readonly OperatorEntry[]> {
  const opened = await open(path, 'r').catch((error: unknown) => {
    if (!mayBeMissing || !hasCode(error, 'ENOENT', 'ENOTDIR')) cannotBeRead(error);
  });
  if (opened === undefined) return [];
  try {
    return operatorEntries(await contentOf(opened));
  } finally {
    await opened.close();
  }
}

/** Replaces the file atomically. */
export async function writeOperators(
  path: string,
  entries: readonly OperatorEntry[],
): Promise<void> {
  const part = `${path}.${randomUUID()}`;
  await writeFile(part, `${JSON.stringify(entries, undefined, 2)}\n`, { mode: 0o600, flag: 'wx' });
  await rename(part, path);
}

/** Reads mode and content of the same open file, which may be replaced. @throws {ConfigError} */
async function contentOf(opened: FileHandle): Promise<string> {
  const { mode, size } = await opened.stat();
  if ((mode & WRITABLE_BY_OTHERS) !== 0)
    throw new ConfigError([
      `OPERATORS_FILE has mode ${(mode & 0o777).toString(8)}: others may write it; chmod go-w it`,
    ]);
  if (size > FILE_BYTES_MAX)
    throw new ConfigError([`OPERATORS_FILE is longer than ${FILE_BYTES_MAX} bytes`]);
  const content = fileText(await opened.readFile().catch(cannotBeRead));
  if ('fault' in content) throw new ConfigError([`OPERATORS_FILE: ${content.fault}`]);
  return content.text;
}

function cannotBeRead(error: unknown): never {
  throw new ConfigError([`OPERATORS_FILE cannot be read: ${errorCode(error) ?? 'unknown error'}`]);
}
