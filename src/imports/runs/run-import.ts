import { csvLines } from '../../exports/files/csv-lines.js';
import { KeyedQueue } from '../../foundation/keyed-queue.js';
import type { ImportFile, ReadRow } from '../files/import-file.js';
import type {
  ControlFigures,
  ImportKind,
  ImportRow,
  ImportsRow,
  RowOutcome,
} from '../rows/import-rows.js';
import { GivenCodes } from '../rows/given-codes.js';
import { valuesOfReward } from '../rows/row-commands.js';
import { Control, type UnitControl } from './control.js';

/** The result of an import. */
export interface ImportAnswer {
  readonly kind: ImportKind;
  readonly rows: number;
  readonly imported: number;
  readonly unchanged: number;
  readonly rejected: number;
  readonly control: readonly UnitControl[];
}

/** Receives the lines of a result file in order. */
export type TakeLine = (line: string) => Promise<void>;

export interface ImportWork {
  readonly file: ImportFile;
  /** Opens the ledger after the file was checked. @param codes of the file. */
  readonly open: (codes: GivenCodes) => Promise<ImportsRow>;
  /** Numbers rewards without an id. */
  readonly numberOf: (values: object) => Promise<number>;
  /** Whether each is the first equal one of the run. */
  readonly areFirst: (values: readonly object[]) => Promise<readonly boolean[]>;
  readonly dryRun: boolean;
  readonly rejected: TakeLine;
  readonly ids: TakeLine;
  /** Called when the file is checked, before its first row is written. */
  readonly checked: () => void;
  readonly onProgress: (phase: string, done: number, total?: number) => void;
  /** Called between rows, so that requests come first. */
  readonly pauseForRequests: () => Promise<void>;
  readonly signal: AbortSignal;
}

/** The result, and whether the import was stopped. */
export interface EndedImport {
  readonly answer: ImportAnswer;
  readonly isStopped: boolean;
}

/**
 * Concurrent rows. Rows of one account wait for each other; appends of other accounts share
 * commits. Outcomes are taken in the order of the file.
 */
const ROWS_AT_ONCE = 128;
const REPORT_ROWS = 100;

/** Imports a file of any size. @throws {FileFault} before anything is written. */
export async function runImport(work: ImportWork): Promise<EndedImport> {
  const { signal, onProgress } = work;
  const codes = new GivenCodes();
  const total = await checkWhole(work, codes);
  const tally = new Tally(work);
  if (signal.aborted) return { answer: await tally.answer(), isStopped: true };
  work.checked();
  await eachRow(work, await work.open(codes), async (read, row, outcome) => {
    await tally.take(read, row, outcome);
    if (tally.rows % REPORT_ROWS === 0) onProgress('importing', tally.rows, total);
  });
  onProgress('importing', tally.rows, total);
  return { answer: await tally.answer(), isStopped: signal.aborted && tally.rows < total };
}

/** Finds faults before anything is written. @returns the number of rows. */
async function checkWhole(
  { file, onProgress, pauseForRequests, signal }: ImportWork,
  codes: GivenCodes,
): Promise<number> {
  let rows = 0;
  for await (const { read } of file.rows()) {
    if (signal.aborted) break;
    rows += 1;
    const code = 'values' in read ? read.values['referralCode'] : undefined;
    if (typeof code === 'string') codes.add(code);
    if (rows % REPORT_ROWS !== 0) continue;
    onProgress('checking', rows);
    await pauseForRequests();
  }
  return rows;
}

interface OpenRow {
  readonly read: ReadRow;
  /** Undefined: the row is invalid. */
  readonly row: ImportRow | undefined;
  readonly outcome: Promise<RowOutcome | undefined>;
}

