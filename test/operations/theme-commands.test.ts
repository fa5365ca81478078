// Over 5 s: some forty commands, which each open the stores.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { THEME_BYTES_MAX } from '../../src/domain/theme/theme.decider.js';
import { EventLogUnavailable } from '../../src/event-log/event-log.js';
import { digestOf } from '../../src/foundation/canonical-json.js';
import { operatingSystemUser } from '../../src/operations/audit.js';
import { BUILT_IN_THEME } from '../../src/themes/built-in-theme.js';
import { ThemeChanges } from '../../src/themes/theme-changes.js';
import { useFolder } from '../support/folder.js';
import { type Json } from '../support/api-client.js';
import { eventually } from '../support/embedded.js';
import { metaBy } from '../support/operations.js';
import { recordedOperations } from '../support/recorded-operations.js';
import { FOREIGN_THEME } from '../themes/foreign-theme.js';
import { runHere, type Ran } from '../support/command-line.js';
import { useService, useTenant } from '../support/running-service.js';

const WHOLE = { jsOptions: {}, widget: {}, email: {} };
const heading = (text: string) => ({ ...WHOLE, page: { heading: text } });
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as unknown;

const running = useService();
const tenant = useTenant(running, { each: true });
const folder = useFolder();

jest.setTimeout(180_000);

const theme = (...words: readonly string[]): Promise<Ran> => cli('theme', ...words);

const cli = (...words: readonly string[]): Promise<Ran> => runHere(running.stores, words);

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
  await eventually(isThere).catch(() => undefined);
  expect(body).toMatchObject({ page: { heading } });
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

  expect(await recordedOperations(running.service.service.core, tenant.scope)).toMatchObject([
    { operation: 'theme put', by: { value: by }, parameters: { version: '1' } },
    { operation: 'theme put', by: { value: by }, parameters: { version: '1' } },
    { operation: 'theme rollback', by: { value: by }, parameters: { restores: '1' } },
  ]);
});

test('a theme of another service is published; its preview names what a mail leaves out', async () => {
  const { alias } = tenant;
  expect(await put(FOREIGN_THEME)).toMatchObject({ version: 1, changed: true });
  const preview = await theme('preview', alias, '--type', 'REFERRAL_CONVERTED');
  expect([preview.code, preview.out]).toEqual([0, expect.stringContaining('<title>You earned')]);
  expect(preview.err).toMatch(
    /^The mail leaves out unknown names: format-reward, assets, [^\n]+\n$/,
  );
  expect(await document('preview', alias, '--type', 'WELCOME')).toMatchObject({ type: 'WELCOME' });
});

