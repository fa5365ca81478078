import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyReply } from 'fastify';
import {
  OperationRuns,
  type RunContext,
  type ShownRun,
} from '../../src/http/operations/operation-runs.js';
import { answerWithRun } from '../../src/http/operations/operator-answers.js';
import { newOperatorKey, type OperatorRole } from '../../src/config/operators.js';
import { RecordedRuns } from '../../src/runs/recorded-runs.js';
import { OperatorsFile } from '../../src/config/operators-file.js';
import { useFolder } from '../support/folder.js';
import { eventually } from '../support/embedded.js';
import { basic } from '../support/api-client.js';
import { OPERATOR_ROUTES } from '../support/operator-routes.js';
import { sendRaw } from '../support/raw-http.js';
import { aPerson } from '../support/people.js';
import {
  expectRefusal,
  makeOperators,
  personal,
  useSharedService,
} from '../support/running-service.js';
import { openOnce } from '../support/opened.js';

const running = useSharedService();
const folder = useFolder();
const keys = openOnce(() =>
  makeOperators(running.stores, {
    fay: ['finance'],
    sam: ['support'],
    both: ['finance', 'support'],
    vic: ['viewer'],
  }),
);

const call = async (
  method: string,
  path: string,
  credentials?: string,
): Promise<{ status: number; body: Record<string, unknown> }> => {
  const response = await fetch(`${running.service.origin}${path}`, {
    method,
    ...(credentials !== undefined && { headers: { authorization: basic(credentials) } }),
  });
  return {
    status: response.status,
    body: (await response.json()) as Record<string, unknown>,
  };
};

test('an operator gets the name and roles of the key', async () => {
  expect(await call('GET', '/operations', `any:${keys.fay}`)).toEqual({
    status: 200,
    body: { name: 'fay', roles: ['finance'] },
  });
  expect(await call('GET', '/operations', `:${keys.both}`)).toEqual({
    status: 200,
    body: { name: 'both', roles: ['finance', 'support'] },
  });
});

test.each([
  '/%6fperations',
  '/%6fperations/projections',
  '/operations/projection%73',
  '/%63onsole',
  '/%63onsole/sign-in',
])('%s is no route, also with a key of an operator', async (path) => {
  expect(await call('GET', path, `:${keys.both}`)).toMatchObject({
    status: 404,
    body: { apiErrorCode: 'NOT_FOUND' },
  });
});

test('a run is described as one that is under way, like the operations that answer with it', async () => {
  const { body } = await call('GET', '/openapi.json');
  const { paths } = body as {
    paths: Record<string, Record<string, { responses: Record<string, { content?: unknown }> }>>;
  };
  const run = paths['/operations/runs/{runId}']?.['get']?.responses['202'];
  expect(run?.content).toBeDefined();
  expect(paths['/operations/policies/retry']?.['post']?.responses['202']).toEqual(run);
});

const UPLOAD = 'POST /operations/imports/{tenant}/{import}';

test.each(
  Object.keys(OPERATOR_ROUTES).filter((route) => !route.startsWith('GET') && route !== UPLOAD),
)('%s refuses a body that is no object', async (route) => {
  const [method = '', template = ''] = route.split(' ');
  const path = template.replace(/\{\w+\}/g, 'unknown');
  for (const body of ['null', '[1]', '7']) {
    const headers = {
      authorization: basic(`:${keys.both}`),
      'content-type': 'application/json',
    };
    const { status } = await fetch(running.service.origin + path, { method, headers, body });
    expect([body, status]).toEqual([body, 400]);
  }
});

test('an empty parameter of a query counts as not given, a number has decimal digits', async () => {
  const parked = (query: string) =>
    call('GET', `/operations/projections/parked?${query}`, `:${keys.sam}`);
  expect((await parked('limit=')).status).toBe(200);
  for (const limit of ['0x10', '1e1', '1.5', '0', '10001', '+1'])
    expect([limit, (await parked(`limit=${encodeURIComponent(limit)}`)).status]).toEqual([
      limit,
      400,
    ]);
});

test.each(Object.entries(OPERATOR_ROUTES))('%s is for its roles alone', async (route, roles) => {
  const [method = '', template = ''] = route.split(' ');
  const path = template.replace(/\{\w+\}/g, 'x');
  const held: readonly (readonly [OperatorRole, string])[] = [
    ['finance', keys.fay],
    ['support', keys.sam],
  ];
  for (const [role, key] of held) {
    const { status } = await call(method, path, `:${key}`);
    expect([role, status === 401, status === 403]).toEqual([role, false, !roles.includes(role)]);
  }
  expect((await call(method, path, `:${keys.both}`)).status).not.toBe(403);
});

