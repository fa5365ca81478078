import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Stripe from 'stripe';
import { newOperatorKey } from '../../src/config/operators.js';
import { describedInterface } from '../../src/http/reference/described-interface.js';
import { readReference } from '../../src/http/reference/reference-files.js';
import type { JsonSchema } from '../../src/http/reference/json-schema.js';
import type { Operation } from '../../src/http/reference/openapi-operation.js';
import type { HttpExample, OperationText } from '../../src/http/reference/reference-texts.js';
import { allOperations } from '../../src/operations/registry/registry.js';
import { Unsubscribing } from '../../src/mails/unsubscribing.js';
import { postmanCollection } from '../../tools/postman-collection.js';
import { StripeDouble } from '../harness/stripe-double.js';
import { useFolder } from '../support/folder.js';
import { basic } from '../support/api-client.js';
import { pollPause } from '../support/poll-pause.js';
import { recordedOperations } from '../support/recorded-operations.js';
import { useService, useTenant } from '../support/running-service.js';
import { openOnce } from '../support/opened.js';

/**
 * The story of a referral through every operation: an example may use what came before it. Over
 * 5 s: each of 115 operations is carried out.
 */
const COLLECTION = join(__dirname, '../../docs/generated/referral-ledger.postman_collection.json');
const STORY = `
  upsertOpenUser upsertUser getUser getOpenUser getUserByCode getOpenUserByCode listUsers
  getShareLinks getShareUrls getOpenShareUrls followShortLink showSharePage followTestShortLink
  showTestSharePage getCode getOpenCode createOpenUser applyCode getDiscount syncAccount getAccount
  listAccountRewards getAccountDiscount setDiscount recordEvents listReferrals getReferral
  listOpenReferrals moderateReferrals getRewardBalance listRewards createReward getReward
  redeemCredit redeemReward cancelReward upsertCookieUser blockUser unblockUser createSubscription
  listSubscriptions testSubscription getSigningKeys createExport getExport listExports
  downloadExport getThemeSchema replaceTheme updateTheme getTheme replaceLocaleTheme
  updateLocaleTheme getLocaleTheme deleteLocaleTheme previewMail showUnsubscribePage
  unsubscribeFromMails getUserRecord getOperator getStatement getTenantStatement getBalances replayLedger
  reconcileLedger closePeriod reopenPeriod adjustBalance proposeCorrection listProposals
  approveCorrection rejectCorrection withdrawCorrection createDigest verifyLedger listActivity listRuns getRun
  cancelRun listEndpoints addEndpoint testEndpoint triggerWebhook removeEndpoint
  listDeliveries getDelivery resendDeliveries enableEndpoint rotateEndpointSecret rotateSigningKey
  listMails resendMail listTenantExports cancelExport showTheme publishTheme listThemeVersions
  rollBackTheme listProjections listParkedStreams listProjectionHistory rebuildProjections
  diffProjection swapProjections rollBackProjection retryParkedStreams skipParkedEvent listParkedReactions
  retryReactions skipReaction connectPayments getPayments syncPayments reconcilePayments receiveStripeEvent
  importFile listImports getImport downloadRejectedRows downloadImportedIds cancelImport
  continueImport disconnectPayments listUnitFormats replaceUnitFormats forecastProgram getTestClock
  moveTestClock deleteSubscription deleteUser deleteAccount getLiveness getReadiness getMetrics
`
  .trim()
  .split(/\s+/);

/** Examples that find nothing in a service without a mail server. */
const FINDS_NOTHING = new Set([
  'continueImport',
  'rejectCorrection',
  'withdrawCorrection',
  'resendMail',
  'skipParkedEvent',
  'skipReaction',
]);

const frank = newOperatorKey('frank', ['finance', 'support', 'viewer']);
const grace = newOperatorKey('grace', ['finance', 'support']);

const folder = useFolder();
const double = openOnce(
  () => StripeDouble.start({ secretKey: 'sk_test_0000000000000000' }),
  'stop',
);
const operators = join(folder, 'operators.json');
beforeAll(() => writeFile(operators, JSON.stringify([frank.entry, grace.entry]), { mode: 0o600 }));
const running = useService(() => ({
  OPERATORS_FILE: operators,
  WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
}));
const tenant = useTenant(running, { alias: 'demo' });
let texts: ReadonlyMap<string, OperationText>;
/** Values that the service made, by those of the examples. */
const made = new Map<string, string>();

