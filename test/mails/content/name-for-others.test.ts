import { nameForOthers } from '../../../src/presenting/name-for-others.js';

test.each([
  ['Jean-Luc O’Neil', 'Jean-Luc O’Neil'],
  ["Dr. Ann D'Arc Jr.", "Dr. Ann D'Arc Jr."],
  ['  Søren  Ñandú 李 ', 'Søren Ñandú 李'],
  ['Lou\u0308', 'Lou\u0308'],
  ['Win at evil.example/x now', 'Win at evilexamplex now'],
  ['https://evil.example?a=1&b', 'httpsevilexamplea1b'],
  ['a\r\nBcc: b@c.example', 'a Bcc bcexample'],
  ['=?utf-8?B?aHR0cA==?= Ann', 'Ann'],
  ['Ann\u202e\u2066\u200f Lee', 'Ann Lee'],
  ['<b>{{code}}</b> $ 💰', 'bcodeb'],
  ['x'.repeat(255), 'x'.repeat(40)],
  ['𝒜'.repeat(41), '𝒜'.repeat(40)],
  ['...', '.'],
  ['', ''],
])('the name %j is %j in a text for another person', (name, shown) => {
  expect(nameForOthers(name)).toBe(shown);
});