test('a page of another site, or a body without its content type, is refused', async () => {
  const authorization = basic(`:${keys.fay}`);
  const send = async (
    headers: Readonly<Record<string, string>>,
    body?: Buffer<ArrayBuffer>,
    path = 'ledger/x/close',
  ) => {
    const init = {
      method: 'POST',
      headers: { authorization, ...headers },
      ...(body === undefined ? {} : { body }),
    };
    const response = await fetch(`${running.service.origin}/operations/${path}`, init);
    await response.arrayBuffer();
    return response.status;
  };
  expect(await send({ 'sec-fetch-site': 'cross-site' })).toBe(403);
  expect(await send({ 'content-type': 'text/plain' }, Buffer.from('{}'))).toBe(415);
  expect(await send({}, Buffer.from('{}'), 'runs/x/cancel')).toBe(415);
  // The body of a GET is not read.
  const [read] = await sendRaw(
    Number(new URL(running.service.origin).port),
    `GET /operations HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${authorization}\r\nContent-Length: 2\r\n\r\nhi`,
  );
  expect([read?.status, read?.json]).toEqual([200, { name: 'fay', roles: ['finance'] }]);
});

test('an adjustment is approved by another operator than its caller, and is one for its key', async () => {
  const { alias, live } = await running.service.createTenant();
  const { accountId: account, id: user } = await aPerson(live);
  const before = await running.service.eventsOf({ alias });
  const adjust = (approvedBy: string, key = keys.fay, idempotencyKey = 'one') => {
    const body = { account, user, unit: 'CENTS', amount: 5, reason: 'r', approvedBy };
    const options = { key: idempotencyKey };
    return running.service.operator(key).post(`/ledger/${alias}/adjustment`, body, options);
  };
  // The second person has the role finance, which support and viewers lack.
  for (const approver of ['Fay', 'unknown', 'sam,both', 'vic'])
    expect(await adjust(approver)).toMatchObject({
      status: 403,
      body: { apiErrorCode: 'FORBIDDEN' },
    });
  expect((await adjust('both', keys.both)).status).toBe(403);
  expect(await running.service.eventsOf({ alias })).toBe(before);
  const adjusted = await adjust('BOTH');
  expect(adjusted).toMatchObject({ status: 200, body: { eventId: expect.any(String) } });
  expect(adjusted.headers.get('idempotency-replayed')).toBeNull();
  const again = await adjust('both');
  expect([again.status, again.body]).toEqual([200, adjusted.body]);
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect(await adjust('both', keys.fay, 'x'.repeat(256))).toMatchObject({
    status: 400,
    body: { apiErrorCode: 'BAD_REQUEST' },
  });
});

test('an unknown member is refused with its name', async () => {
  const body = { shoe: 5 };
  const answer = await running.service.operator(keys.sam).post('/projections/rebuild', body);
  expectRefusal(answer, 400, 'BAD_REQUEST');
  expect(answer.body['validationErrors']).toEqual([expect.stringContaining('shoe')]);
});

const operator = { name: 'fay', roles: ['finance'] as const };
const replyTo = () => {
  const answered: { status?: number; headers: Record<string, string> } = { headers: {} };
  const reply = {
    code: (status: number) => ((answered.status = status), reply),
    header: (name: string, value: string) => ((answered.headers[name] = value), reply),
  };
  return { answered, reply: reply as unknown as FastifyReply };
};

const runsOf = (answerMs?: number): OperationRuns => {
  const { pool, answerSealer } = running.service.service.core;
  const recorded = new RecordedRuns(pool, answerSealer, 1);
  return new OperationRuns(recorded, { warn: () => undefined }, answerMs);
};
const untilStopped = ({ signal }: RunContext): Promise<object> =>
  new Promise((resolve) =>
    signal.addEventListener('abort', () => resolve({ stopped: true }), { once: true }),
  );

test('an operation that takes longer than an answer may is answered with its run, which shows the result when it is done, and stops on request', async () => {
  const runs = runsOf(0);
  const { answered, reply } = replyTo();
  const asked = { operation: 'ledger verify', by: operator.name };
  const started = await runs.start(asked, (context) => {
    context.onProgress('verifying', 5, 10);
    return untilStopped(context);
  });
  await eventually(() => started?.shown().progress?.done === 5);
  const shown = (await answerWithRun(runs, reply, started)) as ShownRun;
  expect(shown).toMatchObject({
    state: 'running',
    result: null,
    progress: { phase: 'verifying', done: 5, total: 10 },
  });
  const { id } = shown;
  expect(answered).toMatchObject({
    status: 202,
    headers: { Location: `/operations/runs/${id}` },
  });
  await runs.cancel(id);
  await started?.result;
  expect(await runs.find(id)).toMatchObject({
    state: 'done',
    result: { stopped: true },
    error: null,
  });
  await runs.close();
});

