import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommandLine } from '../../src/cli/run-command-line.js';
import { makeOperatorKey } from '../../src/config/operators.js';
import { operatingSystemUser } from '../../src/operations/audit.js';
import { BUILT_IN_THEME } from '../../src/themes/built-in-theme.js';
import { basic, type Json } from '../support/api-client.js';
import { until } from '../support/projected-ledger.js';
import { recordedOperations } from '../support/recorded-operations.js';
import {
  createStores,
  RunningService,
  type TestStores,
  type TestTenant,
} from '../support/running-service.js';

/** `theme …` beside a running service, and the same over HTTP. */

const WHOLE = { jsOptions: {}, widget: {}, email: {} };
const heading = (text: string) => ({ ...WHOLE, page: { heading: text } });
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as unknown;

let stores: TestStores;
let service: RunningService;
let tenant: TestTenant;
let folder: string;
const key = makeOperatorKey('sam', ['support']);
const environment = { ...process.env };

beforeAll(async () => {
  // Each command listens for the end of its reader.
  process.stdout.setMaxListeners(0);
  folder = await mkdtemp(join(tmpdir(), 'ledger-themes-'));
  const operators = join(folder, 'operators.json');
  await writeFile(operators, JSON.stringify([key.entry]));
  stores = await createStores();
  service = await RunningService.start(stores, { OPERATORS_FILE: operators });
});
beforeEach(async () => {
  tenant = await service.createTenant();
});
afterAll(async () => {
  process.env = environment;
  await service.stop();
  await stores.remove();
  await rm(folder, { recursive: true, force: true });
});
jest.setTimeout(180_000);

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const theme = (...words: readonly string[]): Promise<Ran> => cli('theme', ...words);

async function cli(...words: readonly string[]): Promise<Ran> {
  process.env = {
    ...environment,
    DATABASE_URL: stores.databaseUrl,
    MASTER_KEY_FILE: stores.masterKeyFile,
  };
  const [out, err] = [process.stdout, process.stderr].map((stream) =>
    jest.spyOn(stream, 'write').mockReturnValue(true),
  );
  const written = (spy: typeof out): string =>
    (spy?.mock.calls ?? []).map(([text]) => String(text)).join('');
  try {
    const code = await runCommandLine(words);
    return { code, out: written(out), err: written(err) };
  } finally {
    out?.mockRestore();
    err?.mockRestore();
  }
}

async function document(...words: readonly string[]): Promise<unknown> {
  const { code, out, err } = await theme(...words, '--json');
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out) as unknown;
}

