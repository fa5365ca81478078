// Over 5 s: a database for each test.
import { stringify } from 'csv-stringify/sync';
import type { ExportOrder } from '../../src/exports/export-order.js';
import { xlsxFile } from '../../src/exports/files/xlsx-file.js';
import type { ExportParts } from '../../src/exports/write-export-file.js';
import { isUnavailable } from '../../src/postgres/database.js';
import {
  accountOpened,
  anAccount,
  credit,
  discount,
  erasureRequested,
  partyOf,
  personOf,
  referralStarted,
  rewardGranted,
  userIdentified,
} from '../support/account-events.js';
import { END_SESSIONS } from '../support/ended-sessions.js';
import { eventually } from '../support/embedded.js';
import { ProjectedLedger } from '../support/projected-ledger.js';
import { Rebuilding } from '../support/rebuilding.js';
import { partsOf, readCsv, readSheets, writtenFile } from './support/written-file.js';
import { openForEach } from '../support/opened.js';

const scope = { tenant: 'demo', mode: 'live' } as const;
const acme = anAccount('acme');
jest.setTimeout(180_000);

const projected = openForEach(() => ProjectedLedger.open(), 'close');
const parts = openForEach(() => ({
  ...partsOf(projected, projected.startRunner()),
  pool: projected.openPool(2),
}));
beforeEach(async () => {
  await projected.given(acme, accountOpened(acme), user('ann', 1), user('bob', 2));
});

const user = (id: string, at: number, customFields = {}) =>
  userIdentified(acme, id, { firstName: `name of ${id}`, customFields }, at);

const users: ExportOrder = { scope, type: 'USER', format: 'CSV', filters: {} };
const idsIn = (bytes: Buffer): unknown[] =>
  readCsv(bytes)
    .slice(1)
    .map(([id]) => id);

/** A sink that takes the header when the test says so; the rest immediately. */
function heldSink() {
  const chunks: Buffer[] = [];
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const write = async (chunk: Buffer): Promise<void> => {
    begin();
    await opened;
    chunks.push(Buffer.from(chunk));
  };
  return { sink: { write }, begun, open, bytes: () => Buffer.concat(chunks) };
}

test('a file waits until the read model includes a position', async () => {
  const waited: string[] = [];
  let include: () => void = () => undefined;
  const included = new Promise<void>((resolve) => (include = resolve));
  const waitFor: ExportParts['waitFor'] = async (position, projections) => {
    waited.push(`${position} ${projections.join()}`);
    await included;
    return true;
  };
  const notBefore = await projected.log.head();
  const file = writtenFile({ ...parts, waitFor }, users, { notBefore });
  await eventually(() => waited.length === 1);
  expect(parts.pool.totalCount).toBe(0);
  include();
  expect((await file).written).toMatchObject({ position: notBefore, rows: 2 });
  expect(waited).toEqual([`${notBefore} users`]);
});

test('a file does not wait for a position that the log has lost', async () => {
  const notBefore = String(Number(await projected.log.head()) + 5);
  const waitFor = () => Promise.resolve(false);
  const { written } = await writtenFile({ ...parts, waitFor }, users, { notBefore });
  expect(written).toMatchObject({ position: await projected.log.head(), rows: 2 });
});

test('a file is the state at its position, whatever is written, erased, switched and dropped meanwhile', async () => {
  const before = await projected.log.head();
  const plain = await writtenFile(parts, users, { notBefore: before });
  const held = heldSink();
  const writing = writtenFile(parts, users, { notBefore: before, sink: held.sink });
  await held.begun;
  const ann = personOf(acme, 'ann');
  await projected.given(acme, user('cid', 3), erasureRequested([ann]));
  const rebuilding = new Rebuilding(projected);
  await rebuilding.rebuild(['users']);
  await rebuilding.swap('users');
  const dropping = projected.pool.query('drop schema rm_users_1 cascade');
  held.open();
  const { written } = await writing;
  await dropping;
  expect(held.bytes().equals(plain.bytes)).toBe(true);
  expect(written).toEqual(plain.written);
  await projected.generations.refresh();
  const after = await writtenFile(parts, users, { notBefore: await projected.log.head() });
  expect(idsIn(after.bytes)).toEqual(['bob', 'cid']);
});

test('a person whose erasure is not cleaned yet is in no file', async () => {
  const ann = partyOf(acme, 'ann');
  await projected.given(
    acme,
    rewardGranted('w1', ann, credit(5)),
    rewardGranted('w2', partyOf(acme, 'bob'), credit(6)),
    referralStarted('f1', partyOf(acme, 'bob'), ann),
    rewardGranted('w3', ann, discount(10), { source: 'FRIEND_SIGNUP', referralId: 'f1' }),
  );
  for (const projection of ['users', 'rewards', 'reward-balances', 'referrals'])
    await projected.pool.query(
      `insert into ledger.projection_erasures (projection, generation, account_ref, erasure_id, tenant, mode, persons, next_piece)
       values ($1, 1, $2, 'erasure', 'demo', 'live', $3, '{}')`,
      [projection, acme.accountRef, [ann.person]],
    );
  const cellsOf = async (type: ExportOrder['type']) => {
    const { bytes, written } = await writtenFile(parts, { ...users, type });
    expect(written.rows).toBe(1);
    return readCsv(bytes)[1];
  };
  expect((await cellsOf('USER'))?.[0]).toBe('bob');
  expect((await cellsOf('REWARD'))?.[0]).toBe('w2');
  expect((await cellsOf('REWARD_BALANCE'))?.[0]).toBe('bob');
  expect((await cellsOf('REFERRAL'))?.slice(2, 10)).toEqual([
    'bob',
    'acme',
    '',
    'APPROVED',
    '',
    '',
    '',
    'APPROVED',
  ]);
});

