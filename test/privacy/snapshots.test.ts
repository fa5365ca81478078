import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { lengthenAccount } from '../harness/long-account.js';
import { AccountCommandEnvelope } from '../../src/command-handling/commands.js';
import { loadConfig } from '../../src/config/config.js';
import { openCore, type Core } from '../../src/stores/core.js';
import type { AccountRequest } from '../../src/domain/account/requests/account-request.js';
import { DEFAULT_PROGRAM } from '../../src/domain/tenant/program-document.js';
import { eventually } from '../support/embedded.js';
import { createStores, type TestStores } from '../support/running-service.js';

/** Snapshots of a long account in the real stores: who finds them, and when they go. */

const scope = { tenant: 'demo', mode: 'live' } as const;
const LONG = 2_200;

let stores: TestStores;
let core: Core;
let stream: string;
let ref: string;

const newCore = (): Promise<Core> =>
  openCore({
    config: loadConfig({
      DATABASE_URL: stores.databaseUrl,
      MASTER_KEY_FILE: stores.masterKeyFile,
    }),
    logger: pino({ level: 'silent' }),
    actor: { kind: 'system', id: 'test' },
    applicationName: 'test',
  });

async function send(request: AccountRequest): Promise<void> {
  const id = randomUUID();
  const ids = { commandId: id, correlationId: id, causationId: id };
  const actor = { kind: 'api-key', id: 'k' } as const;
  const envelope = new AccountCommandEnvelope(
    { scope, ...ids, actor, idempotency: null },
    ref,
    request,
  );
  expect(await core.commands.execute(envelope)).toMatchObject({ kind: 'accepted' });
}

interface Shown {
  readonly subjects: readonly string[];
  readonly revision: string;
}

async function snapshots(): Promise<readonly Shown[]> {
  const { rows } = await core.pool.query<Shown>(
    'select subjects, revision::text from ledger.stream_snapshots',
  );
  return rows;
}

async function user(userId: string): Promise<void> {
  const none = { changes: {}, referralCode: undefined, referralCodes: {}, codes: [] };
  await send({ type: 'UpsertUser', userId, ...none, paymentProviderId: undefined });
}

beforeAll(async () => {
  stores = await createStores();
  core = await newCore();
  const program = DEFAULT_PROGRAM;
  const tenant = { alias: 'demo', programType: 'API_ONLY', openEndpoints: false, program } as const;
  await core.tenantCommands.create(tenant);
  ref = core.names.accountRef(scope, 'acme');
  stream = core.names.accountStream(scope, ref);
  const subscription = { status: 'TRIAL' } as const;
  const account = { accountId: 'acme', subscription, currency: undefined, codes: [] };
  await send({ type: 'SyncAccount', ...account });
  for (const userId of ['ann', 'bob']) await user(userId);
  const value = {
    type: 'CREDIT',
    unit: 'CENTS',
    assignedCredit: 1_000_000,
    currency: null,
  } as const;
  const terms = { name: null, description: null, cancellable: true };
  const dates = { dateScheduledFor: null, dateExpires: null };
  await send({ type: 'CreateReward', userId: 'ann', value, ...terms, ...dates });
  await lengthenAccount(core, scope, ref, LONG);
});
afterAll(async () => {
  await core.close();
  await stores.remove();
});

test('the first long fold writes one, which another process goes on from', async () => {
  const { state } = await core.streams.accounts.load(stream);
  await eventually(async () => (await snapshots()).length === 1);
  expect(await snapshots()).toMatchObject([{ revision: String(LONG - 1) }]);
  const other = await newCore();
  try {
    expect((await other.streams.accounts.load(stream)).state).toEqual(state);
    await user('cid');
    const reloaded = await other.streams.accounts.load(stream);
    expect(reloaded.revision).toBeGreaterThan(BigInt(LONG));
  } finally {
    await other.close();
  }
});

test('it goes with the first person of it who is forgotten', async () => {
  const [before] = await snapshots();
  await send({ type: 'ForgetUser', userId: 'bob', doNotTrack: false, preserveEmptyAccount: true });
  expect(await snapshots()).toEqual([]);
  core.streams.accounts.forget(stream);
  await core.streams.accounts.load(stream);
  await eventually(async () => (await snapshots()).length === 1);
  const [after] = await snapshots();
  expect(after?.subjects).toHaveLength(before?.subjects.length ?? 0);
  expect(after?.subjects).not.toEqual(before?.subjects);
});
