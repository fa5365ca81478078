import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { loadConfig } from '../../src/config/config.js';
import { readModelsToScrub } from '../support/read-models-to-scrub.js';
import { replayErasures, SubjectKeysAfterReplay } from '../../src/stores/erasure-replay.js';
import { scrub } from '../../src/privacy/scrub.js';
import { startService, type Service } from '../../src/process/service.js';
import { MailServer } from '../mails/support/mail-server.js';
import { ApiClient, basic, path, query, type Json } from '../support/api-client.js';
import { makeDataDir, removeDataDir } from '../harness/service-process.js';
import { eventually, superuserUrl } from '../support/embedded.js';
import { filesWith, formsOf, holds } from '../support/marks.js';
import { makeTenant } from '../harness/webhook-tenants.js';

/**
 * Sixteen people with a mark in everything that is known of them. Half of them are forgotten: no
 * file holds their mark any more. Longer than 5 s: an embedded Postgres of its own is scrubbed, and
 * every byte of its files is searched.
 */

const GONE = 'goqzxne';
const KEPT = 'keqzxpt';
const PEOPLE = 16;

let dataDir: string;
let service: Service;
let api: ApiClient;
let liveKey: string;
let mailServer: MailServer;
beforeAll(async () => {
  dataDir = await makeDataDir();
  mailServer = await MailServer.start();
  const config = loadConfig({
    DATA_DIR: dataDir,
    PORT: '0',
    POSITION_WAIT_MS: '20000',
    OWN_WRITES_WAIT_MS: '20000',
    SMTP_URL: `smtp://127.0.0.1:${mailServer.port}`,
  });
  service = await startService({
    config,
    logger: pino({ level: 'silent' }),
    version: '0.0.0',
    fsync: false,
  });
  const { alias, key } = await makeTenant(service.core, 'shop', true);
  await service.core.tenantCommands.execute(alias, {
    type: 'ChangeMailSettings',
    types: ['WELCOME', 'REWARD_EARNED'],
    now: Date.now(),
  });
  liveKey = key;
  api = new ApiClient(service.url, alias, `:${key}`);
}, 60_000);
afterAll(async () => {
  await service.stop();
  await mailServer.stop();
  await removeDataDir(dataDir);
});

const markOf = (index: number): string => (index % 2 === 0 ? GONE : KEPT);
const codeOf = (index: number): string => `${markOf(index)}${index}`;
const accountOf = (index: number): string => `${markOf(index)} account ${index}@example.com`;
const userOf = (index: number): string => `${markOf(index)} user ${index}@example.com`;
const all = Array.from({ length: PEOPLE }, (_, index) => index);

/** Eight at a time: more would meet the limits of the service. */
async function inTurns<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const waiting = [...items.entries()];
  const results: R[] = [];
  const one = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift())
      results[next[0]] = await work(next[1]);
  };
  await Promise.all(Array.from({ length: 8 }, one));
  return results;
}

async function settled(pathname: string, body: unknown, key?: string): Promise<void> {
  const { status } = await api.post(pathname, body, key === undefined ? {} : { key });
  expect([pathname, status]).toStrictEqual([pathname, 200]);
}

const profileOf = (index: number) => {
  const mark = codeOf(index);
  return {
    email: `${mark}@mail.example`,
    firstName: `First ${mark}`,
    lastName: `Last ${mark}`,
    paymentProviderId: `cus ${mark}`,
    imageUrl: `https://images.example/${mark}.png`,
    referralCode: mark,
    customFields: { note: `Note ${mark}` },
    segments: [`segment ${mark}`],
  };
};
const rewardTextsOf = (index: number) => ({
  name: `For ${codeOf(index)}`,
  description: `Given to ${codeOf(index)}`,
});

/** Every text in the data of a person. */
function textsOf(index: number): readonly string[] {
  const { customFields, segments, ...texts } = profileOf(index);
  const ids = [accountOf(index), userOf(index)];
  return [
    ...ids,
    ...Object.values(texts),
    customFields.note,
    ...segments,
    ...Object.values(rewardTextsOf(index)),
  ];
}

/**
 * Each is referred by the one before the one before, or by the one before: the forgotten refer the
 * others and are referred by them.
 */
async function arrive(index: number): Promise<void> {
  const referral = index < 6 ? {} : { referral: { code: codeOf(index - 6 + (index % 3)) } };
  await settled('/accountsync', {
    id: accountOf(index),
    subscription: { status: 'TRIAL' },
    ...referral,
  });
  await settled(
    '/user',
    { id: userOf(index), accountId: accountOf(index), ...profileOf(index), locale: 'en_CA' },
    `user-${index}`,
  );
  const reward = { type: 'CREDIT', unit: 'POINTS', assignedCredit: 5, ...rewardTextsOf(index) };
  expect(
    (await api.post(`/rewards/account${path(accountOf(index))}/user${path(userOf(index))}`, reward))
      .status,
  ).toBe(201);
  if (index % 4 < 2) {
    const billing = { value: 9, billingIntervalType: 'MONTH', billingIntervalValue: 1 };
    await settled('/accountsync', {
      id: accountOf(index),
      subscription: { status: 'PAID', ...billing },
    });
  }
}