beforeAll(async () => {
  await running.service.createTenant({ alias: 'shop', programType: 'PAYMENT_PROVIDER' });
  const { reference } = await readReference();
  texts = new Map(reference.tags.flatMap((tag) => tag.operations).map((text) => [text.id, text]));
});

test('every operation, parameter and field has a text, and every text is about one', async () => {
  const { problems } = describedInterface(running.service.description, await readReference());
  expect(problems).toEqual([]);
});

test('the stored Postman collection has a request for each operation of the description', async () => {
  const { document } = describedInterface(running.service.description, await readReference());
  const made = `${JSON.stringify(postmanCollection(document), null, 2)}\n`;
  if (process.env['UPDATE'] !== undefined) await writeFile(COLLECTION, made);
  expect(await readFile(COLLECTION, 'utf8')).toBe(made);
  expect(made.match(/"request": \{/g)).toHaveLength(STORY.length);
});

test('every answer in JSON has members, as far as it is not empty', () => {
  const open = Object.entries(running.service.description.paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, Described>).flatMap(([method, { responses }]) =>
      Object.entries(responses)
        .filter(([status]) => status.startsWith('2'))
        .flatMap(([status, { content = {} }]) =>
          Object.entries(content)
            .filter(([type, { schema }]) => type.includes('json') && isOpen(schema ?? {}))
            .map(() => `${method} ${path} ${status}`),
        ),
    ),
  );
  expect(open).toEqual([]);
});

interface Described {
  readonly responses: Readonly<Record<string, Pick<Operation['responses'][string], 'content'>>>;
}

const isOpen = (schema: JsonSchema & { readonly maxProperties?: number }): boolean =>
  schema.$ref === undefined &&
  schema.maxProperties !== 0 &&
  schema.properties === undefined &&
  ![schema.allOf, schema.anyOf, schema.oneOf].some(Boolean) &&
  (schema.items === undefined ? [schema.type].flat().includes('object') : isOpen(schema.items));

test('the story contains every operation', () => {
  expect([...STORY].sort()).toEqual([...texts.keys()].sort());
});

test('the examples do what they say, in the order of the story', async () => {
  await prepare();
  const problems: string[] = [];
  for (const id of STORY) {
    const { request, response } = texts.get(id) ?? {};
    if (request === undefined || response === undefined) throw new Error(`${id} has no example`);
    await before(id, request);
    const answer = await answerTo(id, request);
    if (FINDS_NOTHING.has(id)) {
      expect([id, answer.text]).toEqual([id, expect.stringMatching(/there is no /i)]);
      continue;
    }
    if (`HTTP/1.1 ${answer.status}` !== response.start)
      problems.push(`${id}: ${answer.status} ${answer.text.slice(0, 300)}`);
    const example = jsonOf(response.body);
    const actual = jsonOf(answer.text);
    problems.push(...misfits(example, actual).map((misfit) => `${id}: ${misfit}`));
    learn(example, actual);
    problems.push(...(await deadLinks(id, request, actual)));
  }
  expect(problems).toEqual([]);
}, 180_000);

async function operationsOfTenants() {
  const examples = new Map([...texts].map(([id, { route, request }]) => [route, { id, request }]));
  return (await allOperations()).flatMap(({ route, of, name, isRecorded }) => {
    const example = route && examples.get(`${route.method} /operations/${route.path}`);
    if (route === undefined || example?.request === undefined) return [];
    const place = `/operations/${route.path}`.split('/').indexOf('{tenant}');
    return of === 'ledger' || of === 'tenant'
      ? [{ name, isRecorded, place, id: example.id, request: example.request }]
      : [];
  });
}

test('an operation leaves its audit event exactly when the registry says that it is recorded', async () => {
  const { core } = running.service.service;
  const recorded = new Set<unknown>();
  for (const alias of ['demo', 'shop'])
    for (const mode of ['live', 'test'] as const)
      for (const event of await recordedOperations(core, { tenant: alias, mode }))
        recorded.add(Reflect.get(event, 'operation'));
  const carriedOut = (await operationsOfTenants()).filter(({ id }) => !FINDS_NOTHING.has(id));
  expect(carriedOut.length).toBeGreaterThan(30);
  expect(carriedOut.map(({ name }) => [name, recorded.has(name)])).toEqual(
    carriedOut.map(({ name, isRecorded }) => [name, isRecorded]),
  );
});

