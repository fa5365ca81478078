import type { KnownExport } from '../../src/domain/export/export.decider.js';
import { rangeOf } from '../../src/http/exports/byte-range.js';
import { attachmentNamed, fileNameOf } from '../../src/http/exports/file-name.js';

const exportNamed = (name: string | null): KnownExport => ({
  status: 'completed',
  exportId: '0e',
  exportType: 'USER',
  format: 'CSV',
  texts: { name, requester: 'API', params: null },
  requestedAt: 1,
  expiresAt: 2,
  completedAt: 1,
  file: null,
  reason: null,
});

test.each([
  [null, 'user-0e.csv'],
  ['', 'user-0e.csv'],
  ['. . .', 'user-0e.csv'],
  ['May 2026', 'May 2026.csv'],
  ['../../etc/passwd', '_.._etc_passwd.csv'],
  ['a\\b:c*d?e"f<g>h|i%j;k', 'a_b_c_d_e_f_g_h_i_j_k.csv'],
  ['exe\u202Etxt.csv\u2066', 'exe_txt.csv_.csv'],
  ['name. . ', 'name.csv'],
  [' .hidden', 'hidden.csv'],
  ['CON', '_CON.csv'],
  ['nul.txt', '_nul.txt.csv'],
  ['Com1 ', '_Com1.csv'],
  ['LPT9 .x', '_LPT9 .x.csv'],
  ['com¹', '_com¹.csv'],
  ['CONIN$', '_CONIN$.csv'],
  [' aux.', '_aux.csv'],
  ['console', 'console.csv'],
  ['com', 'com.csv'],
  ['com10', 'com10.csv'],
  ['e\u0301', 'é.csv'],
])('the name of a downloaded file of %j is %j', (name, file) => {
  expect(fileNameOf(exportNamed(name))).toBe(file);
});

test.each(['a', 'é', '漢', '😀', '🇩🇪', 'Z̰̃'])(
  'the name of a downloaded file of 255 times %j has at most 255 bytes, all whole',
  (sign) => {
    const name = fileNameOf(exportNamed(sign.repeat(255)));
    const bytes = Buffer.byteLength(name);
    expect(bytes).toBeLessThanOrEqual(255);
    expect(bytes).toBeGreaterThan(255 - Buffer.byteLength(sign.normalize('NFC')));
    expect(name.replaceAll(sign.normalize('NFC'), '')).toBe('.csv');
  },
);

test('the name of a downloaded file that is cut does not end with blanks or dots', () => {
  expect(fileNameOf(exportNamed(`${'a'.repeat(248)} .${'b'.repeat(20)}`))).toBe(
    `${'a'.repeat(248)} .b.csv`,
  );
  expect(fileNameOf(exportNamed(`${'a'.repeat(249)} .${'b'.repeat(20)}`))).toBe(
    `${'a'.repeat(249)}.csv`,
  );
});

test.each([
  ["it's (1)*!~.csv", `attachment; filename="it's (1)*!~.csv"`],
  [
    "é 'x'(1).csv",
    `attachment; filename="_ 'x'(1).csv"; filename*=UTF-8''%C3%A9%20%27x%27%281%29.csv`,
  ],
  ['😀.zip', `attachment; filename="_.zip"; filename*=UTF-8''%F0%9F%98%80.zip`],
])('the name of a downloaded file %j is sent as %j', (name, header) => {
  expect(attachmentNamed(name)).toBe(header);
});

const HUGE = '9'.repeat(400);
test.each<[string | undefined, ReturnType<typeof rangeOf>]>([
  [undefined, 'whole'],
  ['bytes=0-0', { first: 0, last: 0 }],
  ['BYTES=2-3', { first: 2, last: 3 }],
  [' Bytes=2- ', { first: 2, last: 9 }],
  ['bytes= 2-3 ', { first: 2, last: 3 }],
  ['bytes=2-3,', { first: 2, last: 3 }],
  [`bytes=2-${HUGE}`, { first: 2, last: 9 }],
  ['bytes=2-99999999999999999', { first: 2, last: 9 }],
  [`bytes=${HUGE}-`, 'none'],
  [`bytes=-${HUGE}`, { first: 0, last: 9 }],
  ['bytes=00-000000000000000000001', { first: 0, last: 1 }],
  ['bytes=9-9', { first: 9, last: 9 }],
  ['bytes=10-10', 'none'],
  ['bytes=-0', 'none'],
  ['bytes=-3', { first: 7, last: 9 }],
  ['bytes=3-2', 'whole'],
  ['bytes=9007199254740993-9007199254740992', 'whole'],
  ['bytes=0-1,4-5', 'whole'],
  ['bytes=-1,-2', 'whole'],
  ['bytes=-', 'whole'],
  ['bytes=', 'whole'],
  ['bytes=a-b', 'whole'],
  ['bytes=-1-2', 'whole'],
  ['bytes=+1-2', 'whole'],
  ['bytes 0-1', 'whole'],
  ['lines=0-1', 'whole'],
])('a range %j of ten bytes is %j', (header, range) => {
  expect(rangeOf(header, 10)).toEqual(range);
});

test('a range of an empty file has no byte', () => {
  for (const header of ['bytes=0-', 'bytes=-1']) expect(rangeOf(header, 0)).toBe('none');
});