async function shownOf(index: number): Promise<unknown[]> {
  const accountId = accountOf(index);
  const reads = [
    `/account${path(accountId)}`,
    `/account${path(accountId)}/user${path(userOf(index))}`,
    `/code/${codeOf(index)}`,

    `/reward${query({ accountId })}`,
    `/reward/balance${query({ accountId })}`,
    `/referrals${query({ referredAccountId: accountId })}`,
  ];
  return Promise.all(reads.map(async (read) => (await api.get(read)).body));
}

/** A logical dump of every table by the server itself: its package has no pg_dump. */
async function dump(): Promise<Buffer> {
  const folder = await mkdtemp(join(dataDir, 'dump-'));
  return asSuperuser(async (superuser) => {
    const { rows } = await superuser.query<{ name: string }>(
      `select format('%I.%I', nspname, relname) as name from pg_class c join pg_namespace n on n.oid = relnamespace
       where relkind = 'r' and relpersistence <> 't'`,
    );
    const copies = rows.map(({ name }, index) => ({ name, file: join(folder, `${index}.copy`) }));
    await superuser.query(copies.map(({ name, file }) => `copy ${name} to '${file}'`).join(';'));
    return Buffer.concat(await Promise.all(copies.map(({ file }) => readFile(file))));
  }).finally(() => rm(folder, { recursive: true }));
}

async function asSuperuser<T>(work: (superuser: pg.Client) => Promise<T>): Promise<T> {
  const superuser = new pg.Client(await superuserUrl(dataDir, service.core.databaseUrl()));
  await superuser.connect();
  return work(superuser).finally(() => superuser.end());
}

interface ShownExport extends Json {
  readonly id: string;
  readonly status: string;
}

/** Asks for files with all people, and waits until they are listed as completed. */
async function exported(...formats: readonly string[]): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const format of formats)
    ids.push((await api.post<ShownExport>('/export', { type: 'USER', format })).body.id);
  await eventually(async () => {
    const listed = await exportsListed();
    return ids.every((id) => listed.get(id) === 'COMPLETED');
  }, 300_000);
  return ids;
}

async function exportsListed(): Promise<ReadonlyMap<string, string>> {
  const { body } = await api.get<{ data: ShownExport[] }>('/export/history/list');
  return new Map(body.data.map(({ id, status }) => [id, status]));
}

async function download(id: string): Promise<{ status: number; bytes: Buffer }> {
  const response = await fetch(`${service.url}/api/v1/shop/export/${id}/download`, {
    headers: { authorization: basic(`:${liveKey}`) },
  });
  return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
}

const addressesOf = (mark: string): readonly string[] =>
  all.filter((index) => markOf(index) === mark).map((index) => profileOf(index).email);

async function mailsEnded(): Promise<void> {
  await eventually(async () => {
    const { rows } = await service.core.pool.query<{ state: string }>(
      'select state from ledger.mail_deliveries',
    );
    const areEnded = rows.every(({ state }) => ['DELIVERED', 'DEAD'].includes(state));
    return rows.length >= PEOPLE && areEnded;
  }, 300_000);
}