test('an aborted file ends with the reason, also while it waits, and leaves no connection', async () => {
  const abort = new AbortController();
  const reason = new Error('cancelled');
  const held = heldSink();
  const writing = writtenFile(parts, users, { sink: held.sink, signal: abort.signal });
  await held.begun;
  abort.abort(reason);
  held.open();
  await expect(writing).rejects.toBe(reason);
  await eventually(() => parts.pool.totalCount === 0);

  const later = new AbortController();
  const waitFor: ExportParts['waitFor'] = (_position, _projections, _timeoutMs, signal) =>
    new Promise((resolve) => signal?.addEventListener('abort', () => resolve(false)));
  const notBefore = await projected.log.head();
  const run = { notBefore, signal: later.signal };
  const waiting = writtenFile({ ...parts, waitFor }, users, run);
  later.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  expect(parts.pool.totalCount).toBe(0);
});

test.each(['CSV', 'XLSX'] as const)(
  'a %s file whose connection is cut, or whose sink fails, ends with that error',
  async (format) => {
    const held = heldSink();
    const writing = writtenFile(parts, { ...users, format }, { sink: held.sink });
    const outcome = writing.then(
      () => undefined,
      (error: unknown) => error,
    );
    await held.begun;
    await projected.pool.query(`${END_SESSIONS} and xact_start is not null`);
    held.open();
    expect(isUnavailable(await outcome)).toBe(true);

    const full = new Error('no room');
    const sink = { write: () => Promise.reject(full) };
    await expect(writtenFile(parts, { ...users, format }, { sink })).rejects.toBe(full);
    await eventually(() => parts.pool.totalCount === 0);
    expect((await writtenFile(parts, { ...users, format })).written.rows).toBe(2);
  },
);

test('a database that fails before the snapshot ends the file with its error', async () => {
  const away = new Error('away');
  const generations = {
    liveGeneration: jest
      .fn((projection: string) => parts.generations.liveGeneration(projection))
      .mockRejectedValueOnce(away),
  };
  await expect(writtenFile({ ...parts, generations }, users)).rejects.toBe(away);
});

test('more custom fields than a statement has columns are written by the reference, and too many are refused', async () => {
  const fields = (from: number, count: number): Record<string, string | number> =>
    Object.fromEntries(
      Array.from({ length: count }, (_, n) => [`f${from + n}`, n % 2 === 0 ? -n / 4 : `=${n},`]),
    );
  await projected.given(
    acme,
    ...[0, 1, 2, 3].map((n) => user(`many-${n}`, 10 + n, fields(n * 500, 500))),
  );
  const { bytes, written } = await writtenFile(parts, users);
  const [header = [], ...rows] = readCsv(bytes);
  expect(written.rows).toBe(6);
  const names = Object.keys(fields(0, 2_000)).sort();
  expect(header.slice(19)).toEqual(names);
  const values = fields(1_000, 500);
  const cells = names.map((name) => values[name] ?? null);
  const line = stringify([cells], { escape_formulas: true });
  expect(bytes.toString().split('\n')[5]?.endsWith(`,${line.trimEnd()}`)).toBe(true);
  expect(rows.map(([id]) => id)).toEqual(['ann', 'bob', 'many-0', 'many-1', 'many-2', 'many-3']);

  await projected.given(
    acme,
    ...[0, 1, 2].map((n) => user(`more-${n}`, 20 + n, fields(2_000 + n * 5_000, 5_000))),
  );
  await expect(writtenFile(parts, users)).rejects.toThrow(/different custom fields/);
});

test('rows beyond a sheet continue on the next one, below the same header', async () => {
  async function* rows() {
    for (let n = 1; n <= 5; n++) yield await Promise.resolve([n, `row ${n}`]);
  }
  const sheet = { name: 'USER', headers: ['n', 'text'], rows: rows(), cellsTotal: 10 };
  const chunks: Buffer[] = [];
  for await (const chunk of xlsxFile(sheet, 3)) chunks.push(Buffer.from(chunk as Uint8Array));
  const { default: readExcelFile } = await import('read-excel-file/node');
  const sheets = await readExcelFile(Buffer.concat(chunks));
  expect(sheets.map(({ data }) => data)).toEqual([
    [
      ['n', 'text'],
      [1, 'row 1'],
      [2, 'row 2'],
    ],
    [
      ['n', 'text'],
      [3, 'row 3'],
      [4, 'row 4'],
    ],
    [
      ['n', 'text'],
      [5, 'row 5'],
    ],
  ]);
});

test('a file of a tenant has nothing of another one or the other mode', async () => {
  const others = [
    anAccount('acme', { tenant: 'demo', mode: 'test' }),
    anAccount('acme', { tenant: 'else' }),
  ];
  for (const other of others)
    await projected.given(other, accountOpened(other), userIdentified(other, 'x', {}, 5));
  expect(idsIn((await writtenFile(parts, users)).bytes)).toEqual(['ann', 'bob']);
  const test = { ...users, scope: { ...scope, mode: 'test' as const }, format: 'XLSX' as const };
  const [sheet] = await readSheets((await writtenFile(parts, test)).bytes);
  expect(sheet?.data.map(([id]) => id)).toEqual(['id', 'x']);
});
