import { openImportFile } from '../../src/imports/files/import-file.js';
import type {
  ControlFigures,
  ImportKind,
  ImportRow,
  ImportsRow,
  RowOutcome,
} from '../../src/imports/rows/import-rows.js';
import { runImport, type ImportWork } from '../../src/imports/runs/run-import.js';

interface Done {
  readonly kind?: ImportKind;
  readonly importRow?: ImportsRow;
  readonly work?: Partial<ImportWork>;
}

async function ran(content: string, { kind = 'users', importRow, work }: Done = {}) {
  const rejected: string[] = [];
  const ids: string[] = [];
  const bytes = async function* () {
    yield await Promise.resolve(Buffer.from(content));
  };
  const ended = await runImport({
    file: await openImportFile(kind, new Map(), bytes),
    open: () => Promise.resolve(importRow ?? (() => Promise.resolve({ kind: 'imported' }))),
    numberOf: () => Promise.resolve(1),
    areFirst: (values) => {
      const all = values.map((one) => JSON.stringify(one));
      return Promise.resolve(all.map((one, index) => all.indexOf(one) === index));
    },
    dryRun: false,
    rejected: (line) => Promise.resolve(void rejected.push(line)),
    ids: (line) => Promise.resolve(void ids.push(line)),
    checked: () => undefined,
    onProgress: () => undefined,
    pauseForRequests: () => Promise.resolve(),
    signal: new AbortController().signal,
    ...work,
  });
  return { ...ended, rejected, ids };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const users = (count: number, accounts: number): string =>
  `id,accountId\n${Array.from({ length: count }, (_, n) => `u${n},a${n % accounts}\n`).join('')}`;

test('rows of one account are imported in their order, those of others concurrently', async () => {
  const order = new Map<string, string[]>();
  let atWork = 0;
  let most = 0;
  const importRow = async (row: ImportRow): Promise<RowOutcome> => {
    const { accountId = '', id = '' } = row as { accountId?: string; id?: string };
    most = Math.max(most, (atWork += 1));
    for (let turns = Number(id.slice(1)) % 3; turns >= 0; turns -= 1) await turn();
    order.set(accountId, [...(order.get(accountId) ?? []), id]);
    atWork -= 1;
    return { kind: 'imported' };
  };
  const { answer } = await ran(users(200, 20), { importRow });
  expect(answer).toMatchObject({ rows: 200, imported: 200, control: [] });
  for (const [account, ids] of order)
    expect(ids).toEqual(
      Array.from({ length: 10 }, (_, n) => `u${Number(account.slice(1)) + 20 * n}`),
    );
  expect(most).toBeGreaterThan(8);
  expect(most).toBeLessThanOrEqual(64);
});

test('rejected rows are written in the order of the file, whichever is decided first', async () => {
  const importRow = async (row: ImportRow): Promise<RowOutcome> => {
    if (row['id'] === 'u0') for (let turns = 0; turns < 20; turns += 1) await turn();
    return { kind: 'rejected', reason: `USER_EXISTS: ${String(row['id'])}` };
  };
  const { answer, rejected } = await ran(users(3, 3), { importRow });
  expect(rejected).toEqual([
    'u0,a0,2,USER_EXISTS: u0\n',
    'u1,a1,3,USER_EXISTS: u1\n',
    'u2,a2,4,USER_EXISTS: u2\n',
  ]);
  expect(answer).toMatchObject({ rows: 3, rejected: 3 });
});

test('codes of all rows are noted before the first row is imported', async () => {
  const noted: boolean[] = [];
  const open: ImportWork['open'] = (codes) => {
    noted.push(...['x', 'Y', 'Z'].map((code) => codes.has(code)));
    return Promise.resolve(() => Promise.resolve({ kind: 'imported' }));
  };
  await ran('id,accountId,referralCode\nu,a,X\nv,b,Y\n', { work: { open } });
  expect(noted).toEqual([true, true, false]);
});

test('a fault at the end of the file is found before the ledger is opened', async () => {
  const open = jest.fn();
  const importing = ran('id,accountId\nu,a\n"v,a\n', { work: { open } });
  await expect(importing).rejects.toThrow('a quote that is not closed');
  expect(open).not.toHaveBeenCalled();
});

test('a stopped import reports the number of imported rows and begins no further ones', async () => {
  const stopping = new AbortController();
  const importRow = (): Promise<RowOutcome> => {
    stopping.abort();
    return Promise.resolve({ kind: 'imported' });
  };
  const ended = await ran(users(500, 500), { importRow, work: { signal: stopping.signal } });
  expect(ended.isStopped).toBe(true);
  expect(ended.answer.rows).toBeLessThanOrEqual(65);
});

test('an import ends with the error of a row after the rows at work have ended', async () => {
  let atWork = 0;
  const importRow = async ({ id }: ImportRow): Promise<RowOutcome> => {
    atWork += 1;
    if (id !== 'u3') await turn();
    atWork -= 1;
    if (id === 'u3') throw new Error('the store is away');
    return { kind: 'imported' };
  };
  await expect(ran(users(100, 100), { importRow })).rejects.toThrow('the store is away');
  expect(atWork).toBe(0);
});

const NOW = Date.UTC(2026, 0, 1);

interface Figures {
  readonly unit?: string;
  readonly amount?: number;
  readonly redeemed?: number;
}

const recorded = ({ unit = '', amount = 0, redeemed = 0 }: Figures): ControlFigures => ({
  unit,
  rewards: 1,
  assigned: amount,
  redeemed,
  available: amount - redeemed,
  at: NOW,
});

const HEADER =
  'type,accountId,userId,id,unit,amount,redeemed,dateScheduledFor,dateExpires,dateCancelled';

test('control figures add up what is not rejected, by unit, on both sides', async () => {
  const max = Number.MAX_SAFE_INTEGER;
  const rows = [
    `CREDIT,a,u,1,CENTS,500,200,,,`,
    `CREDIT,a,u,2,cents,300,0,2027-01-01,,`,
    `CREDIT,b,u,3,CENTS,100,0,,2025-01-01,`,
    `CREDIT,b,u,4,CENTS,100,0,,,2025-01-01`,
    `CREDIT,b,u,5,CENTS,7,,,,`,
    `PCT_DISCOUNT,b,u,6,%,7,,,,`,
    `CREDIT,c,u,7,BIG,${max},,,,`,
    `CREDIT,d,u,8,BIG,${max},,,,`,
  ];
  const importRow = (row: ImportRow): Promise<RowOutcome> => {
    if (row['id'] === '5') return Promise.resolve({ kind: 'rejected', reason: 'BAD_REQUEST: no' });
    if (row['type'] !== 'CREDIT') return Promise.resolve({ kind: 'imported', ledgerId: 'x' });
    const control = recorded(row);
    return Promise.resolve({
      kind: row['id'] === '1' ? 'unchanged' : 'imported',
      ledgerId: `l${String(row['id'])}`,
      control,
    });
  };
  const { answer, ids } = await ran([HEADER, ...rows].join('\n'), { kind: 'rewards', importRow });
  const big = {
    rewards: 2,
    assigned: '18014398509481982',
    redeemed: 0,
    available: '18014398509481982',
  };
  expect(answer).toEqual({
    kind: 'rewards',
    rows: 8,
    imported: 6,
    unchanged: 1,
    rejected: 1,
    control: [
      { unit: 'BIG', file: big, ledger: big },
      {
        unit: 'CENTS',
        file: { rewards: 4, assigned: 1000, redeemed: 200, available: 300 },
        ledger: { rewards: 4, assigned: 1000, redeemed: 200, available: 800 },
      },
    ],
  });
  expect(ids[0]).toBe('rewards,1,l1\n');
  expect(ids).toHaveLength(7);
});

test('a row that repeats an earlier one of its file is no other reward in the control figures', async () => {
  const rows = [`CREDIT,a,u,1,CENTS,500,200,,,`, `CREDIT,a,u,1,CENTS,500,200,,,`];
  const seen = new Set<unknown>();
  const importRow = (row: ImportRow): Promise<RowOutcome> => {
    const kind = seen.has(row['id']) ? 'unchanged' : 'imported';
    seen.add(row['id']);
    return Promise.resolve({ kind, control: recorded(row) });
  };
  const { answer } = await ran([HEADER, ...rows].join('\n'), { kind: 'rewards', importRow });
  const once = { rewards: 1, assigned: 500, redeemed: 200, available: 300 };
  expect(answer).toMatchObject({ imported: 1, unchanged: 1 });
  expect(answer.control).toEqual([{ unit: 'CENTS', file: once, ledger: once }]);
});

test('rewards without an id are equal by what is imported of them, and not by the spaces around it', async () => {
  const numbered: object[] = [];
  const numberOf = (values: object): Promise<number> => Promise.resolve(numbered.push(values));
  const rows = ['CREDIT,a,u,,CENTS,5,,,,', 'CREDIT,a,u,, CENTS ,5,,,,', 'CREDIT,a,u,,,5,,,,'];
  await ran([HEADER, ...rows].join('\n'), { kind: 'rewards', work: { numberOf } });
  // The third row gives no unit and is rejected: it has no number.
  expect(numbered).toHaveLength(2);
  expect(numbered[1]).toEqual(numbered[0]);
});

test('a dry run writes no ids', async () => {
  const importRow = (): Promise<RowOutcome> => Promise.resolve({ kind: 'imported', ledgerId: 'l' });
  const file = 'type,accountId,userId,id\nCREDIT,a,u,1\n';
  const { ids } = await ran(file, { kind: 'rewards', importRow, work: { dryRun: true } });
  expect(ids).toEqual([]);
});
