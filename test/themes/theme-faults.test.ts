// Over 5 s on a busy machine: the schema of themes is compiled, and each hostile text checked.
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { senderOf } from '../../src/mails/sender-address.js';
import { BUILT_IN_THEME } from '../../src/themes/built-in-theme.js';
import { mergePatch } from '../../src/themes/merge-members.js';
import { resolveTheme } from '../../src/themes/resolve-theme.js';
import { themeFaults } from '../../src/themes/theme-faults.js';
import { MAIL_TYPES, THEME_VARIABLES } from '../../src/themes/theme-instance.js';
import { THEME_SCHEMA } from '../../src/themes/theme-schema.js';
import { unknownNames, unknownNamesOfMail } from '../../src/themes/unknown-names.js';
import { FOREIGN_THEME } from './foreign-theme.js';

const BUILT_IN = { ...BUILT_IN_THEME };
const part = (values: unknown): string[] => themeFaults(values, { isWhole: false });
const at = (path: string, value: unknown): Record<string, unknown> =>
  path
    .split('/')
    .slice(1)
    .reduceRight<unknown>((inside, name) => ({ [name]: inside }), value) as Record<string, unknown>;

const WIDGET = '/widget/REFERRER_WIDGET/content';
const BODY = '/email/WELCOME/content/bodyContent';
const SUBJECT = '/email/REWARD_EARNED/configuration/subject';
const COLOR = `${WIDGET}/widgetCustomization/headerColor`;
const IMAGE = '/email/WELCOME/content/headerImageUrl';

test('the built-in theme is without fault, whole and in each of its parts', () => {
  expect(themeFaults(BUILT_IN, { isWhole: true })).toEqual([]);
  for (const [name, member] of Object.entries(BUILT_IN))
    expect(part({ [name]: member })).toEqual([]);
});

test('a whole document has its three members, a part need not', () => {
  expect(themeFaults({ widget: {} }, { isWhole: true })).toEqual([
    '/ lacks jsOptions',
    '/ lacks email',
  ]);
  expect(themeFaults({ jsOptions: {}, widget: {}, email: {} }, { isWhole: true })).toEqual([]);
  expect(part({})).toEqual([]);
});

test.each([
  [SUBJECT, 'You earned {{reward.text}}, {{user.firstName}}'],
  [BODY, THEME_VARIABLES.map((name) => `{{${name}}}`).join('\n')],
  [BODY, '{{#if friend.name}}{{friend.name}}{{else}}A friend{{/if}} {{#unless code}}-{{/unless}}'],
  [BODY, 'Our data: safe. JavaScript: a language. [Terms](https://acme.example/terms?a=data:1)'],
  [BODY, '[Go]({{shareLink}}) <mailto:help@acme.example>'],
  [COLOR, '#abc'],
  [COLOR, '#A1b2C3'],
  [IMAGE, ''],
  [IMAGE, 'https://cdn.acme.example/a.png?b=1'],
  [IMAGE, '//cdn.acme.example/a.png'],
  [IMAGE, "{{assets 'images/a.png'}}"],
  [IMAGE, 'https://cdn.acme.example/{{code}}.png'],
  ['/page/logoUrl', "{{assets 'logo.png'}}"],
  [SUBJECT, "{{stringEmptyHandler friend.name onEmpty='A friend'}} {{missing}}"],
  [BODY, '{{#with user}}{{math (lookup this "credit") "/" 100}}{{/with}} {{&code}}'],
  [BODY, '[Left out](javascript:alert(1)) <a href="data:text/html,x">too</a>'],
  [`${WIDGET}/shareMessaging/smsShareBody`, "Hi {{share-link 'SMS'}}"],
  ['/page/siteUrl', 'https://acme.example/'],
  ['/jsOptions/conversionUrls', ['/thanks', 'https://*.acme.example/.*']],
  [`${WIDGET}/widgetCustomization/widgetFont`, '"Helvetica Neue", Helvetica, Arial, sans-serif'],
  [`${WIDGET}/widgetCustomization/widgetFont`, 'Times New Roman'],
  [`${WIDGET}/widgetCustomization/widgetFont`, "'Times New Roman'"],
  ['/email/configuration/fromAddress', 'marketing@acme.example'],
  ['/email/configuration/fromAddress', "o'neil+news@acme.xn--p1ai"],
  ['/ours/nothing/knows', { it: ['{{', 'javascript:x', null] }],
])('%s takes %j', (path, value) => {
  expect(part(at(path, value))).toEqual([]);
});

