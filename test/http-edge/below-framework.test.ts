import { API, LIVE, turnsUntil, useSampleApp } from './sample-app.js';
import { errorBody } from '../support/error-body.js';
import { sendRaw } from '../support/raw-http.js';

const it_ = useSampleApp({
  headersTimeoutMs: 300,
  requestTimeoutMs: 600,
  timeoutCheckMs: 50,
  deadlineMs: 5_000,
});

const body = (status: number) => errorBody(status, 'BAD_REQUEST');
const AUTH = `Authorization: ${LIVE.authorization}`;
const POST = `POST ${API}/echo HTTP/1.1\r\nHost: x\r\n${AUTH}\r\n`;
const GET = `GET ${API}/whoami HTTP/1.1\r\nHost: x\r\n${AUTH}\r\n`;

test.each<[string, string, number]>([
  ['no HTTP', 'hello\r\n\r\n', 400],
  ['an unknown method', 'BREW / HTTP/1.1\r\nHost: x\r\n\r\n', 501],
  ['an unknown version', 'GET / HTTP/3.7\r\nHost: x\r\n\r\n', 505],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505],
  ['no Host', `GET ${API}/whoami HTTP/1.1\r\n${AUTH}\r\n\r\n`, 400],
  ['two Hosts', `GET ${API}/whoami HTTP/1.1\r\nHost: x\r\n${AUTH}\r\nHost: y\r\n\r\n`, 400],
  ['two codings', `${POST}Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n`, 400],
  ['two lengths', `${POST}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, 400],
  ['broken chunks', `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, 400],
  ['an expectation', `${GET}Expect: the-best\r\n\r\n`, 417],
  ['huge fields', `${GET}X: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
  [
    'many fields',
    `${GET}${Array.from({ length: 9_000 }, (_, i) => `X-${i}: ${i}\r\n`).join('')}\r\n`,
    431,
  ],
  ['a huge target', `GET /${'x'.repeat(40_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 414],
])('%s', async (_name, bytes, status) => {
  const answers = await sendRaw(it_.port, bytes);
  expect(answers).toHaveLength(1);
  expect(answers[0]).toMatchObject({
    status,
    json: body(status),
    headers: { 'content-type': 'application/json; charset=utf-8', connection: 'close' },
  });
  const always = {
    'request-id': expect.stringMatching(/./) as unknown,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  };
  expect(answers[0]?.headers).toMatchObject(always);
});

test.each([
  ['a head that never ends', `GET ${API}/whoami HTTP/1.1\r\nHost: x\r\n`],
  ['a body that never comes', `${POST}Content-Length: 100\r\n\r\n{"a":`],
])('%s: 408', async (_name, bytes) => {
  const answers = await sendRaw(it_.port, bytes);
  expect(answers).toHaveLength(1);
  expect(answers[0]).toMatchObject({
    status: 408,
    json: body(408),
    headers: { connection: 'close' },
  });
});

test('pipelined requests are answered in order', async () => {
  const answers = await sendRaw(
    it_.port,
    `${GET}\r\n${POST}Content-Length: 9\r\n\r\n{"a":"b"}GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n${GET}\r\n`,
    4,
  );
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 404, 200]);
});

test('a malformed request after a good one is answered after it', async () => {
  const open = it_.sample.close();
  const answers = sendRaw(it_.port, [
    `GET ${API}/slow HTTP/1.1\r\nHost: x\r\n${AUTH}\r\n\r\n`,
    'BREW / HTTP/1.1\r\n\r\n',
  ]);
  await turnsUntil(() => it_.sample.entered.includes('slow'));
  open();
  expect((await answers).map(({ status }) => status)).toEqual([200, 501]);
});

test('Expect: 100-continue is answered', async () => {
  const answers = await sendRaw(
    it_.port,
    `${POST}Expect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
  );
  expect(answers.map(({ status }) => status)).toEqual([200]);
});

test('HTTP/1.0 without a Host is accepted', async () => {
  expect(await sendRaw(it_.port, `GET ${API}/whoami HTTP/1.0\r\n${AUTH}\r\n\r\n`)).toMatchObject([
    { status: 200 },
  ]);
});

test('nothing is executed after an answer that closes the connection', async () => {
  const before = it_.sample.entered.length;
  const twoHosts = `GET ${API}/whoami HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n`;
  const remove = `DELETE ${API}/account/1 HTTP/1.1\r\nHost: x\r\n${AUTH}\r\n\r\n`;
  const answers = await sendRaw(it_.port, twoHosts + remove);
  expect(answers.map(({ status }) => status)).toEqual([400]);
  expect(it_.sample.entered).toHaveLength(before);
});
