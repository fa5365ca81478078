import addFormats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { BUILT_IN_THEME } from '../../src/themes/built-in-theme.js';
import { mergePatch, type Members } from '../../src/themes/merge-members.js';
import type { OwnValues } from '../../src/themes/resolve-theme.js';
import { MAIL_TYPES } from '../../src/themes/theme-instance.js';
import { THEME_SCHEMA } from '../../src/themes/theme-schema.js';
import { Themes } from '../../src/themes/themes.js';

const themesOf = (own: OwnValues): Themes =>
  new Themes({
    ownValues: (_scope, locales) =>
      Promise.resolve(
        new Map(
          locales.flatMap((locale) => {
            const values = own.get(locale);
            return values === undefined ? [] : [[locale, values] as const];
          }),
        ),
      ),
  });

const themeOf = async (own: OwnValues, locale: string | null) =>
  (await themesOf(own).themeFor('acme', 'live', locale)).theme;

const heading = (text: string): Members => ({ page: { heading: text } });

/** The value at a path of members; undefined: there is none. */
const at = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (node, name) =>
      typeof node === 'object' && node !== null && Object.hasOwn(node, name)
        ? Reflect.get(node, name)
        : undefined,
    value,
  );

test('the built-in theme fits the schema and has every mail', () => {
  const validate = addFormats
    .default(new Ajv2020({ allErrors: true, strict: true }))
    .compile(THEME_SCHEMA);
  expect([validate(BUILT_IN_THEME), validate.errors]).toEqual([true, null]);
  for (const type of MAIL_TYPES) {
    expect(BUILT_IN_THEME.email[type].configuration.subject).not.toBe('');
    expect(BUILT_IN_THEME.email[type].content.bodyContent).not.toBe('');
  }
});

test('a tenant without values has the built-in theme in every locale', async () => {
  for (const locale of [null, 'fr', 'fr_CA', 'no locale', ''])
    expect(await themeOf(new Map(), locale)).toEqual(BUILT_IN_THEME);
});

test('a locale falls back to its language, then to the default', async () => {
  const own: OwnValues = new Map([
    [null, { page: { heading: 'default', text: 'default', color: '#000' } }],
    ['fr', { page: { heading: 'fr', text: 'fr' } }],
    ['fr_CA', { page: { heading: 'fr_CA' } }],
    ['en', heading('en')],
  ]);
  expect((await themeOf(own, 'fr_CA')).page).toMatchObject({
    heading: 'fr_CA',
    text: 'fr',
    color: '#000',
    buttonText: BUILT_IN_THEME.page.buttonText,
  });
  expect((await themeOf(own, 'fr_FR')).page).toMatchObject({ heading: 'fr', color: '#000' });
  expect((await themeOf(own, 'de_AT')).page).toMatchObject({ heading: 'default' });
});

test('its texts are in the requested locale, unless only the default has some', async () => {
  const own: OwnValues = new Map([
    [null, heading('default')],
    ['fr', heading('fr')],
    ['de_CH', heading('de_CH')],
  ]);
  const localeOf = async (locale: string | null) =>
    (await themesOf(own).themeFor('acme', 'live', locale)).locale;
  const asked = [null, 'fr', 'fr_CA', 'de_CH', 'de', 'en_GB', 'it', 'no locale'];
  expect(await Promise.all(asked.map(localeOf))).toEqual([
    ...(['en', 'fr', 'fr_CA', 'de_CH', 'en', 'en_GB', 'en', 'en'] as const),
  ]);
});

test.each([
  ['a text of another type', { email: { WELCOME: { configuration: { subject: 7 } } } }],
  ['an object in the place of a text', { page: { heading: { text: 'x' } } }],
  ['null in the place of an object', { widget: null }],
  ['a text in the place of a list', { jsOptions: { conversionUrls: '/thanks' } }],
])('with %s, stored under another schema, it is the built-in theme', async (_, values) => {
  expect(await themeOf(new Map([[null, values]]), null)).toEqual(BUILT_IN_THEME);
});

test('members that the schema does not define are kept, and lists are not merged', async () => {
  const own: OwnValues = new Map<string | null, Members>([
    [null, { ours: { a: 1, list: [1, 2] }, jsOptions: { conversionUrls: ['/thanks', '/done'] } }],
    ['fr', { ours: { b: 2, list: [3] }, jsOptions: { conversionUrls: ['/merci'] } }],
  ]);
  const theme = await themeOf(own, 'fr');
  expect(theme).toMatchObject({ ours: { a: 1, b: 2, list: [3] } });
  expect(theme.jsOptions.conversionUrls).toEqual(['/merci']);
});

