import { loggedAddress } from '../../src/http/edge/client-address.js';
import { traceIdOf } from '../../src/http/edge/request-span.js';
import { sendRaw } from '../support/raw-http.js';
import { API, basic, LIVE, useSampleApp } from './sample-app.js';

const it_ = useSampleApp();

/** The lines that these calls leave; the client may see an answer before its line is written. */
async function linesOf(calls: () => Promise<unknown>, count: number) {
  const before = it_.logged.length;
  await calls();
  while (it_.logged.length < before + count) await new Promise((resolve) => setImmediate(resolve));
  return it_.logged.slice(before);
}

const TRACE = '0af7651916cd43dd8448eb211c80319c';

test.each([
  ['a wrong key', `${API}/whoami`, { authorization: basic(':WRONG') }, { code: 'UNAUTHORIZED' }],
  [
    'a key without the right',
    '/api/v1/payments/account/a',
    { authorization: basic(':TEST_payments') },
    { code: 'API_REQUEST_NOT_SUPPORTED', mode: 'test', actor: 'api-key', tenant: 'payments' },
  ],
  ['an open route', `${API}/open/whoami`, {}, { actor: 'anyone', actorId: 'anyone' }],
  [
    'a missing account',
    `${API}/account/missing`,
    LIVE,
    { code: 'ACCOUNT_NOT_FOUND', actorId: 'key-live-acme' },
  ],
])('the line of %s names tenant, caller and error code', async (_, path, headers, line) => {
  const [logged] = await linesOf(() => fetch(`${it_.origin}${path}`, { headers }), 1);
  expect(logged).toMatchObject({ tenant: 'acme', ...line });
});

test('a log line leaves out the alias of an unknown tenant', async () => {
  const [logged] = await linesOf(() => fetch(`${it_.origin}/api/v1/missing/whoami`), 1);
  expect(logged).toMatchObject({ code: 'TENANT_NOT_FOUND' });
  expect(logged).not.toHaveProperty('tenant');
});

test('the line carries the trace that the client names, and no other text of the header', async () => {
  const lines = await linesOf(async () => {
    for (const traceparent of [`00-${TRACE}-b7ad6b7169203331-01`, '00-ann@example.com-x-01'])
      await fetch(`${it_.origin}/health/live`, { headers: { traceparent } });
  }, 2);
  expect(lines.map(({ traceId }) => traceId)).toEqual([TRACE, undefined]);
  expect(it_.logText()).not.toContain('ann@');
});

test('a message that is no request leaves a line with its answer’s code and id', async () => {
  let answers: Awaited<ReturnType<typeof sendRaw>> = [];
  const [logged] = await linesOf(async () => {
    answers = await sendRaw(it_.port, 'secret words\r\n\r\n');
  }, 1);
  expect(logged).toMatchObject({
    requestId: answers[0]?.headers['request-id'],
    route: 'unread',
    status: 400,
    code: 'BAD_REQUEST',
    address: '127.0.0.0/24',
    msg: 'request',
  });
  expect(JSON.stringify(logged)).not.toContain('secret');
});

test('refusals are counted by code, those below the framework too', async () => {
  const counts = async (...codes: readonly string[]) => {
    const text = await (await fetch(`${it_.origin}/metrics`)).text();
    return codes.map((code) =>
      Number(new RegExp(`^http_refusals_total\\{code="${code}"\\} (\\d+)$`, 'm').exec(text)?.[1]),
    );
  };
  const [before = NaN, broken = NaN, never = NaN] = await counts(
    'ACCOUNT_NOT_FOUND',
    'BAD_REQUEST',
    'EXPORT_EXPIRED',
  );
  expect(never).toBe(0);
  await linesOf(async () => {
    await fetch(`${it_.origin}${API}/account/missing`, { headers: LIVE });
    await sendRaw(it_.port, 'BREW / HTTP/1.1\r\nHost: x\r\n\r\n');
  }, 2);
  expect(await counts('ACCOUNT_NOT_FOUND', 'BAD_REQUEST')).toEqual([before + 1, broken + 1]);
});

test.each([
  ['203.0.113.77', 'short', '203.0.113.0/24'],
  ['::ffff:203.0.113.77', 'short', '203.0.113.0/24'],
  ['::ffff:cb00:714d', 'short', '203.0.113.0/24'],
  ['2001:db8:1:2:3:4:5:6', 'short', '2001:db8:1::/48'],
  ['::1', 'short', '0:0:0::/48'],
  ['fe80::1%eth0', 'short', 'fe80:0:0::/48'],
  ['203.0.113.77', 'full', '203.0.113.77'],
  ['2001:db8:1:2:3:4:5:6', 'full', '2001:db8:1:2:3:4:5:6'],
  ['203.0.113.77', 'none', undefined],
  ['ann@example.com', 'full', undefined],
  ['', 'short', undefined],
] as const)('%s logged %s is %s', (address, logged, shown) => {
  expect(loggedAddress(address, logged)).toBe(shown);
});

test.each([
  [`00-${TRACE}-b7ad6b7169203331-01`, TRACE],
  [`cc-${TRACE}-b7ad6b7169203331-00-later`, TRACE],
  [`ff-${TRACE}-b7ad6b7169203331-01`, undefined],
  [`00-${'0'.repeat(32)}-b7ad6b7169203331-01`, undefined],
  [`00-${TRACE}-${'0'.repeat(16)}-01`, undefined],
  [`00-${TRACE.toUpperCase()}-b7ad6b7169203331-01`, undefined],
  ['', undefined],
])('traceparent %s', (traceparent, traceId) => {
  expect(traceIdOf({ span: null, headers: { traceparent } } as never)).toBe(traceId);
});