test('erased people are removed from every answer, row and file, and others are unchanged', async () => {
  const { pool, log, keys } = service.core;
  for (const index of all.filter((one) => one % 8 < 2))
    mailServer.manners.set(profileOf(index).email, { code: 550 });
  for (let start = 0; start < PEOPLE; start += 4)
    await inTurns(all.slice(start, start + 4), arrive);
  await mailsEnded();
  // Rows of mails that were sent, and of refused ones, are there and name no person.
  for (const taken of [true, false])
    expect(
      addressesOf(GONE).some(
        (address) =>
          mailServer.offers(address) > 0 && mailServer.takenFor(address).length > 0 === taken,
      ),
    ).toBe(true);
  const files = await exported('CSV', 'XLSX');
  expect(holds((await download(files[0] ?? '')).bytes, GONE)).toBe('plain');
  const { rows: attempts } = await pool.query<{ attempt: string }>(
    'select attempt from ledger.export_files',
  );
  await pool.query('checkpoint');
  await pool.query('analyze');
  const before = await inTurns(
    all.filter((index) => index % 2 === 1),
    shownOf,
  );
  expect(await filesWith(dataDir, formsOf(GONE))).not.toStrictEqual([]);
  const { rows: vault } = await pool.query<{ subject: string; wrapped: Buffer }>(
    'select subject, wrapped from vault.subject_keys',
  );

  await inTurns(
    all.filter((index) => index % 2 === 0),
    async (index) => {
      const account = `/open/account${path(accountOf(index))}`;
      const to =
        index % 4 === 0
          ? account
          : `${account}/user${path(userOf(index))}?doNotTrack=true&preserveEmptyAccount=false`;
      expect((await api.call('DELETE', to)).status).toBe(204);
    },
  );
  for (const id of files) {
    expect((await download(id)).status).toBe(410);
    expect((await exportsListed()).get(id)).toBe('EXPIRED');
  }
  expect((await pool.query('select from ledger.export_chunks')).rows).toStrictEqual([]);
  const [later = ''] = await exported('CSV');
  const { bytes } = await download(later);
  expect([holds(bytes, GONE), holds(bytes, KEPT)]).toStrictEqual([undefined, 'plain']);
  const { totalCount, users } = (
    await api.get<{ totalCount: number; users: Json[] }>('/users?limit=1000')
  ).body;
  expect([totalCount, users.length]).toStrictEqual([PEOPLE / 2, PEOPLE / 2]);
  expect(
    (await api.get<{ totalCount: number }>(`/users${query({ query: GONE })}`)).body.totalCount,
  ).toBe(0);

  expect(await scrub(pool, { readModels: readModelsToScrub(pool, log) })).toMatchObject({
    walRemoved: true,
  });

  const answers = JSON.stringify([users, (await api.get('/referrals?limit=1000')).body]);
  expect([holds(Buffer.from(answers), GONE), holds(Buffer.from(answers), KEPT)]).toStrictEqual([
    undefined,
    'plain',
  ]);
  const { rows: destroyed } = await pool.query<{ subject: string }>(
    'select subject from vault.subject_keys where wrapped is null',
  );
  const gone = new Set(destroyed.map(({ subject }) => subject));
  // Of the people, and of the files with them.
  expect(gone.size).toBe(PEOPLE + files.length);
  expect(attempts.filter(({ attempt }) => !gone.has(attempt))).toStrictEqual([]);
  const oldKeys = vault.filter(({ subject }) => gone.has(subject));
  // The keys that were destroyed as well: with the master key they would open what the log holds.
  expect(
    await filesWith(dataDir, [
      ...formsOf(GONE),
      ...oldKeys.map(({ wrapped }) => ({ form: 'key', bytes: wrapped })),
    ]),
  ).toStrictEqual([]);
  const dumped = await dump();
  expect(holds(dumped, GONE)).toBeUndefined();
  expect(oldKeys.filter(({ wrapped }) => dumped.includes(wrapped.toString('hex')))).toStrictEqual(
    [],
  );
  expect(
    all
      .filter((index) => index % 2 === 1)
      .flatMap(textsOf)
      .filter((text) => !dumped.includes(text)),
  ).toStrictEqual([]);

  const after = await inTurns(
    all.filter((index) => index % 2 === 1),
    shownOf,
  );
  expect(after.map((shown) => [shown[2], shown[3], shown[4]])).toStrictEqual(
    before.map((shown) => [shown[2], shown[3], shown[4]]),
  );
  expect(after.map(([, user]) => (user as Json)['email'])).toStrictEqual(
    before.map(([, user]) => (user as Json)['email']),
  );

  // A copy of the vault from before comes back: nothing is decrypted with its keys.
  await pool.query(
    `update vault.subject_keys k set wrapped = old.wrapped from unnest($1::uuid[], $2::bytea[]) as old (subject, wrapped)
     where k.subject = old.subject`,
    [oldKeys.map(({ subject }) => subject), oldKeys.map(({ wrapped }) => wrapped)],
  );
  await pool.query('delete from vault.erasures_checked');
  const restored = new SubjectKeysAfterReplay(keys, () => replayErasures(pool, log, keys));
  // Those of files too: a copy of the chunks may be anywhere.
  expect([...(await restored.load(gone)).values()].every((key) => key === null)).toBe(true);
  expect(await replayErasures(pool, log, keys)).toStrictEqual({ events: 0, destroyed: 0 });
  expect((await replayErasures(pool, log, keys, { fromStart: true })).destroyed).toBe(0);
}, 600_000);

test('A scrub leaves large tables to pg_repack where its extension is installed.', async () => {
  await asSuperuser((superuser) =>
    superuser.query(`insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
      select 16000, 'pg_repack', extowner, extnamespace, false, '1.5' from pg_extension where extname = 'plpgsql'`),
  );
  const { pool, log } = service.core;
  const lines: string[] = [];
  const readModels = readModelsToScrub(pool, log);
  const progress = (line: string) => void lines.push(line);
  expect((await scrub(pool, { readModels, largeBytes: 0, progress })).tables).toBe(0);
  expect(lines).toContain('left vault.subject_keys to pg_repack');
});
