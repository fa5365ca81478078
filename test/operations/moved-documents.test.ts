import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { loadConfig } from '../../src/config/config.js';
import { openCore, type Core } from '../../src/core/core.js';
import { AccountCommandEnvelope } from '../../src/command-handling/commands.js';
import type { AccountRequest } from '../../src/domain/account/requests/account-request.js';
import { DEFAULT_PROGRAM } from '../../src/domain/tenant/program-document.js';
import type { DigestDocument } from '../../src/chain/digest-document.js';
import { openLedgerDatabase } from '../../src/core/ledger-database.js';
import { openLogAt, parseLogAddress } from '../../src/operations/log/log-address.js';
import type { LogMoveResult } from '../../src/operations/log/log-move.js';
import { eventually } from '../support/embedded.js';
import {
  freshNamespace,
  startEventStore,
  type EventStoreUnderTest,
} from '../support/event-store.js';
import { createStores, type TestStores } from '../support/running-service.js';
import {
  adjustLedger,
  copyWholeLog,
  done,
  exportLedger,
  ledgerDigest,
  reconcileLedger,
  statementOfAccount,
  verifyLedger,
} from '../support/operations.js';

/**
 * What finance printed before the log moved to another store is printed again after it, to the
 * byte.
 */

const logger = pino({ level: 'silent' });
const SCOPE = { tenant: 'acme', mode: 'live' } as const;
const OWNER = { accountId: 'a', userId: 'ann' };

let store: EventStoreUnderTest;
let stores: TestStores;
const namespace = freshNamespace();
beforeAll(async () => {
  [store, stores] = await Promise.all([startEventStore(), createStores()]);
});
afterAll(async () => {
  await stores.remove();
  await store.stop();
});

const configuration = (environment: Readonly<Record<string, string>>) =>
  loadConfig({
    DATABASE_URL: stores.databaseUrl,
    MASTER_KEY_FILE: stores.masterKeyFile,
    EVENT_STORE_NAMESPACE: namespace,
    ...environment,
  });

/** On the log in Postgres, or on EventStoreDB; moves over when the log was copied there. */
async function withCoreOn<T>(
  place: 'postgres' | 'eventstoredb',
  work: (core: Core) => Promise<T>,
): Promise<T> {
  const config = configuration(place === 'postgres' ? {} : { EVENT_STORE_URL: store.url });
  const core = await openCore({
    config,
    logger,
    actor: { kind: 'system', id: 'test' },
    applicationName: 'test',
    projectors: [],
  });
  try {
    return await work(core);
  } finally {
    await core.close();
  }
}

async function copy(from: string, to: string): Promise<LogMoveResult> {
  const config = configuration({});
  const database = await openLedgerDatabase({ config, logger, applicationName: 'test' });
  const surroundings = { config, database, logger };
  const source = done(await openLogAt(done(parseLogAddress('from', from)), false, surroundings));
  const target = done(await openLogAt(done(parseLogAddress('to', to)), true, surroundings));
  try {
    const ends = { database, source: source.log, target: target.log, whileRunning: false };
    return await copyWholeLog({ ...ends, signal: new AbortController().signal, awayMsMax: 20_000 });
  } finally {
    await source.close();
    await target.close();
    await database.close();
  }
}

async function execute(core: Core, request: AccountRequest): Promise<void> {
  const meta = {
    scope: SCOPE,
    commandId: randomUUID(),
    correlationId: randomUUID(),
    causationId: 'test',
    idempotency: null,
  };
  const account = core.names.accountRef(SCOPE, OWNER.accountId);
  const actor = { kind: 'api-key' as const, id: 'k' };
  const command = new AccountCommandEnvelope({ ...meta, actor }, account, request);
  const outcome = await core.commands.execute(command);
  expect(outcome.kind).toBe('accepted');
}

async function adjust(core: Core, amount: number): Promise<string> {
  const request = { ...OWNER, unit: 'CENTS', amount, reason: 'r', by: 'Sam', approvedBy: 'Ada' };
  return (await adjustLedger(core, SCOPE, request)).position ?? '';
}

/**
 * The next event has a later recording time than everything so far, and than the time that is
 * returned.
 */
async function moment(): Promise<string> {
  const now = Date.now() + 2;
  await eventually(() => Promise.resolve(Date.now() > now + 2));
  return new Date(now).toISOString();
}