/** Imports rows concurrently until the signal. @param settle takes outcomes in order. */
async function eachRow(
  { file, pauseForRequests, signal, numberOf }: ImportWork,
  work: ImportsRow,
  settle: (
    read: ReadRow,
    row: ImportRow | undefined,
    outcome: RowOutcome | undefined,
  ) => Promise<void>,
): Promise<void> {
  const { kind } = file.columns;
  const turns = new KeyedQueue();
  const open: OpenRow[] = [];
  const settleFirst = async (): Promise<void> => {
    const [first] = open;
    if (first === undefined) return;
    const outcome = await first.outcome;
    open.shift();
    await settle(first.read, first.row, outcome);
  };
  try {
    for await (const read of file.rows()) {
      if (signal.aborted) break;
      const row = 'values' in read.read ? read.read.values : undefined;
      const whole = row && kind === 'rewards' ? await numbered(row, numberOf) : row;
      const outcome = whole
        ? turns.run(keysOf(whole), () => work(whole))
        : Promise.resolve(undefined);
      // Awaited in its turn.
      outcome.catch(() => undefined);
      open.push({ read, row: whole, outcome });
      if (open.length < ROWS_AT_ONCE) continue;
      await settleFirst();
      await pauseForRequests();
    }
    while (open.length > 0) await settleFirst();
  } finally {
    await Promise.allSettled(open.map(({ outcome }) => outcome));
  }
}

async function numbered(row: ImportRow, numberOf: ImportWork['numberOf']): Promise<ImportRow> {
  const values = row['id'] === undefined ? valuesOfReward(row) : undefined;
  return values === undefined ? row : { ...row, equalRowNumber: await numberOf(values) };
}

/** Rows with equal values in these columns depend on each other. */
const SHARED: readonly (readonly [name: string, columns: readonly string[]])[] = [
  ['account', ['accountId', 'referredAccount', 'referrerAccount']],
  ['id', ['id']],
  ['code', ['referralCode']],
  ['payment', ['paymentProviderId']],
  ['tank', ['fuelTankCode']],
];

/** Rows with a common key are imported in the order of the file. */
function keysOf(row: ImportRow): readonly string[] {
  return SHARED.flatMap(([name, columns]) =>
    columns.flatMap((column) => {
      const value = row[column];
      return typeof value === 'string' ? [`${name} ${value.trim().toLowerCase()}`] : [];
    }),
  );
}

/** A row of credit that is not yet in the control figures. */
interface UncountedRow {
  readonly row: ImportRow;
  readonly control: ControlFigures;
  readonly kind: 'imported' | 'unchanged';
}

/** Counts outcomes and writes result files. */
class Tally {
  private imported = 0;
  private unchanged = 0;
  private rejected = 0;
  private readonly control = new Control();
  private readonly uncounted: UncountedRow[] = [];

  constructor(private readonly work: ImportWork) {}

  get rows(): number {
    return this.imported + this.unchanged + this.rejected;
  }

  async answer(): Promise<ImportAnswer> {
    await this.count();
    const { imported, unchanged, rejected, rows } = this;
    const { kind } = this.work.file.columns;
    return { kind, rows, imported, unchanged, rejected, control: this.control.shown() };
  }

  async take(
    { read, rejected }: ReadRow,
    row: ImportRow | undefined,
    outcome: RowOutcome | undefined,
  ): Promise<void> {
    if (row === undefined || outcome === undefined || outcome.kind === 'rejected') {
      const reason =
        outcome?.kind === 'rejected' ? outcome.reason : 'reason' in read && read.reason;
      this.rejected += 1;
      return this.work.rejected(rejected(reason || ''));
    }
    this[outcome.kind] += 1;
    const { ledgerId, control } = outcome;
    if (control !== undefined) {
      this.uncounted.push({ row, control, kind: outcome.kind });
      if (this.uncounted.length >= REPORT_ROWS) await this.count();
    }
    const { kind } = this.work.file.columns;
    if (
      kind !== 'users' &&
      typeof row['id'] === 'string' &&
      ledgerId !== undefined &&
      !this.work.dryRun
    )
      await this.work.ids(csvLines([[kind, row['id'], ledgerId]]));
  }

  /** A repeated row does not count as another reward. */
  private async count(): Promise<void> {
    const rows = this.uncounted.splice(0);
    // Rows without an id are numbered and never repeated.
    const named = rows.filter(({ row }) => row['id'] !== undefined);
    const first = await this.work.areFirst(named.map(({ row }) => ({ id: row['id'] })));
    for (const one of rows) {
      const isRepeated = first[named.indexOf(one)] === false;
      if (one.kind === 'imported' || !isRepeated) this.control.add(one.row, one.control);
    }
  }
}