test('a theme of another service is accepted, with the names that mails leave out', () => {
  expect(themeFaults(FOREIGN_THEME, { isWhole: true })).toEqual([]);
  const ajv = new Ajv2020({ formats: { email: true } });
  expect(ajv.validate(THEME_SCHEMA, FOREIGN_THEME)).toBe(true);
  const theme = resolveTheme(FOREIGN_THEME);
  expect(unknownNamesOfMail(theme, 'REFERRAL_CONVERTED').join(', ')).toBe(
    'format-reward, assets, companyName, math, lookup, reward.unit, address.street, ' +
      'companyUrl, user.referralCode, shareLinks',
  );
  expect(unknownNamesOfMail(theme, 'WELCOME')).toEqual([]);
  const page = { page: { heading: 'Hi {{a}} {{b c}} {{a}}', logoUrl: '{{assets "x"}}' } };
  expect(unknownNames(page)).toEqual([
    { path: '/page/heading', names: ['a', 'b', 'c'] },
    { path: '/page/logoUrl', names: ['assets'] },
  ]);
});

test.each([
  [SUBJECT, 'Hello\nBcc: x@evil.example', ' must be one line'],
  [SUBJECT, 'Hello\u2028there', ' must be one line'],
  ['/email/configuration/fromName', 'Shop\r\nBcc: x', ' must be one line'],
  ['/email/configuration/fromName', 'Shop <x>', ' is none: A name on one line, without @, <'],
  ['/email/configuration/fromName', 'boss@bank', ' is none: A name on one line, without @, <'],
  ['/page/heading', 'a\tb', ' must be one line'],
  [BODY, '{{{code}}}', ' `{{{` is not allowed'],
  [BODY, 'a\u0007b', ' holds control characters'],
  [BODY, 'x'.repeat(20_001), ' is longer than 20000 characters'],
  [`${WIDGET}/shareMessaging/smsShareBody`, 'Hi {{{code}}}', ' `{{{` is not allowed'],
  [IMAGE, 'pictures/a.png', ' must be an absolute'],
  ['/page/siteUrl', '//acme.example', ' must be an absolute'],
  ['/page/siteUrl', 'ftp://acme.example', ' must be an absolute'],
  ['/page/siteUrl', 'https://user:password@acme.example/', ' must be an absolute'],
  ['/jsOptions/conversionUrls', ['JavaScript:x'], '/0 must be a pattern of http'],
  [IMAGE, "{{{assets 'a.png'}}}", ' `{{{` is not allowed'],
  ['/email/configuration/fromAddress', 'no address', ' must be one e-mail address'],
  ['/email/configuration/fromAddress', 'shop@acme.c0', ' must be one e-mail address'],
  ['/email/configuration/fromAddress', 'shop@10.0.0.1', ' must be one e-mail address'],
  ['/email/configuration/fromAddress', '{{code}}@acme.example', ' must be one e-mail address'],
  ['/email/configuration/fromAddress', `${'a'.repeat(65)}@b.example`, ' must be one e-mail'],
])('the published schema refuses %s of %j, too; there is one line for it', (path, value, line) => {
  const { required: _, ...published } = THEME_SCHEMA;
  // To some validators a format says nothing.
  const validate = new Ajv2020({ formats: { email: true } }).compile(published);
  expect(validate(at(path, value))).toBe(false);
  expect(part(at(path, value))).toEqual([expect.stringContaining(path + line)]);
});

test.each([
  ['shop@acme.example', 'From shop@acme.example'],
  ['Shop@ACME.Example', 'From Shop@ACME.Example'],
  ['boss@bank.example', 'From ours@ledger.example, answers to boss@bank.example'],
  ['shop@mail.acme.example', 'From ours@ledger.example, answers to shop@mail.acme.example'],
  ['no address', 'From ours@ledger.example'],
  [undefined, 'From ours@ledger.example'],
])('at the domain acme.example, a theme with the address %s sends %s', (fromAddress, shown) => {
  const configuration = { fromName: 'Shop', ...(fromAddress !== undefined && { fromAddress }) };
  const ours = 'ours@ledger.example';
  const { from, replyTo, envelope } = senderOf(configuration, ours, ['acme.example']);
  expect(`From ${from.address}${replyTo === null ? '' : `, answers to ${replyTo}`}`).toBe(shown);
  expect(envelope).toBe(ours);
});

