import fc from 'fast-check';
import { anyJson, character, TEXTS, type Values } from './schema-arbitraries.js';
import { RawText } from './slots.js';

/** What no client means to send: of every layer, from bytes of the path to members of the body. */

/** A member's value of a body, or a parameter. */
export const wildValue: Values = fc.oneof(
  anyJson,
  fc.string({ unit: character, maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc.constantFrom<unknown>(
    ...TEXTS,
    '\u0000',
    '\ud83d',
    '\r\nset-cookie: x=1',
    -0,
    1e308,
    2 ** 63,
    5e-324,
    [[[[]]]],
    { toString: 1, valueOf: 1, then: 1 },
    { length: -1 },
    { constructor: 1 },
    Array(2_000).fill(0),
  ),
);

/** A segment of a path. */
export const wildSegment: Values = fc.oneof(
  fc.string({ unit: character, maxLength: 20 }),
  fc
    .constantFrom(
      ...['%', '%zz', '%0', '%00', '%ff', '%c0%af', '%E0%A4%A', '%ED%A0%80', '%252F', '%2F%2e%2e'],
      ...[
        '.',
        '..',
        '%2e%2e',
        '',
        '*',
        ';a=b',
        '\u00ff\u00fe',
        ':id',
        '__proto__',
        'a/b',
        '?',
        '#',
      ],
      '%F0%9F%92%A9'.repeat(300),
      'x'.repeat(20_000),
    )
    .map((segment) => new RawText(segment)),
);

/** Follows the query. */
export const wildQuery: fc.Arbitrary<string> = fc.constantFrom(
  ...['&', '&=', '=&=', '&a', '&a=%zz', '&a=%00', '&a=%ff', '&__proto__=x', '&__proto__[x]=1'],
  ...['&constructor.prototype=1', '&limit[]=1', '&limit[$gt]=1', '&limit=1&limit=2', '&limit='],
  ...['&userId=a&userId=b', '&%6cimit=1', '&offset=9007199254740993', '&query=%F0%9F%92%A9', '??'],
  `&query=${'x'.repeat(5_000)}`,
  '&a=1'.repeat(1_500),
);

/** Changes the text of a JSON body into what is none, or hardly one. */
export type Mangling = (json: string, draw: number) => Buffer;

const deep = (open: string, close: string, depth: number): string =>
  open.repeat(depth) + close.repeat(depth);
const asFirst =
  (member: string): Mangling =>
  (json) =>
    Buffer.from(json.replace('{', json.startsWith('{}') ? `{${member}` : `{${member},`));
const instead =
  (text: string): Mangling =>
  () =>
    Buffer.from(text);

const MANGLINGS: readonly Mangling[] = [
  (json, draw) => Buffer.from(json.slice(0, draw % Math.max(1, json.length))),
  (json) => Buffer.from(`${json}x`),
  (json) => Buffer.from(`\ufeff${json}`),
  (json) => Buffer.from(json, 'utf16le'),
  (json) => Buffer.concat([Buffer.from(json.slice(0, -1)), Buffer.from([0xff, 0xfe, 0x7d])]),
  (json) => Buffer.from(json.replaceAll('"', "'")),
  (json) => Buffer.from(json.replace(/:\s*("[^"]*"|[\d.]+)/, ':1e999')),
  (json) => Buffer.from(json.replace(/"([a-z])/i, '"\\u0000$1')),
  (json) => Buffer.from(json.replace(/"([a-z])/i, '"\\ud800$1')),
  (json) => Buffer.from(`[${json}]`),
  (json) => Buffer.from(`${json}${' '.repeat(1024 * 1024)}`),
  (json, draw) => Buffer.from(deep('{"a":', '}', draw % 100).replace('}', `${json}}`)),
  asFirst('"__proto__":{"id":"x"}'),
  asFirst('"constructor":{"prototype":{"id":"x"}}'),
  asFirst('"id":"x","id":"y"'),
  asFirst('"toString":1,"hasOwnProperty":1'),
  instead(''),
  instead(' '),
  instead('null'),
  instead('0'),
  instead('"text"'),
  instead('[]'),
  instead('{"a":NaN}'),
  instead('{"amount":123456789012345678901234567890}'),
  instead(deep('[', ']', 32)),
  instead(deep('[', ']', 50_000)),
  instead('<?xml version="1.0"?><a/>'),
  instead('a=1&b=2'),
];

export const mangling: fc.Arbitrary<Mangling> = fc.constantFrom(...MANGLINGS);

/** Header fields that are added to those of the request, or replace them. */
export const wildHeaders: fc.Arbitrary<Readonly<Record<string, string>>> = fc.oneof(
  fc
    .constantFrom(
      ...['text/plain', 'application/xml', 'application/json; charset=utf-16', 'application/jso'],
      ...['application/json;charset=UTF-8', 'multipart/form-data; boundary=x', '', ';', 'a/b/c'],
      'application/x-www-form-urlencoded',
    )
    .map((type) => ({ 'content-type': type })),
  fc.constantFrom('gzip', 'br', 'identity', 'x').map((coding) => ({ 'content-encoding': coding })),
  fc
    .constantFrom('', ' ', 'x'.repeat(256), 'é', 'a,b', '"quoted"', '\t')
    .map((key) => ({ 'idempotency-key': key })),
  fc
    .constantFrom('', '0', '-1', '1e9', '9'.repeat(30), 'x', '1,2', '{"a":1}')
    .map((position) => ({ 'ledger-position-at-least': position })),
  fc
    .constantFrom('null', 'https://elsewhere.example', 'x')
    .map((origin) => ({ origin, 'sec-fetch-site': 'cross-site' })),
  fc.constantFrom('x', '::1, 1.2.3.4', '999.1.1.1').map((from) => ({ 'x-forwarded-for': from })),
  fc.constantFrom('x'.repeat(9_000), 'é\u00ff').map((agent) => ({ 'user-agent': agent })),
);

export const wildMethod = fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE');