test('every operation of a tenant refuses an unknown tenant', async () => {
  const answers = [];
  const operations = await operationsOfTenants();
  for (const { id, request, place } of operations) {
    const [method = '', path = ''] = request.start.split(' ');
    const start = `${method} ${path.replace(/[^/?]+/g, replaceAt(place - 1, 'unknown'))}`;
    const { status, text } = await send({ ...request, start }, credentialsOf(id, request));
    answers.push([id, status, Reflect.get(Object(jsonOf(text)), 'apiErrorCode')]);
  }
  expect(answers).toEqual(operations.map(({ id }) => [id, 404, 'TENANT_NOT_FOUND']));
});

const replaceAt = (place: number, by: string) => {
  let at = -1;
  return (segment: string): string => ((at += 1) === place ? by : segment);
};

interface Link {
  readonly operationId: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Follows the links of an answer that read something. */
async function deadLinks(id: string, request: HttpExample, answer: unknown): Promise<string[]> {
  const { route = '', links = new Map<string, unknown>() } = texts.get(id) ?? {};
  const [method = '', template = ''] = route.split(' ');
  const item: object = running.service.description.paths[template] ?? {};
  const { responses } = Reflect.get(item, method.toLowerCase()) as Operation;
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? [];
  const described = Object.values((success?.links ?? {}) as Record<string, Link>);
  expect([id, described.map(({ operationId }) => operationId)]).toEqual([id, [...links.keys()]]);
  const dead: string[] = [];
  for (const { operationId, parameters } of described) {
    const path = Object.entries(parameters).reduce(
      (filled, [name, value]) => {
        const found = encodeURIComponent(valueOf(value, { template, request, answer }));
        const inPath = filled.replace(`{${name}}`, found);
        if (inPath !== filled) return inPath;
        return `${filled}${filled.includes('?') ? '&' : '?'}${name}=${found}`;
      },
      texts.get(operationId)?.route ?? 'unknown',
    );
    if (path.includes('{')) dead.push(`${id}: ${path} lacks a value`);
    if (!path.startsWith('GET ')) continue;
    const headers = { Authorization: basic(`:${tenant.testKey}`) };
    const { status, text } = await send({ start: path, headers: new Map(), body: '' }, headers);
    if (status >= 300 && !text.includes('EXPORT_NOT_READY')) dead.push(`${id}: ${path}: ${text}`);
  }
  return dead;
}

/** Of a runtime expression: `$response.body#/id`, `$request.body#/id`, `$request.path.id`. */
function valueOf(
  expression: string,
  {
    template,
    request,
    answer,
  }: { readonly template: string; readonly request: HttpExample; readonly answer: unknown },
): string {
  const [source = '', name = ''] = expression.split(/#\/|(?<=path)\./);
  if (source === '$response.body') return String(Reflect.get(Object(answer), name));
  if (source === '$request.body') return String(Reflect.get(Object(jsonOf(request.body)), name));
  const segments = (request.start.split(' ')[1] ?? '').split(/[/?]/);
  return segments[template.split('/').indexOf(`{${name}}`)] ?? '';
}

/** The short link of live mode has an owner, too. */
async function prepare(): Promise<void> {
  const request = texts.get('upsertOpenUser')?.request;
  if (request === undefined) throw new Error('upsertOpenUser has no example');
  const answer = await send(request, { Authorization: basic(`:${tenant.liveKey}`) });
  expect(answer.status).toBe(200);
  const { names } = running.service.service.core;
  const scope = { tenant: 'demo', mode: 'test' } as const;
  const link = new Unsubscribing(names, () => '').linkOf({
    ...scope,
    account: names.accountRef(scope, 'ann-ltd'),
    person: 'ann',
  });
  const example = texts.get('showUnsubscribePage')?.request?.start.split('/').at(-1) ?? '';
  made.set(example, link.split('/').at(-1) ?? '');
}

/** What an example needs that is in no other example. */
async function before(id: string, { start }: HttpExample): Promise<void> {
  if (id !== 'cancelExport') return;
  const example = /exports\/demo\/([^?]+)/.exec(start)?.[1] ?? '';
  // Behind so many others the last one waits.
  for (let count = 0; count < 10; count += 1) {
    const { body } = await tenant.test.post('/export', { type: 'USER' });
    made.set(example, String(body['id']));
  }
}

interface Received {
  readonly status: number;
  readonly text: string;
}

async function answerTo(id: string, request: HttpExample): Promise<Received> {
  const headers = credentialsOf(id, request);
  if (id === 'connectPayments')
    return send(
      { ...request, body: request.body.replace('{', `{ "apiBase": "${double.url}",`) },
      headers,
    );
  for (let looks = 0; ; looks += 1) {
    const answer = await send(request, headers);
    if (answer.status === 202) {
      const result = await resultOf(answer, headers);
      return id === 'importFile' ? answer : result;
    }
    if (id !== 'getExport' || !answer.text.includes('"PENDING"')) return answer;
    await pollPause(looks);
  }
}

/** On a busy machine an operation takes longer than an answer may: the answer is its run then. */
async function resultOf(begun: Received, headers: Record<string, string>): Promise<Received> {
  const { id } = JSON.parse(begun.text) as { readonly id: string };
  for (let looks = 0; ; looks += 1) {
    const run = {
      start: `GET /operations/runs/${id} HTTP/1.1`,
      headers: new Map<string, string>(),
      body: '',
    };
    const { status, text } = await send(run, headers);
    const { result } = JSON.parse(text) as { readonly result: object | null };
    if (result !== null) return { status, text: JSON.stringify(result) };
    await pollPause(looks);
  }
}

function credentialsOf(id: string, { start, body }: HttpExample): Record<string, string> {
  if (id === 'receiveStripeEvent') {
    const secret = 'whsec_0000000000000000';
    const header = Stripe.webhooks.generateTestHeaderString({ payload: body, secret });
    return { 'Stripe-Signature': header };
  }
  if (start.includes(' /api/')) return { Authorization: basic(`:${tenant.testKey}`) };
  if (!start.includes(' /operations')) return {};
  const { key } = id === 'approveCorrection' ? grace : frank;
  return { Authorization: basic(`:${key}`) };
}

async function send(
  { start, headers, body }: HttpExample,
  credentials: Readonly<Record<string, string>>,
): Promise<Received> {
  const actual = (text: string): string =>
    [...made].reduce((changed, [example, value]) => changed.replaceAll(example, value), text);
  const [method = '', path = ''] = actual(start).split(' ');
  const response = await fetch(`${running.service.origin}${path}`, {
    method,
    redirect: 'manual',
    headers: {
      ...(body === '' ? {} : { 'Content-Type': 'application/json' }),
      ...Object.fromEntries(headers),
      ...credentials,
    },
    ...(body === '' ? {} : { body: actual(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  if (isJson) running.service.check({ method, path, status: response.status, body: jsonOf(text) });
  return { status: response.status, text };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Members = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Where an answer lacks a member of the example or has one of another type. */
function misfits(example: unknown, actual: unknown, path = ''): readonly string[] {
  if (example === null || example === undefined || actual === null) return [];
  if (Array.isArray(example))
    return Array.isArray(actual)
      ? example.slice(0, 1).flatMap((one) => misfits(one, actual[0], `${path}[]`))
      : [`${path} is no array`];
  if (isObject(example))
    return isObject(actual)
      ? Object.entries(example).flatMap(([name, one]) =>
          name in actual
            ? misfits(one, actual[name], `${path}.${name}`)
            : [`${path}.${name} lacks`],
        )
      : [`${path} is no object`];
  return typeof example === typeof actual ? [] : [`${path} is ${typeof actual}`];
}

/** Long texts that differ are ids: later examples send them. */
function learn(example: unknown, actual: unknown): void {
  if (typeof example === 'string' && typeof actual === 'string') {
    if (example !== actual && example.length >= 24) made.set(example, actual);
  } else if (Array.isArray(example) && Array.isArray(actual))
    example.forEach((one, index) => learn(one, actual[index]));
  else if (isObject(example) && isObject(actual))
    for (const [name, one] of Object.entries(example)) learn(one, actual[name]);
}