test.each(['ledger replay', 'import users'])(
  'an operation waits while two others of its kind (%s) work, unless it is about one account',
  async (operation) => {
    const runs = runsOf();
    const asked = { operation, by: personal('o') };
    const [first, , third, fourth] = [
      await runs.start(asked, untilStopped),
      await runs.start(asked, untilStopped),
      await runs.start(asked, untilStopped),
      await runs.start(asked, untilStopped),
    ];
    const ofAccount = { ...asked, parameters: { account: personal('acc') } };
    const small = await runs.start(ofAccount, () => Promise.resolve({ differences: [] }));
    expect(await small?.result).toEqual({ differences: [] });
    const waiting = { phase: 'waiting for its turn', done: 0, total: null };
    expect([third?.shown().progress, fourth?.shown().progress]).toEqual([waiting, waiting]);
    fourth?.cancel();
    expect(await fourth?.result).toMatchObject({ code: 'CANCELLED' });
    first?.cancel();
    await eventually(() => third?.shown().progress === null);
    await runs.close();
  },
);

const SILENT = { info: () => undefined, error: () => undefined };

const of = async (content: string): Promise<unknown> => {
  const path = join(folder, 'tried.json');
  await writeFile(path, content);
  return OperatorsFile.open({ path, mayBeMissing: false }, SILENT);
};

test.each([
  ['no JSON', '{', 'OPERATORS_FILE is no list of operators: see /'],
  ['an unknown role', '[{"name":"a","roles":["boss"],"keySha256":""}]', 'see /0/roles/0'],
  [
    'a key instead of its hash',
    '[{"name":"a","roles":["finance"],"keySha256":"operator_secret"}]',
    'see /0/keySha256',
  ],
  [
    'one more member',
    `[{"name":"a","roles":["finance"],"keySha256":"${'0'.repeat(64)}","key":"x"}]`,
    'see /0',
  ],
])(
  'a file of operators with %s is refused in one line that shows nothing of it',
  async (_name, content, expected) => {
    const failure = await of(content).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      name: 'ConfigError',
      message: expect.stringContaining(expected) as unknown,
    });
    expect(String(failure)).not.toContain('secret');
  },
);

test('the file of operators that is missing is named, and without a file no operator is known', async () => {
  const path = join(folder, 'missing.json');
  await expect(OperatorsFile.open({ path, mayBeMissing: false }, SILENT)).rejects.toThrow(
    'OPERATORS_FILE cannot be read: ENOENT',
  );
  for (const file of [undefined, { path, mayBeMissing: true }]) {
    const none = await OperatorsFile.open(file, SILENT);
    expect((await none.now()).holderOf(keys.fay)).toBeUndefined();
  }
});

test.each([0o646, 0o660])(
  'the file of operators that others may write is refused at the start (%o)',
  async (mode) => {
    const path = join(folder, 'open.json');
    await writeFile(path, '[]');
    await chmod(path, mode);
    await expect(OperatorsFile.open({ path, mayBeMissing: false }, SILENT)).rejects.toThrow(
      `OPERATORS_FILE has mode ${mode.toString(8)}: others may write it; chmod go-w it`,
    );
  },
);

test('the file of operators counts from the moment it changes, and while it cannot be used no key counts', async () => {
  const path = running.stores.operatorsFile;
  const before = await readFile(path, 'utf8');
  const { key, entry } = newOperatorKey('ned', ['support']);
  const statuses = async () => [
    (await call('GET', '/operations', `:${keys.fay}`)).status,
    (await call('GET', '/operations', `:${key}`)).status,
  ];
  const complaints = () => running.service.logText.split('no key of an operator counts').length - 1;
  expect(await statuses()).toEqual([200, 401]);
  await writeFile(path, JSON.stringify([...(JSON.parse(before) as object[]), entry]));
  expect(await statuses()).toEqual([200, 200]);

  await chmod(path, 0o666);
  expect(await statuses()).toEqual([401, 401]);
  expect(await statuses()).toEqual([401, 401]);
  expect(running.service.logText).toContain('OPERATORS_FILE has mode 666');
  expect(complaints()).toBe(1);
  await chmod(path, 0o600);
  expect(await statuses()).toEqual([200, 200]);

  await writeFile(path, '[');
  expect(await statuses()).toEqual([401, 401]);
  await rm(path);
  expect(await statuses()).toEqual([401, 401]);
  expect(complaints()).toBe(3);
  await writeFile(path, before, { mode: 0o600 });
  expect(await statuses()).toEqual([200, 401]);
});
