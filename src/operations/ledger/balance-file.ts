import { CsvError, parse } from 'csv-parse';
import { pipeline, Readable } from 'node:stream';
import { setImmediate as turnOfOthers } from 'node:timers/promises';
import { shownFormats, type UnitFormat } from '../../domain/tenant/unit-settings.js';
import { unitKey } from '../../domain/units.js';
import { notDoneAbout } from '../outcome.js';

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
/** Columns of a `REWARD_BALANCE` export, of which the rows of `CREDIT` count. */
const EXPORTED = ['accountid', 'unit', 'amount', 'type'] as const;
/** What is parsed between two turns of other work: about a millisecond. */
const PIECE_BYTES = 4_096;

/** Decimal digits of an amount in the currency of a unit. */
const digitsOf = (formats: readonly UnitFormat[], key: string): number =>
  shownFormats(formats).find(({ unit }) => unitKey(unit) === key)?.digits ?? 0;

interface Row extends Record<'account' | 'unit' | 'balance', string> {
  readonly line: number;
}

/**
 * Parses a CSV file (RFC 4180, also with semicolons) with the columns `account,unit,balance`, or a
 * `REWARD_BALANCE` export, in turns with other work. Balances with a decimal part are amounts in
 * the currency, as are all others of their unit.
 * @param source the file's name in refusals.
 * @param formats of the tenant's units.
 */
export async function parseBalances(
  text: string,
  source: string,
  formats: readonly UnitFormat[] = [],
): Promise<BalanceFile> {
  const rows: Row[] = [];
  let head: readonly string[] | undefined;
  let isExport = false;
  try {
    for await (const { record, info } of recordsOf(text)) {
      const { lines: line } = info;
      if (record.length === 1 && record[0] === '') continue;
      if (head === undefined) {
        const names = record.map((name) => name.trim().toLowerCase());
        isExport = EXPORTED.every((name) => names.includes(name));
        if (!isExport && names.join() !== HEAD) break;
        head = names;
        continue;
      }
      if (record.length !== head.length) throw malformed(source, line);
      const cells = new Map(head.map((name, place) => [name, record[place] ?? '']));
      const cell = (name: string): string => unescaped(cells.get(name) ?? '');
      if (!isExport || cells.get('type') === 'CREDIT')
        rows.push({
          account: cell(isExport ? 'accountid' : 'account'),
          unit: cell('unit'),
          balance: cells.get(isExport ? 'amount' : 'balance') ?? '',
          line,
        });
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw notDoneAbout('balances', `${source}: line ${String(error['lines'])} is no CSV`);
  }
  if (head === undefined)
    throw notDoneAbout('balances', `${source} must begin with the line ${HEAD}`);
  return { accounts: added(rows, source, isExport ? undefined : formats), text };
}

const malformed = (source: string, line: number) =>
  notDoneAbout(
    'balances',
    `${source}: line ${line} is no account, unit and balance; a balance is a whole number such as 1250, or 12.50 for CENTS, without a separator of thousands`,
  );

/** Without the apostrophe that CSV files put before what a spreadsheet would run. */
const unescaped = (cell: string): string =>
  cell.replace(/^'(?=[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20])/, '');

/**
 * By account and unit.
 * @param formats undefined: of an export, whose balances are integers and are added up.
 */
function added(
  rows: readonly Row[],
  source: string,
  formats: readonly UnitFormat[] | undefined,
): BalanceFile['accounts'] {
  const inCurrency = new Set(
    rows.filter(({ balance }) => /[.,]/.test(balance)).map(({ unit }) => unit.toLowerCase()),
  );
  const accounts = new Map<string, Map<string, Balance>>();
  for (const { account, unit, balance: amount, line } of rows) {
    const key = unit.toLowerCase();
    const digits = formats && inCurrency.has(key) ? digitsOf(formats, key) : 0;
    const balance = amountIn(amount.trim(), digits);
    if (account === '' || unit === '' || balance === undefined) throw malformed(source, line);
    const units = accounts.get(account) ?? new Map<string, Balance>();
    const before = units.get(key);
    if (before !== undefined && formats)
      throw notDoneAbout(
        'balances',
        `${source}: line ${line} names an account and unit a second time`,
      );
    const sum = { unit, ...before, balance: (before?.balance ?? 0) + balance };
    accounts.set(account, units.set(key, sum));
  }
  return accounts;
}

/** An integer in the unit; undefined: no amount, or one with more decimal digits. */
function amountIn(text: string, digits: number): number | undefined {
  const [, sign = '', whole = '', part = ''] = /^(-?)(\d{1,16})(?:[.,](\d+))?$/.exec(text) ?? [];
  const amount = Number(`${sign}${whole}${part.padEnd(digits, '0')}`);
  const isRead = whole !== '' && part.length <= digits && Number.isSafeInteger(amount);
  return isRead ? amount + 0 : undefined;
}

interface CsvRecord {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}

/** Its rows, read in pieces. @throws {CsvError} in the iteration. */
function recordsOf(text: string): AsyncIterable<CsvRecord> {
  const [head = ''] = text.trimStart().split(/[\r\n]/, 1);
  const parser = parse({
    bom: true,
    delimiter: head.includes(';') ? ';' : ',',
    info: true,
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
