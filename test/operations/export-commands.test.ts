import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, readlink, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import type { Json } from '../support/api-client.js';
import { until } from '../support/projected-ledger.js';
import {
  createStores,
  personal,
  RunningService,
  type TestStores,
  type TestTenant,
} from '../support/running-service.js';

/** `export …` as it ships: with the service, beside one that writes no exports, and without one. */

const WITHIN_MS = 200_000;
jest.setTimeout(300_000);

let stores: TestStores;
/** Answers, and writes no exports. */
let api: RunningService;
let tenant: TestTenant;
let folder: string;

beforeAll(async () => {
  stores = await createStores();
  api = await RunningService.start(stores, { ROLES: 'api,projector' });
});
beforeEach(async () => {
  tenant = await api.createTenant();
  folder = await mkdtemp(join(tmpdir(), 'ledger-exports-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));
afterAll(async () => {
  await api.stop();
  await stores.remove();
});

interface Shown extends Json {
  readonly id: string;
  readonly status: string;
  readonly stats: Readonly<Record<string, unknown>> | null;
}

class Command {
  out = Buffer.alloc(0);
  err = '';
  private readonly child: ChildProcess;
  private readonly ended: Promise<unknown[]>;

  constructor(words: readonly string[], { masterKeyFile, databaseUrl }: TestStores = stores) {
    this.child = spawn(process.execPath, ['dist/bin/cli.js', 'export', ...words], {
      env: {
        ...process.env,
        DATABASE_URL: databaseUrl,
        MASTER_KEY_FILE: masterKeyFile,
        PUBLIC_URL: 'https://share.example',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout?.on('data', (bytes: Buffer) => (this.out = Buffer.concat([this.out, bytes])));
    this.child.stderr?.on('data', (text: Buffer) => (this.err += text.toString()));
    this.ended = once(this.child, 'close');
  }

  async until(condition: () => boolean): Promise<void> {
    const isOver = (): boolean => this.child.exitCode !== null || this.child.signalCode !== null;
    await until(() => Promise.resolve(condition() || isOver()), WITHIN_MS);
    if (!condition()) throw new Error(`it ended: ${this.err}`);
  }

  async code(): Promise<unknown> {
    return (await this.ended)[0];
  }

  /** What it printed, when it succeeded. */
  async json<T = Shown>(): Promise<T> {
    expect([await this.code(), this.err]).toEqual([0, expect.any(String)]);
    return JSON.parse(this.out.toString()) as T;
  }

  /** One line and exit 1. */
  async refused(line: RegExp): Promise<void> {
    expect([await this.code(), this.out.toString()]).toEqual([1, '']);
    expect(this.err).toMatch(/^[^\n]+\n$/);
    expect(this.err).toMatch(line);
  }
}

async function user({ live }: TestTenant, word: string): Promise<string> {
  const id = personal(word);
  const { status } = await live.post(`/open/account/${id}/user/${id}`, { id, accountId: id });
  expect(status).toBe(201);
  return id;
}

/** Meanwhile a process writes what waits. */
async function withWorker<T>(work: () => Promise<T>): Promise<T> {
  const worker = await RunningService.start(stores, { ROLES: 'worker' });
  try {
    return await work();
  } finally {
    await worker.stop();
  }
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const listed = (...words: readonly string[]): Promise<Shown[]> =>
  new Command(['list', tenant.alias, '--json', ...words]).json<Shown[]>();
const idsIn = (csv: Buffer): readonly unknown[] =>
  parse<{ id: string }>(csv, { columns: true }).map(({ id }) => id);

test('beside a service, run waits for the file, and names what was asked for', async () => {
  const ann = await user(tenant, 'ann');
  const file = join(folder, 'users.csv');
  const params = { createdSince: '2020-01-01', createdBefore: '4102444800000' };
  const words = ['run', tenant.alias, '--type', 'USER', '--name', 'all = ours', '--out', file];
  const running = new Command([
    ...words,
    ...Object.entries(params).flatMap(([key, value]) => ['--param', `${key}=${value}`]),
  ]);
  await running.until(() => running.err.includes('waiting'));
  const { rows } = await api.service.core.pool.query(
    `select from pg_stat_activity where application_name = 'ledger-cli-exports'`,
  );
  expect(rows).toEqual([]);
  expect(await readdir(folder)).toEqual(['users.csv.part']);
  const shown = await withWorker(() => running.json());
  const bytes = await readFile(file);
  expect(idsIn(bytes)).toEqual([ann]);
  expect(await readdir(folder)).toEqual(['users.csv']);
  expect(shown).toMatchObject({
    type: 'USER',
    format: 'CSV',
    name: 'all = ours',
    params,
    status: 'COMPLETED',
    stats: { rows: 1, bytes: bytes.length, sha256: sha256(bytes) },
  });
  const { status, body } = await tenant.live.get<Shown>(`/export/${shown.id}`);
  expect([status, body]).toEqual([200, shown]);
  expect(await listed()).toEqual([shown]);
});

test('without a service, run writes by itself, to a file or to standard output', async () => {
  const own = await createStores();
  try {
    const service = await RunningService.start(own);
    const made = await service.createTenant();
    const [ann, bob] = [await user(made, 'ann'), await user(made, 'bob')];
    await service.stop();
    const run = (...words: readonly string[]) =>
      new Command(['run', made.alias, '--type', 'USER', ...words], own);
    const streamed = run('--out', '-');
    expect([await streamed.code(), idsIn(streamed.out)]).toEqual([0, [ann, bob]]);
    const file = join(folder, 'users.csv');
    const filed = await run('--out', file).json();
    expect(filed).toMatchObject({ status: 'COMPLETED', stats: { sha256: sha256(streamed.out) } });
    expect(await readFile(file)).toEqual(streamed.out);
    const sheets = join(folder, 'users.zip');
    const zipped = await run('--format', 'XLSX', '--out', sheets).json();
    const zip = await readFile(sheets);
    expect(zip.subarray(0, 2).toString()).toBe('PK');
    expect(zipped).toMatchObject({ format: 'XLSX', stats: { rows: 2, sha256: sha256(zip) } });
    // What is no file stays what it is.
    const device = join(folder, 'device');
    await symlink('/dev/full', device);
    const full = run('--out', device);
    expect([await full.code(), full.err]).toEqual([1, expect.stringMatching(/ENOSPC.*\n$/)]);
    expect(await readlink(device)).toBe('/dev/full');
    const other = await run('--mode', 'test', '--out', file).json();
    expect([other.stats?.['rows'], idsIn(await readFile(file))]).toEqual([0, []]);
    const list = new Command(['list', made.alias], own);
    expect(await list.code()).toBe(0);
    expect(list.out.toString().match(/COMPLETED/g)).toHaveLength(4);
  } finally {
    await own.remove();
  }
});

test.each<[string, readonly string[], RegExp]>([
  ['an unknown type', ['--type', 'USERS'], /--type must be one of/],
  ['an unknown format', ['--format', 'PDF'], /--format must be one of/],
  ['an unknown mode', ['--mode', 'prod'], /--mode must be one of/],
  ['a param without a value', ['--param', 'createdSince'], /--param takes key=value/],
  ['an unknown param', ['--param', 'since=1'], /^params must hold createdSince, .* only$/m],
  ['a date that is none', ['--param', 'createdSince=2026-02-30'], /createdSince/],
  ['a name of two lines', ['--name', 'a\nb'], /--name must be/],
  ['a long name', ['--name', 'x'.repeat(256)], /--name must be/],
  ['no target', ['--out', ''], /--out/],
  ['a folder that is not there', ['--out', '/nowhere/users.csv'], /cannot write/],
  ['a target that is a folder', ['--out', tmpdir()], /it is a folder/],
])('%s ends with one line and exit 1, and nothing is asked for', async (_, options, line) => {
  const file = join(folder, 'users.csv');
  await new Command(['run', tenant.alias, '--type', 'USER', '--out', file, ...options]).refused(
    line,
  );
  expect(await readdir(folder)).toEqual([]);
  expect((await tenant.live.get('/export/history/list')).body['totalCount']).toBe(0);
});
