import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRemoteJWKSet, flattenedVerify } from 'jose';
import { pino } from 'pino';
import { Webhook } from 'standardwebhooks';
import { startServiceProcess, type ServiceProcess } from '../harness/service-process.js';
import { loadConfig } from '../../src/config/config.js';
import { openCore } from '../../src/core/core.js';
import { DEFAULT_PROGRAM } from '../../src/domain/tenant/program-document.js';
import { ApiClient, type Json } from '../support/api-client.js';
import { anId, aTime, expectedUser } from '../support/expected-answers.js';
import { createStores, type TestStores } from '../support/running-service.js';
import {
  startWebhookReceiver,
  type ReceivedRequest,
  type WebhookReceiver,
} from '../support/webhook-receiver.js';

/**
 * Every type of webhook as it ships: the service as a process, and a receiver that it trusts over
 * TLS, in another one.
 */

jest.setTimeout(240_000);

let stores: TestStores;
let folder: string;
let receiver: WebhookReceiver;
let service: ServiceProcess;
let keys: { readonly live: string; readonly test: string };

beforeAll(async () => {
  stores = await createStores();
  folder = await mkdtemp(join(tmpdir(), 'ledger-webhooks-'));
  receiver = await startWebhookReceiver({ tls: true });
  const certificate = join(folder, 'receiver.pem');
  await writeFile(certificate, receiver.certificate);
  const env = { DATABASE_URL: stores.databaseUrl, MASTER_KEY_FILE: stores.masterKeyFile };
  const core = await openCore({
    config: loadConfig(env),
    logger: pino({ level: 'silent' }),
    applicationName: 'test',
    actor: { kind: 'system', id: 'test' },
  });
  try {
    const made = await core.tenantCommands.create({
      alias: 'demo',
      programType: 'API_ONLY',
      openEndpoints: false,
      program: DEFAULT_PROGRAM,
    });
    if ('refused' in made) throw new Error(made.refused);
    keys = { live: made.liveApiKey, test: made.testApiKey };
  } finally {
    await core.close();
  }
  service = await startServiceProcess({
    env: {
      ...env,
      NODE_EXTRA_CA_CERTS: certificate,
      WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
      PUBLIC_URL: 'https://share.example',
    },
  });
  await service.ready();
});
afterAll(async () => {
  await service.terminate();
  await receiver.stop();
  await stores.remove();
  await rm(folder, { recursive: true, force: true });
});

const CREDIT = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 250 };
const PAID = {
  status: 'PAID',
  value: 9,
  billingIntervalType: 'MONTH',
  billingIntervalValue: 1,
};

/** Ann refers Bob, who is called as she is; he pays, and leaves. Themes change, a file is made. */
async function story(api: ApiClient, endpointUrl: string): Promise<void> {
  const done = async (call: Promise<{ status: number }>, status = 200): Promise<void> => {
    expect((await call).status).toBe(status);
  };
  const sync = (id: string, subscription: object, more: object = {}) =>
    done(api.post('/accountsync', { id, subscription, ...more }));
  const named = { firstName: 'Ann', lastName: 'Lee' };
  await sync('anns', { status: 'TRIAL' });
  await done(api.post('/user', { id: 'ann', accountId: 'anns', referralCode: 'ANN', ...named }));
  await done(api.post('/rewards/account/anns/user/ann', CREDIT), 201);
  await sync('bobs', { status: 'TRIAL' }, { referral: { code: 'ann' } });
  const email = 'bob@example.com';
  const bob = { id: 'bob', accountId: 'bobs', referralCode: 'BOB', email, ...named };
  await done(api.post('/user', bob));
  await sync('bobs', PAID);
  await sync('bobs', { status: 'CANCELLED' });
  const heading = { page: { heading: 'Hello' } };
  await done(api.call('PATCH', '/theme/variables/instance', heading));
  await done(api.call('PATCH', '/theme/de_DE/variables/instance', heading));
  await done(api.post('/export', EXPORT), 201);
  await done(api.post(`/subscription/${encodeURIComponent(endpointUrl)}/test`), 204);
}

const EXPORT = { type: 'USER', name: 'people', params: { createdSince: 5 } };

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

interface Envelope extends Json {
  readonly type: string;
  readonly created: number;
  readonly data: Json;
}

const envelopeOf = ({ body }: ReceivedRequest): Envelope => JSON.parse(body.toString()) as Envelope;

async function verified({ body, headers }: ReceivedRequest, secret: string): Promise<void> {
  expect(new Webhook(secret).verify(body.toString(), { ...headers })).toEqual(
    JSON.parse(body.toString()),
  );
  const [header = '', , signature = ''] = (headers['x-hook-jws-rfc-7797'] ?? '').split('.');
  await flattenedVerify(
    { protected: header, payload: body.toString('base64url'), signature },
    createRemoteJWKSet(new URL(`${service.url}/.well-known/jwks.json`)),
  );
}

