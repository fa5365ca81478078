import { CsvError, parse } from 'csv-parse/sync';
import { NotDone, type Outcome } from '../outcome.js';

/** Balances from outside books: account → unit in lower case → balance. */
export interface BalanceFile {
  readonly accounts: ReadonlyMap<
    string,
    ReadonlyMap<string, { readonly unit: string; readonly balance: number }>
  >;
  readonly text: string;
}

const HEAD = ['account', 'unit', 'balance'];

/**
 * Parses a CSV file (RFC 4180) with the header `account,unit,balance`.
 * @param source the file's name in refusals.
 */
export function parseBalances(text: string, source: string): Outcome<BalanceFile> {
  const parsed = parseCsv(text, source);
  if (parsed instanceof NotDone) return parsed;
  const [head = [], ...rows] = parsed;
  if (head.map((name) => name.trim().toLowerCase()).join() !== HEAD.join())
    return new NotDone({ code: 'BALANCES_WITHOUT_HEAD', source, head: HEAD.join(',') });
  const accounts = new Map<string, Map<string, { unit: string; balance: number }>>();
  for (const [index, row] of rows.entries()) {
    const [account = '', unit = '', amount = ''] = row;
    const record = index + 2;
    const balance = /^-?\d{1,16}$/.test(amount.trim()) ? Number(amount) : NaN;
    if (row.length !== 3 || account === '' || unit === '' || !Number.isSafeInteger(balance))
      return new NotDone({ code: 'BALANCE_MALFORMED', source, record });
    const units = accounts.get(account) ?? new Map<string, { unit: string; balance: number }>();
    if (units.has(unit.toLowerCase()))
      return new NotDone({ code: 'BALANCE_REPEATED', source, record });
    accounts.set(account, units.set(unit.toLowerCase(), { unit, balance }));
  }
  return { accounts, text };
}

/** A cell that the library accepts and RFC 4180 does not; `records` were read before it. */
class BareReturn extends Error {
  constructor(readonly records: number) {
    super('a carriage return outside of quotes');
  }
}

function parseCsv(text: string, source: string): Outcome<string[][]> {
  try {
    const rows = parse(text, {
      bom: true,
      record_delimiter: ['\r\n', '\n'],
      relax_column_count: true,
      skip_empty_lines: true,
      cast: (cell, { quoting, records }) => {
        if (!quoting && cell.includes('\r')) throw new BareReturn(records);
        return cell;
      },
    });
    return rows.filter((row) => row.length > 1 || row[0] !== '');
  } catch (error) {
    if (!(error instanceof BareReturn) && !(error instanceof CsvError)) throw error;
    // The records before the one that failed.
    const before = error instanceof BareReturn ? error.records : Number(error['records']);
    return new NotDone({ code: 'BALANCES_NOT_CSV', source, record: before + 1 });
  }
}