interface Asked {
  readonly positions: readonly string[];
  readonly times: readonly string[];
}

/**
 * Statements up to each place and time, the export and the roll-forward up to the last time, as
 * text.
 */
async function documents(core: Core, { positions, times }: Asked): Promise<readonly string[]> {
  const [accountId, to] = [OWNER.accountId, times.at(-1) ?? ''];
  const printed: unknown[] = [];
  for (const position of positions)
    printed.push(await statementOfAccount(core, SCOPE, { accountId, position }));
  for (const asOf of times)
    printed.push(await statementOfAccount(core, SCOPE, { accountId, asOf }));
  printed.push(await statementOfAccount(core, SCOPE, { accountId, from: times[0] ?? '', to }));
  const lines: string[] = [];
  printed.push(
    await exportLedger(core, SCOPE, { to }, (text) => Promise.resolve(void lines.push(text))),
  );
  const month = new Date().toISOString().slice(0, 7);
  printed.push(await reconcileLedger(core, SCOPE, { period: month }));
  return [...printed.map((document) => JSON.stringify(document)), lines.join('')];
}

async function signedDigest(core: Core): Promise<DigestDocument> {
  const document = await ledgerDigest(core, { scope: SCOPE, sign: true });
  if (document === null) throw new Error('the chain is empty');
  return document;
}

const verified = (core: Core, outside: DigestDocument) =>
  verifyLedger(core, {
    scope: SCOPE,
    outside,
    signal: new AbortController().signal,
    awayMsMax: 20_000,
  });

test('statements, export, roll-forward and digests are the same on a log, on its copy, and back', async () => {
  const asked = { positions: [] as string[], times: [] as string[] };
  const said: DigestDocument[] = [];
  const first = await withCoreOn('postgres', async (core) => {
    const program = {
      programType: 'API_ONLY',
      openEndpoints: false,
      program: DEFAULT_PROGRAM,
    } as const;
    await core.tenantCommands.create({ alias: SCOPE.tenant, ...program });
    const [codes, changes] = [[], {}];
    await execute(core, {
      type: 'SyncAccount',
      accountId: 'a',
      subscription: { status: 'TRIAL' },
      currency: undefined,
      codes,
    });
    await execute(core, {
      type: 'UpsertUser',
      userId: 'ann',
      changes,
      codes,
      referralCode: 'ANN',
      referralCodes: {},
    } as never);
    asked.positions.push(await adjust(core, 500));
    asked.times.push(await moment());
    asked.positions.push(await adjust(core, -120));
    asked.times.push(await moment());
    said.push(await signedDigest(core));
    return documents(core, asked);
  });
  // Each place and time has a statement of its own, the same for both, or the comparison below
  // would show nothing.
  expect(first.slice(0, 2)).toEqual(first.slice(2, 4));
  expect(new Set(first).size).toBe(first.length - 2);

  expect(await copy(stores.databaseUrl, store.url)).toMatchObject({
    differences: [],
    otherOrigins: 0,
    isRecorded: true,
  });
  const own = { positions: [...asked.positions], times: [...asked.times] };
  const onStore = await withCoreOn('eventstoredb', async (core) => {
    expect(await documents(core, asked)).toEqual(first);
    for (const document of said) expect(await verified(core, document)).toMatchObject({ ok: true });
    // A change of the places alone is found on the copy, too.
    const moved = {
      ...(said[0] as DigestDocument),
      places: '0'.repeat(64),
      signature: undefined,
      publicKey: undefined,
    };
    expect(await verified(core, moved)).toMatchObject({
      ok: false,
      firstBroken: { reason: 'outside-digest' },
    });
    const beyond = (asked.positions[0] ?? '').replace(/\d+$/, '999');
    await expect(
      statementOfAccount(core, SCOPE, { accountId: 'a', position: beyond }),
    ).rejects.toThrow('is no position of this log');
    own.positions.push(await adjust(core, 70));
    own.times.push(await moment());
    said.push(await signedDigest(core));
    return documents(core, own);
  });

  expect(await copy(store.url, stores.databaseUrl)).toMatchObject({
    differences: [],
    otherOrigins: 0,
    isRecorded: true,
  });
  await withCoreOn('postgres', async (core) => {
    expect(await documents(core, own)).toEqual(onStore);
    for (const document of said) expect(await verified(core, document)).toMatchObject({ ok: true });
  });
}, 120_000);
