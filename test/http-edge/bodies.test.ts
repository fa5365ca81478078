import { API, LIVE, useSampleApp } from './sample-app.js';
import { errorBody } from '../support/error-body.js';
import { sendRaw } from '../support/raw-http.js';

const it_ = useSampleApp();

type Bytes = string | Buffer<ArrayBuffer>;

async function send(
  path: string,
  body: Bytes | undefined,
  headers: Record<string, string> = { 'content-type': 'application/json' },
  method = 'POST',
) {
  const response = await fetch(`${it_.origin}${API}${path}`, {
    method,
    headers: { ...LIVE, ...headers },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  return {
    status: response.status,
    json: (text === '' ? undefined : JSON.parse(text)) as Record<string, unknown>,
  };
}

/** Through a socket, where no client adds a content type. */
async function sendBare(
  path: string,
  body: string,
  headers: readonly string[] = [],
  method = 'POST',
) {
  const head = [
    `${method} ${API}${path} HTTP/1.1`,
    'Host: x',
    'Connection: close',
    `Authorization: ${LIVE.authorization}`,
    ...headers,
  ];
  if (!headers.some((header) => /^transfer-encoding/i.test(header)))
    head.push(`Content-Length: ${Buffer.byteLength(body)}`);
  const [answer] = await sendRaw(it_.port, `${head.join('\r\n')}\r\n\r\n${body}`);
  return answer;
}

const badRequest = {
  ...errorBody(400, 'BAD_REQUEST'),
  validationErrors: [expect.any(String)],
};

test.each([
  ['no type at all', []],
  ['an empty type', ['Content-Type:']],
  ['application/json', ['Content-Type: application/json']],
  ['in any case, with a charset', ['Content-Type: Application/JSON; Charset="UTF-8"']],
  ['utf8', ['content-type: application/json;charset=utf8']],
  ['identity encoding', ['Content-Encoding: identity']],
])('a JSON body %s is read', async (_name, headers) => {
  const answer = await sendBare('/echo', '{"a":[1,"é😀"]}', headers);
  expect(answer).toMatchObject({ status: 200, json: { body: { a: [1, 'é😀'] } } });
});

test.each([
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/jsonx',
  'application/json; charset=iso-8859-1',
  'application/json; charset=utf-16',
  ';',
  'application/json, text/plain',
])('a body of the type %s: 415 RS046', async (type) => {
  for (const body of ['{"a":1}', '']) {
    const answer = await sendBare('/echo', body, [`Content-Type: ${type}`]);
    expect(answer).toMatchObject({
      status: 415,
      json: { statusCode: 415, apiErrorCode: 'UNSUPPORTED_MEDIA_TYPE', rsCode: 'RS046' },
    });
  }
});

test('a compressed body is answered with 415', async () => {
  expect(await sendBare('/echo', '{}', ['Content-Encoding: gzip'])).toMatchObject({
    status: 415,
  });
});

test('a JSON body in chunks is put together', async () => {
  const body = '4\r\n{"a"\r\n3\r\n:1}\r\n0\r\n\r\n';
  expect(await sendBare('/echo', body, ['Transfer-Encoding: chunked'])).toMatchObject({
    status: 200,
    json: { body: { a: 1 } },
  });
});

test('a JSON body without content, or of white space, reaches a route that needs a body as undefined', async () => {
  expect(await sendBare('/echo', '')).toMatchObject({ status: 200, json: { body: null } });
  expect(await sendBare('/echo', ' \n')).toMatchObject({ status: 200, json: { body: null } });
  expect(await sendBare('/echo', '0\r\n\r\n', ['Transfer-Encoding: chunked'])).toMatchObject({
    status: 200,
    json: { body: null },
  });
  expect(await sendBare('/accountsync', '', ['Content-Type: application/json'])).toMatchObject({
    status: 400,
    json: { apiErrorCode: 'BAD_REQUEST' },
  });
});

const nested = (depth: number, open: string, close: string) =>
  `${open.repeat(depth)}${close.repeat(depth)}`;
test.each<[string, Bytes]>([
  ['broken', '{"a":'],
  ['a list', '[]'],
  ['null', 'null'],
  ['a comment', '/* */{"a":1}'],
  ['NaN', '{"a":NaN}'],
  ['an escaped NUL', '{"a":"\\u0000"}'],
  ['an escaped NUL in a key', '{"\\u0000":1}'],
  ['half a pair', '{"a":["\\ud800"]}'],
  ['the other half', '{"a":{"b":"x\\uDC00y"}}'],
  ['half a pair in a key', '{"a":{"\\udfff":1}}'],
  ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d])],
  ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
  ['__proto__', '{"__proto__":{"admin":true}}'],
  ['__proto__, nested', '{"a":[{"__proto__":1}]}'],
  ['__proto__, escaped', '{"\\u005f_proto__":1}'],
  ['constructor.prototype', '{"constructor":{"prototype":{"x":1}}}'],
  ['33 arrays', nested(33, '[', ']')],
  ['33 objects', `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`],
  ['100 000 arrays', nested(100_000, '[', ']')],
  ['100 000 objects', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
  ['100 000 arrays that never end', '['.repeat(100_000)],
])('the check of JSON answers %s with 400', async (_name, body) => {
  expect(await send('/echo', body)).toEqual({ status: 400, json: badRequest });
});

