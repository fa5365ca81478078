import { problemsOfParams } from '../../src/exports/export-params.js';
import { isMailAddress } from '../../src/foundation/mail-address.js';
import { fileText, storableJson, unstorablePath } from '../../src/foundation/outside-text.js';

test('a file is UTF-8 without NUL, and a mark of its byte order is left out', () => {
  expect(fileText(Buffer.from('\uFEFFgr\u00fcn\n\u{1F600}'))).toEqual({
    text: 'gr\u00fcn\n\u{1F600}',
  });
  expect(fileText(Buffer.from(''))).toEqual({ text: '' });
  const latin1 = Buffer.concat([Buffer.from('fine\nfine\n'), Buffer.from('gr\u00fcn', 'latin1')]);
  const fault = (line: number): object => ({
    fault: `line ${line} is not valid UTF-8; save the file as UTF-8`,
  });
  expect(fileText(latin1)).toEqual(fault(3));
  // Half a surrogate pair, as other programs write it, and a character that is cut off.
  expect(fileText(Buffer.from([0x61, 0x0a, 0xed, 0xa0, 0x80, 0x0a]))).toEqual(fault(2));
  expect(fileText(Buffer.from([0x61, 0x0a, 0x62, 0x0a, 0xe2, 0x82]))).toEqual(fault(3));
  expect(fileText(Buffer.from('a\nb\0\nc'))).toEqual({ fault: 'line 2 holds a NUL character' });
});

test('parsed JSON is searched for text that cannot be stored, names included', () => {
  const found = (json: string) => unstorablePath(JSON.parse(json));
  expect(found('{"a":[1,"\u{1F600}",{"b/c":"x\\ud800"}]}')).toBe('/a/2/b~1c');
  expect(found('{"a":{"__proto__":["\\u0000"]}}')).toBe('/a/__proto__/0');
  expect(found('{"a":{"b\\udfff":1}}')).toBe('/a/b\uFFFD');
  expect(found('"\\u0000"')).toBe('/');
  expect(found('{"a":["\\ud83d\\ude00",null,true]}')).toBeUndefined();
});

test.each([
  ['"a\\u0000b\\ud800"', 'a\uFFFDb\uFFFD'],
  ['"\\ud83d\\ude00 \\ude00\\ud83d"', '\u{1F600} \uFFFD\uFFFD'],
  ['"\\\\u0000 \\\\\\u0000 \\u00e9 \\n"', '\\u0000 \\\uFFFD \u00e9 \n'],
])('JSON %s is stored as %j', (json, text) => {
  expect(JSON.parse(storableJson(json))).toBe(text);
});

test('a length is one of characters: a pair of surrogates is one', () => {
  expect(problemsOfParams({ programId: '😀'.repeat(255) })).toEqual([]);
  expect(problemsOfParams({ programId: '😀'.repeat(256) })).toHaveLength(1);
  const address = (label: number) => `a@${Array(4).fill('𠮷'.repeat(label)).join('.')}.com`;
  expect([60, 62].map((label) => isMailAddress(address(label)))).toEqual([true, false]);
});
