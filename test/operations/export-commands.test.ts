// Over 5 s: commands without and with services, two of them in a process of their own.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { mkdtemp, readdir, readFile, readlink, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { type ShownExport as Shown } from '../support/expected-answers.js';
import { namesake } from '../support/people.js';
import { runHere, runShipped } from '../support/command-line.js';
import { eventually } from '../support/embedded.js';
import {
  createStores,
  RunningService,
  type TestStores,
  useService,
  useTenant,
} from '../support/running-service.js';

const PUBLIC = { PUBLIC_URL: 'https://share.example' };

/** Answers, and writes no exports. */
const { service: api, stores } = useService(() => ({ ROLES: 'api,projector' }));
const tenant = useTenant({ service: api }, { each: true });
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ledger-exports-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function shown<T = Shown>(of: TestStores, ...words: readonly string[]): Promise<T> {
  const { code, out, err } = await runHere(of, ['export', ...words], PUBLIC);
  expect([code, err]).toEqual([0, expect.any(String)]);
  return JSON.parse(out) as T;
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const idsIn = (csv: Buffer | string): readonly unknown[] =>
  parse<{ id: string }>(csv, { columns: true }).map(({ id }) => id);

test('next to a service, export run waits for the file, and prints the export', async () => {
  const ann = await namesake(tenant.live, 'ann');
  const file = join(folder, 'users.csv');
  const params = { createdSince: '2020-01-01', createdBefore: '4102444800000' };
  const { databaseUrl: DATABASE_URL, masterKeyFile: MASTER_KEY_FILE } = stores;
  // A process of its own: its output is read before its end.
  const running = spawn(
    process.execPath,
    [
      ...`dist/bin/cli.js export run ${tenant.alias} --type USER --out ${file}`.split(' '),
      '--name=all = ours',
      ...Object.entries(params).flatMap(([key, value]) => ['--param', `${key}=${value}`]),
    ],
    { env: { ...process.env, ...PUBLIC, DATABASE_URL, MASTER_KEY_FILE } },
  );
  const out = text(running.stdout);
  let err = '';
  running.stderr.on('data', (bytes: Buffer) => (err += bytes.toString()));
  await eventually(() => err.includes('waiting'));
  const { rows } = await api.service.core.pool.query(
    `select from pg_stat_activity where application_name = 'ledger-cli-exports'`,
  );
  expect(rows).toEqual([]);
  expect(await readdir(folder)).toEqual(['users.csv.part']);
  const worker = await RunningService.start(stores, { ROLES: 'worker' });
  const made = JSON.parse(await out) as Shown;
  await worker.stop();
  const bytes = await readFile(file);
  expect(idsIn(bytes)).toEqual([ann]);
  expect(await readdir(folder)).toEqual(['users.csv']);
  expect(made).toMatchObject({
    type: 'USER',
    format: 'CSV',
    name: 'all = ours',
    params,
    status: 'COMPLETED',
    stats: { rows: 1, bytes: bytes.length, sha256: sha256(bytes) },
  });
  const { status, body } = await tenant.live.get<Shown>(`/export/${made.id}`);
  expect([status, body]).toEqual([200, made]);
  expect(await shown<Shown[]>(stores, 'list', tenant.alias, '--json')).toEqual([made]);
});

test('without a service, export run writes by itself, to a file or to standard output', async () => {
  const own = await createStores();
  try {
    const service = await RunningService.start(own);
    const made = await service.createTenant();
    const [ann, bob] = [await namesake(made.live, 'ann'), await namesake(made.live, 'bob')];
    await service.stop();
    const words = ['run', made.alias, '--type', 'USER', '--out'];
    const streamed = await runShipped(own, ['export', ...words, '-'], PUBLIC);
    expect([streamed.code, idsIn(streamed.out)]).toEqual([0, [ann, bob]]);
    const file = join(folder, 'users.csv');
    const filed = await shown(own, ...words, file);
    const bytes = await readFile(file);
    expect(filed).toMatchObject({ status: 'COMPLETED', stats: { sha256: sha256(bytes) } });
    expect(bytes.toString()).toBe(streamed.out);
    const sheets = join(folder, 'users.zip');
    const zipped = await shown(own, ...words, sheets, '--format', 'XLSX');
    const zip = await readFile(sheets);
    expect(zip.subarray(0, 2).toString()).toBe('PK');
    expect(zipped).toMatchObject({ format: 'XLSX', stats: { rows: 2, sha256: sha256(zip) } });
    // What is no file stays what it is.
    const device = join(folder, 'device');
    await symlink('/dev/full', device);
    const full = await runHere(own, ['export', ...words, device], PUBLIC);
    expect([full.code, full.err]).toEqual([1, expect.stringMatching(/ENOSPC.*\n$/)]);
    expect(await readlink(device)).toBe('/dev/full');
    const other = await shown(own, ...words, file, '--mode', 'test');
    expect([other.stats?.['rows'], idsIn(await readFile(file))]).toEqual([0, []]);
    const list = await runHere(own, ['export', 'list', made.alias]);
    expect(list).toMatchObject({ code: 0 });
    expect(list.out.match(/COMPLETED/g)).toHaveLength(4);
  } finally {
    await own.remove();
  }
});

test.each<[string, readonly string[], RegExp]>([
  ['an unknown type', ['--type', 'USERS'], /--type <type>/],
  ['an unknown format', ['--format', 'PDF'], /--format <format>/],
  ['an unknown mode', ['--mode', 'prod'], /--mode <mode>/],
  ['a param without a value', ['--param', 'createdSince'], /--param takes key=value/],
  ['an unknown param', ['--param', 'since=1'], /^params must hold createdSince, .* only$/m],
  ['a name of two lines', ['--name', 'a\nb'], /--name (?:must have no control|takes at most 255)/],
  ['no target', ['--out', ''], /--out/],
  ['a folder that is not there', ['--out', '/nowhere/users.csv'], /cannot write/],
  ['a target that is a folder', ['--out', tmpdir()], /it is a folder/],
])('%s ends with one line and exit 1, and nothing is asked for', async (_, options, line) => {
  const file = join(folder, 'users.csv');
  const words = ['export', 'run', tenant.alias, '--type', 'USER', '--out', file, ...options];
  const { code, out, err } = await runHere(stores, words, PUBLIC);
  expect([code, out]).toEqual([1, '']);
  expect(err).toMatch(/^[^\n]+\n$/);
  expect(err).toMatch(line);
  expect(await readdir(folder)).toEqual([]);
  expect((await tenant.live.get('/export/history/list')).body['totalCount']).toBe(0);
});
