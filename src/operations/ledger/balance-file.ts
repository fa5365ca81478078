import { CsvError, parse } from 'csv-parse';
import { pipeline, Readable } from 'node:stream';
import { setImmediate as turnOfOthers } from 'node:timers/promises';
import { NotDone, type Outcome } from '../outcome.js';

/** Balances from outside books: account → unit in lower case → balance. */
export interface BalanceFile {
  readonly accounts: ReadonlyMap<string, ReadonlyMap<string, Balance>>;
  readonly text: string;
}

interface Balance {
  readonly unit: string;
  readonly balance: number;
}

const HEAD = 'account,unit,balance';
/** What is parsed between two turns of other work: about a millisecond. */
const PIECE_BYTES = 4_096;

/**
 * Parses a CSV file (RFC 4180) with the header `account,unit,balance`, in turns with other work.
 * @param source the file's name in refusals.
 */
export async function parseBalances(text: string, source: string): Promise<Outcome<BalanceFile>> {
  const accounts = new Map<string, Map<string, Balance>>();
  const withoutHead = new NotDone({ code: 'BALANCES_WITHOUT_HEAD', source, head: HEAD });
  let record = 0;
  try {
    for await (const row of recordsOf(text)) {
      if (row.length === 1 && row[0] === '') continue;
      record += 1;
      if (record === 1) {
        if (!isHead(row)) return withoutHead;
        continue;
      }
      const [account = '', unit = '', amount = ''] = row;
      const balance = /^-?\d{1,16}$/.test(amount.trim()) ? Number(amount) : NaN;
      if (row.length !== 3 || account === '' || unit === '' || !Number.isSafeInteger(balance))
        return new NotDone({ code: 'BALANCE_MALFORMED', source, record });
      const units = accounts.get(account) ?? new Map<string, Balance>();
      if (units.has(unit.toLowerCase()))
        return new NotDone({ code: 'BALANCE_REPEATED', source, record });
      accounts.set(account, units.set(unit.toLowerCase(), { unit, balance }));
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    // The records before the one that failed.
    const before = Number(error['records']);
    return new NotDone({ code: 'BALANCES_NOT_CSV', source, record: before + 1 });
  }
  return record === 0 ? withoutHead : { accounts, text };
}

const isHead = (row: readonly string[]): boolean =>
  row.length === 3 && row.map((name) => name.trim().toLowerCase()).join() === HEAD;

/** Its rows, read in pieces. @throws {CsvError} in the iteration. */
function recordsOf(text: string): AsyncIterable<readonly string[]> {
  const parser = parse({
    bom: true,
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    skip_empty_lines: true,
  });
  // An error is thrown to who reads the rows.
  pipeline(Readable.from(piecesOf(Buffer.from(text))), parser, () => undefined);
  return parser;
}

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
    yield bytes.subarray(from, from + PIECE_BYTES);
    await turnOfOthers();
  }
}
