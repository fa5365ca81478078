import { readFile } from 'node:fs/promises';
import { CsvError, parse } from 'csv-parse/sync';
import { errorCode } from '../../foundation/error-code.js';
import { CommandError } from '../command-error.js';

/** What somebody else's books say: account → unit in lower case → balance. */
export interface BalanceFile {
  readonly accounts: ReadonlyMap<
    string,
    ReadonlyMap<string, { readonly unit: string; readonly balance: number }>
  >;
  readonly text: string;
}

const HEAD = ['account', 'unit', 'balance'];

/**
 * A CSV file (RFC 4180) with the header `account,unit,balance`. @throws {CommandError} naming the
 * line.
 */
export async function readBalanceFile(path: string): Promise<BalanceFile> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new CommandError(`cannot read ${path}: ${errorCode(error) ?? 'unknown error'}`);
  });
  return parseBalances(text, path);
}

/**
 * @param path where the text is from, for what is said of it. @throws {CommandError} naming the
 * record.
 */
export function parseBalances(text: string, path: string): BalanceFile {
  const [head = [], ...rows] = parseCsv(text, path);
  if (head.map((name) => name.trim().toLowerCase()).join() !== HEAD.join())
    throw new CommandError(`${path} must begin with the line ${HEAD.join(',')}`);
  const accounts = new Map<string, Map<string, { unit: string; balance: number }>>();
  for (const [index, row] of rows.entries()) {
    const [account = '', unit = '', amount = ''] = row;
    const balance = /^-?\d{1,16}$/.test(amount.trim()) ? Number(amount) : NaN;
    if (row.length !== 3 || account === '' || unit === '' || !Number.isSafeInteger(balance))
      throw new CommandError(`${path}: record ${index + 2} is no account, unit and whole number`);
    const units = accounts.get(account) ?? new Map<string, { unit: string; balance: number }>();
    if (units.has(unit.toLowerCase()))
      throw new CommandError(
        `${path}: record ${index + 2} names an account and unit a second time`,
      );
    accounts.set(account, units.set(unit.toLowerCase(), { unit, balance }));
  }
  return { accounts, text };
}

function parseCsv(text: string, path: string): string[][] {
  // The record that is being read; of one that fails, the library counts those before it.
  const failure = (before: number) => new CommandError(`${path}: record ${before + 1} is no CSV`);
  try {
    const rows = parse(text, {
      bom: true,
      record_delimiter: ['\r\n', '\n'],
      relax_column_count: true,
      skip_empty_lines: true,
      cast: (cell, { quoting, records }) => {
        if (!quoting && cell.includes('\r')) throw failure(records);
        return cell;
      },
    });
    return rows.filter((row) => row.length > 1 || row[0] !== '');
  } catch (error) {
    throw error instanceof CsvError ? failure(Number(error['records'])) : error;
  }
}