test('the check of JSON accepts bodies that only resemble bad ones', async () => {
  const bodies = [
    `{"a":${'['.repeat(31)}${']'.repeat(31)}}`,
    '{"constructor":"x"}',
    JSON.stringify({ text: '['.repeat(100), ['{"\\"['.repeat(50)]: '\\' }),
    '{"a":"\\ud83d\\ude00"}',
    '{"a":"__proto__"}',
    '{"proto":1}',
    '{"toString":1}',
  ];
  for (const body of bodies)
    expect(await send('/echo', body)).toEqual({ status: 200, json: { body: JSON.parse(body) } });
});

const MIB = 1024 * 1024;
const ofLength = (length: number) => `{"a":"${'x'.repeat(length - 8)}"}`;

test('the size of a body may be 1 MiB and not one byte more', async () => {
  expect((await send('/echo', ofLength(MIB))).status).toBe(200);
  const over = await send('/echo', ofLength(MIB + 1));
  expect(over).toEqual({ status: 413, json: errorBody(413, 'PAYLOAD_TOO_LARGE') });
});

test('the size of a body is limited in chunks as well', async () => {
  const chunked = (text: string) =>
    [...Array(17)].map(() => `${text.length.toString(16)}\r\n${text}\r\n`).join('') + '0\r\n\r\n';
  expect(
    await sendBare('/echo', chunked('x'.repeat(64 * 1024)), ['Transfer-Encoding: chunked']),
  ).toMatchObject({ status: 413 });
});

test.each<[string, string, string, string[]]>([
  ['nothing', 'POST', '', []],
  ['nothing, said to be JSON', 'POST', '', ['Content-Type: application/json']],
  ['nothing, of a broken type', 'POST', '', ['Content-Type: nonsense']],
  ['{}', 'POST', '{}', ['Content-Type: application/json']],
  ['{} as text', 'POST', ' { } ', ['Content-Type: text/plain']],
  ['more than {}', 'POST', '{"why":"because"}', ['Content-Type: application/json']],
])('a route whose body is empty takes %s', async (_name, method, body, headers) => {
  expect(await sendBare('/reward/r1/cancel', body, headers, method)).toMatchObject({
    status: 200,
    json: { id: 'r1' },
  });
});

test('a route whose body is empty accepts DELETE', async () => {
  for (const [body, headers] of [
    ['', ['Content-Type: text/plain']],
    ['{}', ['Content-Type: text/plain']],
    ['{}', []],
    ['', ['Content-Type: application/json']],
  ] as const) {
    expect(await sendBare('/account/1', body, headers, 'DELETE')).toMatchObject({ status: 204 });
  }
});

test('a route whose body is empty accepts GET with a body of any kind', async () => {
  expect(await sendBare('/whoami', 'hello', ['Content-Type: text/plain'], 'GET')).toMatchObject({
    status: 200,
  });
});

test('a route whose body is empty refuses other content that is not empty, even when it is too large', async () => {
  expect(await sendBare('/reward/r1/cancel', 'hello', ['Content-Type: text/plain'])).toMatchObject({
    status: 415,
  });
  expect(
    await sendBare('/reward/r1/cancel', 'x'.repeat(1024 * 1024 + 1), ['Content-Type: text/plain']),
  ).toMatchObject({ status: 415 });
  expect(
    await sendBare('/reward/r1/cancel', ' '.repeat(1024 * 1024 + 1), [
      'Content-Type: application/json',
    ]),
  ).toMatchObject({ status: 413 });
});

test('a route whose body is empty refuses broken JSON', async () => {
  expect(
    await sendBare('/reward/r1/cancel', '{', ['Content-Type: application/json']),
  ).toMatchObject({ status: 400 });
});