/** Any locale, of few languages, so that some share one; and texts that are none. */
const language = fc.oneof(fc.constantFrom('en', 'fr', 'zh'), fc.stringMatching(/^[a-z]{2}$/));
const country = fc.oneof(fc.constantFrom('CA', 'US'), fc.stringMatching(/^[A-Z]{2}$/));
const locale = fc.oneof(
  language,
  fc.tuple(language, country).map((parts) => parts.join('_')),
);
const noLocale = fc.constantFrom('fr-CA', 'FR', 'fr_ca', 'fra', 'zh_Hans_CN', '', '__proto__');

/** A value of any type but an object, for a member of any name, in any depth. */
const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.array(fc.jsonValue()));
const name = fc.oneof(
  fc.constantFrom('page', 'widget', 'email', 'a', '__proto__', 'constructor', 'toString'),
  fc.string(),
);
// The same path is an object in all layers or in none, as the schema has it.
const ofAnyName = fc.tuple(
  fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => [...names, 'a leaf']),
  leaf,
);
/** A value of its type for a member that the schema knows. */
const known = fc
  .constantFrom(...leavesOf({ ...BUILT_IN_THEME }))
  .chain(([names, value]) =>
    fc.tuple(fc.constant(names), typeof value === 'string' ? fc.string() : fc.constant(value)),
  );
const member: fc.Arbitrary<readonly [readonly string[], unknown]> = fc.oneof(ofAnyName, known);
const layers = fc.array(
  fc.tuple(fc.oneof(fc.constant(null), locale), fc.array(member, { maxLength: 8 })),
  { maxLength: 6 },
);

test('every member is that of the nearest layer that has it, whatever the locales and members', async () => {
  const shown = (own: OwnValues, asked: string | null) =>
    themesOf(own).shown({ tenant: 'acme', mode: 'live' }, asked);
  // One of those that have values, too, or another one of the same language.
  const asked = fc.oneof(locale, noLocale, fc.constant(null));
  await fc.assert(
    fc.asyncProperty(layers, asked, fc.nat(), fc.boolean(), async (given, other, at_, isOther) => {
      const own = new Map(
        given.map(([one, members]) => [
          one,
          members.reduce<Members>((values, [path, value]) => withLeaf(values, path, value), {}),
        ]),
      );
      const one = isOther ? other : ([...own.keys()][at_ % Math.max(1, own.size)] ?? null);
      const isLocale = one !== null && /^[a-z]{2}(_[A-Z]{2})?$/.test(one);
      const nearest = isLocale ? [one, one.slice(0, 2), null] : [null];
      const found = nearest.map((each) => own.get(each));
      const theme = await themeOf(own, one);
      const view = await shown(own, one);
      const paths = given.flatMap(([, members]) => members.map(([path]) => path));
      for (const path of [
        ...paths,
        ['page', 'heading'],
        ['email', 'WELCOME', 'content', 'footer'],
      ]) {
        const first = (values: readonly (object | undefined)[]) =>
          at(
            values.find((each) => at(each, path) !== undefined),
            path,
          );
        expect([one, path, at(theme, path)]).toEqual([
          one,
          path,
          first([...found, BUILT_IN_THEME]),
        ]);
        const isBuiltIn = !own.has(null);
        expect(at(view, path)).toEqual(first(isBuiltIn ? [...found, BUILT_IN_THEME] : found));
      }
      for (const result of [theme, view])
        expect(Object.getPrototypeOf(result)).toBe(Object.prototype);
    }),
  );
});

test('a patch replaces, adds and removes members, and leaves the others', () => {
  const before = { a: 1, b: { c: 2, d: 3 }, e: [1] };
  const patch = { a: null, b: { c: null, f: { g: null, h: 4 } }, e: [2], i: 5 };
  expect(mergePatch(before, patch)).toEqual({ b: { d: 3, f: { h: 4 } }, e: [2], i: 5 });
  expect(before).toEqual({ a: 1, b: { c: 2, d: 3 }, e: [1] });
});

function withLeaf(
  members: Members,
  [name = '', ...rest]: readonly string[],
  leaf: unknown,
): Members {
  const inside = at(members, [name]);
  const value =
    rest.length === 0
      ? leaf
      : withLeaf(typeof inside === 'object' && inside !== null ? { ...inside } : {}, rest, leaf);
  return Object.fromEntries([
    ...Object.entries(members).filter(([key]) => key !== name),
    [name, value],
  ]);
}

/** The paths of a document's members, with their values. */
function leavesOf(members: unknown): (readonly [readonly string[], unknown])[] {
  if (typeof members !== 'object' || members === null || Array.isArray(members))
    return [[[], members]];
  return Object.entries(members).flatMap(([first, inside]) =>
    leavesOf(inside).map(([rest, value]) => [[first, ...rest], value] as const),
  );
}
