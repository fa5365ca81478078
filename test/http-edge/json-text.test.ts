import { roundedIn, withRoundedMarked } from '../../src/foundation/json-text.js';

const rounded = (json: string) => roundedIn(withRoundedMarked(json));

test('an integer that parsing rounds is found by its member', () => {
  expect(
    rounded(
      '{"id":9007199254740992,"a":{"b":[1,{"c":-9007199254740993}]},"d.e":123456789012345678901234567890}',
    ),
  ).toEqual(['id', 'a.b[1].c', 'd.e']);
});

test.each([
  '{}',
  '{"a":9007199254740991,"b":-9007199254740991}',
  '{"a":12345678901234567.0,"b":1e21,"c":1.12345678901234567,"d":-12345678901234567E+2}',
  '{"a":"12345678901234567","b":"\\"12345678901234567"}',
  '{"a\\\\":"12345678901234567","12345678901234567":1}',
])('no integer of %s is rounded', (json) => {
  expect(withRoundedMarked(json)).toBeUndefined();
});

test('the search takes a megabyte of text, of escapes and of numbers', () => {
  const some = [`"${'x'.repeat(2 ** 20)}"`, `"${'\\\\'.repeat(2 ** 19)}"`, '1234567890123456'];
  expect(
    rounded(`[${some.join(',')},${'1234567890123456,'.repeat(60_000)}12345678901234567]`),
  ).toEqual(['[60003]']);
});