/** The contract's members of everything that the story comes to, by type, in the order of time. */
function expectedOf(mode: 'live' | 'test', endpointUrl: string): Readonly<Record<string, Json[]>> {
  const user = (id: string, accountId: string, more: Json): Json => {
    const code = id.toUpperCase();
    const { referredBy: _, ...members } = expectedUser(
      { tenant: 'demo', mode, id, accountId, code, ...more },
      { firstName: 'Ann', lastName: 'Lee', ...more },
    );
    // Absent values are left out.
    return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
  };
  const reward = {
    id: anId,
    dateGiven: aTime,
    dateCreated: aTime,
    cancellable: true,
    accountId: 'anns',
    userId: 'ann',
  };
  const credit = { ...reward, type: 'CREDIT', unit: 'CENTS', redeemedCredit: 0, redemptions: [] };
  const discount = { type: 'PCT_DISCOUNT', unit: '%', discountPercent: 10 };
  const balance = {
    userId: 'ann',
    accountId: 'anns',
    unit: 'CENTS',
    resourceVersion: aTime,
  };
  const started = {
    id: anId,
    programId: 'default',
    referrer: { id: 'ann', accountId: 'anns' },
    referred: { id: 'bob', accountId: 'bobs' },
    referrerUser: 'ann',
    referredUser: 'bob',
    referralCodeUsed: 'ANN',
    moderationStatus: 'ACTIONED',
    referredModerationStatus: 'APPROVED',
    referrerModerationStatus: 'APPROVED',
    dateModerated: aTime,
    fraudSignals: { name: { message: 'Both sides have the same name', score: 50 } },
    dateReferralStarted: aTime,
    dateModified: aTime,
    referredReward: anId,
    referrerReward: null,
  };
  const converted = { ...started, dateReferralPaid: aTime, dateConverted: aTime };
  const email = 'bob@example.com';
  const requested = {
    id: expect.stringMatching(UUID) as unknown,
    name: 'people',
    requester: 'API',
    status: 'PENDING',
    dateCreated: aTime,
    dateCompleted: null,
    dateExpires: aTime,
    mailtoEmail: null,
    outputFormat: 'CSV',
    task: 'USER',
    operation: 'QUERY',
    params: { createdSince: 5 },
    stats: null,
    fileRef: null,
  };
  const stats = {
    position: expect.any(String) as unknown,
    rows: 2,
    bytes: aTime,
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
  };
  return {
    'user.created': [
      user('ann', 'anns', {}),
      user('bob', 'bobs', { email, referredByCodes: ['ANN'] }),
    ],
    'coupon.created': ['ANN', 'BOB'].map((code) => ({
      code,
      dateCreated: aTime,
      programId: 'default',
    })),
    'reward.created': [
      { ...credit, assignedCredit: 250, rewardSource: 'MANUAL' },
      { ...reward, ...discount, accountId: 'bobs', userId: 'bob', rewardSource: 'REFERRED' },
      { ...credit, assignedCredit: 1000, rewardSource: 'FRIEND_SIGNUP' },
    ],
    'user.reward.balance.changed': [
      { ...balance, availableValue: 250 },
      { ...balance, availableValue: 1250 },
    ],
    'referral.started': [started],
    'referral.automoderation.complete': [started],
    'referral.converted': [converted],
    'referral.ended': [{ ...converted, dateReferralEnded: aTime, referrerReward: anIdOrNull }],
    'theme.publish.finished': [{ locale: null }, { locale: 'de_DE' }],
    'export.created': [requested],
    'export.completed': [{ ...requested, status: 'COMPLETED', dateCompleted: aTime, stats }],
    test: [{ endpointUrl, name: 'crm' }],
  };
}

/** A policy grants the referrer's reward, before the end of the referral or after it. */
const anIdOrNull = {
  asymmetricMatch: (value: unknown) =>
    value === null || (typeof value === 'string' && /^[0-9a-f]{48}$/.test(value)),
  toString: () => 'an id or null',
};

test.each(['live', 'test'] as const)('in %s mode', async (mode) => {
  const api = new ApiClient(service.url, 'demo', `:${keys[mode]}`);
  const endpointUrl = receiver.tlsUrl(`/${mode}`);
  const subscription = { endpointUrl, name: 'crm' };
  const { body } = await api.post<{ secret: string }>('/subscription', subscription);
  await story(api, endpointUrl);
  const expected = expectedOf(mode, endpointUrl);
  const count = Object.values(expected).flat().length;
  const received = await receiver.requests(`/${mode}`, count);
  const byType: Record<string, Json[]> = {};
  for (const { type, data } of received
    .map(envelopeOf)
    .sort((one, other) => one.created - other.created))
    (byType[type] ??= []).push(data);
  expect(byType).toStrictEqual(expected);
  for (const request of received) {
    const { data: _, ...envelope } = envelopeOf(request);
    expect(envelope).toStrictEqual({
      id: request.headers['webhook-id'],
      type: expect.any(String) as unknown,
      tenantAlias: 'demo',
      live: mode === 'live',
      created: aTime,
    });
    expect(request.tls).toBe(true);
    await verified(request, body.secret);
  }
  expect(receiver.received.filter(({ path }) => path !== '/live' && path !== '/test')).toEqual([]);
});