test('a name with an address, stored under older rules, is left out', () => {
  const { from } = senderOf({ fromName: 'Bank <boss@bank.example>' }, 'ours@ledger.example', []);
  expect(from.name).toBe('');
});

test('answers go to the address that a theme names, whatever one it may name', () => {
  const path = '/email/configuration/fromAddress';
  const sender = (fromAddress: string) =>
    senderOf({ fromName: 'Shop', fromAddress }, 'ours@ledger.example', []).replyTo;
  const label = fc.stringMatching(/^[a-zA-Z0-9!#$%&'*+=?^_`{|}~.@"()-]{1,70}$/);
  const address = fc.oneof(
    fc.emailAddress(),
    fc
      .tuple(label, fc.constantFrom('acme.example', 'a.b', 'x.c0', '-a.de', 'a_b.de'))
      .map(([local, host]) => `${local}@${host}`),
  );
  fc.assert(
    fc.property(address, (named) => {
      const isTaken = part(at(path, named)).length === 0;
      if (isTaken) expect(sender(named)).toBe(named);
    }),
  );
  for (const older of ['shop@acme.c0', `${'a'.repeat(65)}@acme.example`])
    expect(sender(older)).toBeNull();
});

test.each([
  [BODY, 'Hi {{user.firstName', ' does not parse'],
  [BODY, '{{> header}}', ' partials'],
  [IMAGE, '{{> header}}', ' partials'],
  [IMAGE, '{{code}}\n', ' must be one line'],
  ['/page/text', '{{user.constructor}}', ' not allowed in a path'],
  [`${WIDGET}/widgetCustomization/heading`, '{{a.__proto__}}', ' not allowed in a path'],
  [`${WIDGET}/shareMessaging/facebookShareImageURL`, '{{a.prototype}}', ' not allowed in a path'],
])('%s refuses %j with a line that no schema has', (path, value, line) => {
  expect(part(at(path, value))).toEqual([expect.stringContaining(path + line)]);
});

const HOSTILE: readonly (readonly [string, unknown])[] = [
  // Templates: `test/templates/templates.test.ts`.
  [BODY, '{{{code}}}'],
  ...[
    'a\r\nBcc: all@acme.example',
    'a\u2028b',
    'a\u0000b',
    'a\u001bb',
    '',
    '{{#if code}}a',
    'x'.repeat(1_001),
  ].map((text) => [SUBJECT, text] as const),
  ...['a\r\nBcc: b', 'a\u0085b', 'x'.repeat(256), '{{friend.name}} of Acme', '{{', 7, null].map(
    (name) => ['/email/configuration/fromName', name] as const,
  ),
  ...[
    'a@b.c\r\nBcc: d@e.f',
    'a@b\n',
    'no address',
    'a@',
    '@b.example',
    'a b@c.example',
    '{{code}}@acme.example',
    'a@b',
    '',
    7,
    null,
  ].map((address) => ['/email/configuration/fromAddress', address] as const),
  ...[
    'javascript:alert(1)',
    'JAVASCRIPT:alert(1)',
    'data:text/html,x',
    ' https://acme.example/',
    'https://acme.example/\n',
    'ftp://acme.example/',
    'file:///etc/passwd',
    'https://',
    'https://user:password@acme.example/',
    'https://acme.example/{{{code}}}',
    'https://acme.example/"onload="x',
    'acme.example',
    '/relative',
    'https:\\\\acme.example',
    `https://acme.example/${'x'.repeat(2_000)}`,
    7,
    ['https://acme.example/'],
  ].flatMap((url) => [['/page/siteUrl', url] as const, [IMAGE, url] as const]),
  ['/page/siteUrl', '//acme.example/'],
  ['/jsOptions/conversionUrls', ['javascript:x']],
  ['/jsOptions/conversionUrls', ['java\tscript:x']],
  ['/jsOptions/conversionUrls', '/thanks'],
  ['/jsOptions/conversionUrls', [7]],
  ['/jsOptions/conversionUrls', Array.from({ length: 1_001 }, () => '/')],
  ['/jsOptions/widgetUrlMappings', [{ url: 'data:x' }]],
  ['/jsOptions/widgetUrlMappings', [{ showAsCTA: 'true' }]],
  ['/jsOptions/widgetUrlMappings', [{ widgetType: 'OTHER' }]],
  // Colours, fonts and the like.
  ...['red', '#12', 'rgb(1,2,3)', '#abc;}', '#abc\n', '', 0].map(
    (color) => [COLOR, color] as const,
  ),
  ...['Comic Sans', 'Arial;}', 'Lato, url(x)', 'Lato, "', 'expression(x)', '', 7].map(
    (font) => [`${WIDGET}/widgetCustomization/widgetFont`, font] as const,
  ),
  [`${WIDGET}/widgetCustomization/heading`, ''],
  [`${WIDGET}/shareMessaging/smsShareBody`, 'abc'],
  [`${WIDGET}/shareMessaging/emailShareSubject`, 'many\nlines'],
  ['/widget/CONVERSION_WIDGET/content/widgetCustomization/widgetHeaderImage', ''],
  ['/widget/CONVERSION_WIDGET/content/widgetCustomization/buttonCopy', ''],
  ['/widget/CONVERSION_WIDGET/cta/content/buttonSide', 'up'],
  ['/widget/CONVERSION_WIDGET/cta/content/buttonPosition', 'left'],
  ['/widget/CONVERSION_WIDGET/cta/content/buttonWidth', 1.5],
  ['/widget/CONVERSION_WIDGET/cta/content/buttonWidth', '160'],
  ['/widget/CONVERSION_WIDGET/cta/content/buttonText', '{{nothing'],
  ['/jsOptions/widget/defaultWidgetType', 'OTHER_WIDGET'],
  ['/email/WELCOME/content/hasShareLink', 'yes'],
  ['/page/heading', 'two\nlines'],
  ['/page/color', 'blue'],
  ['/page', []],
  ['/email', 'text'],
  ['/widget', null],
];

test.each(
  HOSTILE.map(([path, value]) => [path, JSON.stringify(value).slice(0, 60), value] as const),
)('%s refuses %s', (path, _, value) => {
  const faults = part(at(path, value));
  expect(faults).not.toEqual([]);
  // Each line names the member, or one inside it.
  for (const fault of faults)
    expect([path, fault]).toEqual([path, expect.stringMatching(`^(${path}|/ )`)]);
});

test('a template is checked in every text, with the path of each', () => {
  const texts = MAIL_TYPES.flatMap((type) =>
    ['headerContent', 'bodyContent', 'footer', 'shareCTA', 'shareButtonHeader'].map(
      (name) => `/email/${type}/content/${name}`,
    ),
  );
  texts.push(...MAIL_TYPES.map((type) => `/email/${type}/configuration/subject`));
  texts.push('/page/heading', '/page/text', '/page/buttonText');
  texts.push(
    ...['heading', 'headerDetails'].map((name) => `${WIDGET}/widgetCustomization/${name}`),
  );
  texts.push(`${WIDGET}/shareMessaging/twitterShareBody`);
  const values = texts.reduce<Record<string, unknown>>(
    (before, path) => ({ ...mergePatch(before, at(path, 'not {{open')) }),
    {},
  );
  expect(
    part(values)
      .map((fault) => fault.split(' ')[0])
      .sort(),
  ).toEqual(texts.sort());
});

test('a document that is no object, nested too deep, or cannot be stored is refused', () => {
  for (const values of [null, [], 'text', 7, true])
    expect(part(values)).toEqual(['/ must be object']);
  let deep: unknown = 1;
  for (let depth = 0; depth < 10_000; depth++) deep = { deep };
  expect(part(deep)).toEqual(['/ is nested deeper than 32']);
  expect(part({ ours: '\ud800' })).toEqual([
    '/ours holds a NUL character or half a surrogate pair',
  ]);
  expect(part({ '\u0000': 1 })).toEqual(['/\uFFFD holds a NUL character or half a surrogate pair']);
  expect(part(JSON.parse('{"a":{"__proto__":{"b":1}}}'))).toEqual([
    '/ holds a forbidden member (__proto__)',
  ]);
});