test('bad input is one clear line and exit 1, and changes nothing', async () => {
  const { alias } = tenant;
  await put(heading('One'));
  const bad = { ...WHOLE, page: { heading: '{{> missing}}', color: 'red' } };
  const file = await fileOf(bad);
  const refused: readonly (readonly [words: readonly string[], line: RegExp])[] = [
    [['get', 'missing'], /^there is no tenant missing$/],
    [['get', alias, '--locale', 'french'], /^--locale takes a locale such as en or en_US$/],
    [['get', alias, '--version', '0'], /^--version must be at least 1$/],
    [['get', alias, '--version', '9'], /^there is no such version/],
    [['put', alias], /--file/],
    [['put', alias, '--file', file], /^\/page\/.*; \/page\//],
    [['put', alias, '--file', file, '--locale', 'fr_ca'], /^--locale takes a locale/],
    [['rollback', alias], /--version/],
    [['rollback', alias, '--version', '3000000000'], /^there is no such version/],
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

test('Changes of two processes to one locale follow each other, and none is lost.', async () => {
  const { core } = running.service.service;
  const { themeChanges, themeRows, commands } = core;
  const other = new ThemeChanges(commands, themeRows);
  const patches = Array.from({ length: 8 }, (_, index) =>
    (index % 2 === 0 ? themeChanges : other).patch(metaBy('sam', core, tenant.scope), 'fr', {
      page: { [`own${index}`]: index },
    }),
  );
  const versions = (await Promise.all(patches)).map((outcome) =>
    'refused' in outcome ? outcome.refused : outcome.version,
  );
  expect(versions.sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  const own = await themeRows.ownValues(tenant.scope, ['fr']);
  expect(Object.keys(own.get('fr')?.['page'] as Json)).toHaveLength(8);

  // Of two editors who saw the same version one is refused.
  const expected = { expected: 8 };
  const outcomes = await Promise.all(
    ['a', 'b'].map((text) =>
      themeChanges.put(metaBy('sam', core, tenant.scope), 'fr', heading(text), expected),
    ),
  );
  expect(outcomes.filter((outcome) => 'refused' in outcome)).toMatchObject([
    { refused: 'CHANGED_MEANWHILE' },
  ]);
});

test('A change that an outage of the log left without its audit event is recorded later, once.', async () => {
  const { core } = running.service.service;
  const { themeChanges, themeRows, log, names } = core;
  const away = () => Promise.reject(new EventLogUnavailable('away'));
  const meta = metaBy('sam', core, tenant.scope);
  const stopped = new ThemeChanges({ execute: away } as never, themeRows);
  await expect(stopped.put(meta, 'it', heading('Ciao'))).rejects.toThrow('away');
  expect(await themeRows.version(tenant.scope, 'it')).toMatchObject({ version: 1, position: null });

  await Promise.all([themeChanges.recordMissing(), themeChanges.recordMissing()]);
  const recorded = await themeRows.version(tenant.scope, 'it');
  const events: unknown[] = [];
  const day = new Date(recorded?.at ?? 0).toISOString().slice(0, 10);
  for await (const { type, position, data } of log.readStream(names.themeStream(tenant.scope, day)))
    events.push([type, position, JSON.parse(data)]);
  const digest = digestOf(heading('Ciao'));
  expect(events).toEqual([
    [
      'ThemePublished',
      recorded?.position,
      { locale: 'it', version: 1, by: null, digest, restores: null },
    ],
  ]);
  // The same command again finds its row.
  expect(await themeChanges.put(meta, 'it', heading('Ciao'))).toMatchObject({
    version: 1,
    changed: true,
    replayed: true,
    position: recorded?.position,
  });
});

test('Values that are too large are refused.', async () => {
  const { themeChanges } = running.service.service.core;
  const large = { ours: 'x'.repeat(THEME_BYTES_MAX) };
  expect(await themeChanges.refusalOf(large)).toEqual({ refused: 'THEME_TOO_LARGE' });
});

test('A removal is a version, and only the newest 1,000 versions are kept.', async () => {
  const { core } = running.service.service;
  const { themeChanges, themeRows, pool } = core;
  const change = () => metaBy('sam', core, tenant.scope);
  await themeChanges.put(change(), 'de', heading('A'));
  expect(await themeChanges.remove(change(), 'de')).toMatchObject({ version: 2, changed: true });
  expect(await themeChanges.remove(change(), 'de')).toEqual({ refused: 'THEME_NOT_FOUND' });
  const absent = { locale: 'de', restores: 7, by: { subject: 'sam', value: 'sam' } };
  expect(await themeChanges.restore(change(), absent)).toEqual({
    refused: 'THEME_VERSION_NOT_FOUND',
  });
  expect(await document('history', tenant.alias, '--locale', 'de')).toMatchObject([
    { version: 2, removed: true },
    { version: 1, removed: false },
  ]);
  expect(await themeRows.versions(tenant.scope)).toEqual(new Map());
  await pool.query('update ledger.themes set version = version + 999 where tenant = $1', [
    tenant.alias,
  ]);
  expect(await themeChanges.put(change(), 'de', heading('B'))).toMatchObject({ version: 1002 });
  const kept = await themeRows.history(tenant.scope, 'de', 10);
  expect(kept.map(({ version }) => version)).toEqual([1002, 1001, 1000]);
  await pool.query(
    'update ledger.themes set version = version + 1000 where version = 1002 and tenant = $1',
    [tenant.alias],
  );
  await themeChanges.put(change(), 'de', heading('C'));
  expect((await themeRows.history(tenant.scope, 'de', 10)).map(({ version }) => version)).toEqual([
    2003, 2002,
  ]);
});