async function fileOf(content: unknown): Promise<string> {
  const file = join(folder, 'values.json');
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

const put = async (content: unknown, ...words: readonly string[]): Promise<unknown> =>
  document('put', tenant.alias, '--file', await fileOf(content), ...words);

/** The service reads what another process wrote a moment later. */
async function isShown(heading: unknown, locale?: string): Promise<void> {
  const path = `/theme${locale === undefined ? '' : `/${locale}`}/variables/instance`;
  let body: Json = {};
  const isThere = async (): Promise<boolean> => {
    ({ body } = await tenant.live.get(path));
    return (body['page'] as Json | undefined)?.['heading'] === heading;
  };
  await until(isThere, 60_000).catch(() => undefined);
  expect(body).toMatchObject({ page: { heading } });
}
const BUILT_IN = BUILT_IN_THEME.page.heading;

async function operate(
  method: string,
  path: string,
  body?: unknown,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const response = await fetch(`${service.origin}/operations/themes/${tenant.alias}${path}`, {
    method,
    headers: {
      authorization: basic(`:${key.key}`),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}

test('put, get, history and rollback change what the tenant is shown', async () => {
  const { alias } = tenant;
  expect(await document('get', alias)).toEqual(BUILT_IN_THEME);
  expect(await document('history', alias)).toEqual([]);
  expect(await put(heading('One'))).toEqual({ locale: null, version: 1, changed: true });
  await isShown('One');
  expect(await put(heading('One'))).toEqual({ locale: null, version: 1, changed: false });
  expect((await tenant.live.put('/theme/variables/instance', heading('Two'))).status).toBe(204);
  expect(await document('get', alias)).toEqual(heading('Two'));
  expect(await document('get', alias, '--version', '1')).toEqual(heading('One'));

  const rolledBack = await document('rollback', alias, '--version', '1');
  expect(rolledBack).toEqual({ locale: null, version: 3, changed: true });
  await isShown('One');
  const by = operatingSystemUser();
  const version = { created: TIME, by, removed: false, restores: null };
  expect(await document('history', alias)).toEqual([
    { ...version, version: 3, restores: 1 },
    { ...version, version: 2, by: expect.not.stringContaining(tenant.liveKey) },
    { ...version, version: 1 },
  ]);
  expect(await document('history', alias, '--limit', '1')).toMatchObject([{ version: 3 }]);
  const table = await theme('history', alias);
  expect([table.code, table.out]).toEqual([0, expect.stringContaining('version 1 again')]);

  const scope = { tenant: alias, mode: 'live' } as const;
  expect(await recordedOperations(service.service.core, scope)).toMatchObject([
    { operation: 'theme put', by: { value: by }, parameters: { version: '1' } },
    { operation: 'theme put', by: { value: by }, parameters: { version: '1' } },
    { operation: 'theme rollback', by: { value: by }, parameters: { restores: '1' } },
  ]);
});

test('a locale and a mode have versions of their own, and a removal is one', async () => {
  const { alias } = tenant;
  await put(heading('Bonjour'), '--locale', 'fr');
  await put(heading('Test'), '--locale', 'fr', '--mode', 'test');
  expect((await tenant.live.call('DELETE', '/theme/fr/variables/instance')).status).toBe(200);
  await isShown(BUILT_IN, 'fr');
  expect(await document('history', alias, '--locale', 'fr')).toMatchObject([
    { version: 2, removed: true },
    { version: 1, removed: false },
  ]);
  const back = await document('rollback', alias, '--locale', 'fr', '--version', '1');
  expect(back).toEqual({ locale: 'fr', version: 3, changed: true });
  await isShown('Bonjour', 'fr');
  const gone = await document('rollback', alias, '--locale', 'fr', '--version', '2');
  expect(gone).toEqual({ locale: 'fr', version: 4, changed: true });
  await isShown(BUILT_IN, 'fr');
  const inTest = ['--locale', 'fr', '--mode', 'test'];
  expect(await document('get', alias, ...inTest)).toMatchObject(heading('Test'));
  expect(await document('history', alias, ...inTest)).toMatchObject([{ version: 1 }]);
});

test('bad input is one clear line and exit 1, and changes nothing', async () => {
  const { alias } = tenant;
  await put(heading('One'));
  const bad = { ...WHOLE, page: { heading: '{{nobody}}', color: 'red' } };
  const file = await fileOf(bad);
  const refused: readonly (readonly [words: readonly string[], line: RegExp])[] = [
    [['get', 'nobody'], /^there is no tenant nobody$/],
    [['get', 'NONE!'], /is no alias/],
    [['get', alias, '--mode', 'tset'], /^--mode must be one of live, test$/],
    [['get', alias, '--locale', 'french'], /^--locale takes a locale such as en or en_US$/],
    [['get', alias, '--version', '0'], /^--version takes a number/],
    [['get', alias, '--version', '9'], /^there is no such version/],
    [['put', alias], /--file/],
    [
      ['put', alias, '--file', join(folder, 'missing.json')],
      /^cannot read .*: there is no such file \(ENOENT\)$/,
    ],
    [['put', alias, '--file', file], /^\/page\/.*; \/page\//],
    [['put', alias, '--file', file, '--locale', 'fr_ca'], /^--locale takes a locale/],
    [['history', alias, '--limit', 'x'], /^--limit takes a number/],
    [['rollback', alias], /--version/],
    [['rollback', alias, '--version', '7'], /^there is no such version/],
    [['rollback', alias, '--version', '1x'], /^--version takes a number/],
    [['rollback', alias, '--version', '1', '--locale', 'de'], /^there is no such version/],
  ];
  for (const [words, line] of refused) {
    const { code, out, err } = await theme(...words);
    expect([words, code, out]).toEqual([words, 1, '']);
    expect(err).toMatch(/^[^\n]+\n$/);
    expect(err.trimEnd()).toMatch(line);
  }
  for (const [content, line] of [
    ['no JSON', /is no JSON$/],
    [[], /must be object$/],
    [{ ...WHOLE, text: 'x'.repeat(256 * 1024) }, /exceed 256 KiB/],
  ] as const) {
    const { code, err } = await theme('put', alias, '--file', await fileOf(content));
    expect([code, err.trimEnd()]).toEqual([1, expect.stringMatching(line)]);
  }
  expect(await document('history', alias)).toMatchObject([{ version: 1 }]);
  await isShown('One');
});

test('operators of support do the same over HTTP, under their names', async () => {
  const first = await operate('PUT', '?locale=fr', heading('Un'));
  expect(first).toEqual({ status: 200, body: { locale: 'fr', version: 1, changed: true } });
  await operate('PUT', '?locale=fr', heading('Deux'));
  const back = await operate('POST', '/rollback', { locale: 'fr', version: 1 });
  expect(back).toEqual({ status: 200, body: { locale: 'fr', version: 3, changed: true } });
  const { body } = await operate('GET', '?locale=fr');
  expect(body).toEqual(await document('get', tenant.alias, '--locale', 'fr'));
  expect(await operate('GET', '?locale=fr&version=2')).toMatchObject({ body: heading('Deux') });
  const { body: history } = await operate('GET', '/history?locale=fr&limit=2');
  expect(history).toMatchObject([
    { version: 3, by: 'sam', restores: 1 },
    { version: 2, by: 'sam', restores: null },
  ]);
  expect(await operate('GET', '?mode=test&locale=fr')).toMatchObject({ body: BUILT_IN_THEME });

  const error = (status: number, apiErrorCode: string, faults?: unknown) => ({
    status,
    body: { apiErrorCode, ...(faults === undefined ? {} : { validationErrors: faults }) },
  });
  const faults = [expect.stringMatching(/^\/page\/color /)];
  const colored = { ...WHOLE, page: { color: 'red' } };
  expect(await operate('PUT', '?locale=fr', colored)).toMatchObject(
    error(400, 'VALIDATION_FAILED', faults),
  );
  expect(await operate('PUT', '?locale=french', WHOLE)).toMatchObject(
    error(400, 'BAD_REQUEST', ['locale takes a locale such as en or en_US']),
  );
  const large = { ...WHOLE, text: 'x'.repeat(256 * 1024) };
  expect(await operate('PUT', '', large)).toMatchObject(error(413, 'PAYLOAD_TOO_LARGE'));
  for (const version of [9, 2 ** 53])
    expect(await operate('POST', '/rollback', { locale: 'fr', version })).toMatchObject(
      version === 9 ? error(404, 'THEME_NOT_FOUND') : error(400, 'BAD_REQUEST'),
    );
  expect(await operate('GET', '?version=0')).toMatchObject(error(400, 'BAD_REQUEST'));
  expect(await operate('GET', '?locale=fr&version=4')).toMatchObject(error(404, 'THEME_NOT_FOUND'));

  const scope = { tenant: tenant.alias, mode: 'live' } as const;
  const recorded = await recordedOperations(service.service.core, scope);
  expect(recorded).toMatchObject([
    { operation: 'theme put', by: { value: 'sam' }, parameters: { locale: 'fr', version: '1' } },
    { operation: 'theme put', by: { value: 'sam' }, parameters: { locale: 'fr', version: '2' } },
    { operation: 'theme rollback', by: { value: 'sam' }, parameters: { restores: '1' } },
  ]);
});

test('a rebuild of the read model finds the same themes', async () => {
  const { alias } = tenant;
  await put(heading('One'));
  await put(heading('Deux'), '--locale', 'fr');
  await put(heading('Zwei'), '--locale', 'de');
  expect((await tenant.live.call('DELETE', '/theme/de/variables/instance')).status).toBe(200);
  await document('rollback', alias, '--locale', 'de', '--version', '1');
  await isShown('Zwei', 'de');

  const projection = async (...words: readonly string[]): Promise<unknown> => {
    const { code, out } = await cli('projection', ...words, '--json');
    expect([words, code]).toEqual([words, 0]);
    return JSON.parse(out) as unknown;
  };
  expect(await projection('status')).toContainEqual(
    expect.objectContaining({ name: 'themes', generation: 1, parked: 0, lastError: null }),
  );
  const [built] = ((await projection('rebuild', 'themes')) as { projections: Json[] }).projections;
  expect(built).toMatchObject({ projection: 'themes', generation: 2, parked: 0, differences: 0 });
  expect(built?.['rows']).toBeGreaterThanOrEqual(3);
  expect(await projection('diff', 'themes')).toMatchObject({ count: 0, differences: [] });
  await projection('swap', 'themes');
  await isShown('One');
  await isShown('Deux', 'fr');
  await isShown('Zwei', 'de');
});
