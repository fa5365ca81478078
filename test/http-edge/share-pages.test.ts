import fc from 'fast-check';
import type { PromisedValue } from '../../src/domain/program.js';
import { acceptedLocales } from '../../src/http/share-pages/accept-language.js';
import { sharePage, type SharePageContent } from '../../src/http/share-pages/share-page.js';
import { localeFor } from '../../src/http/share-pages/share-pages.js';
import { BUILT_IN_THEME } from '../../src/themes/built-in-theme.js';
import { contrast, luminance, readableColors } from '../../src/themes/readable-color.js';
import { rewardInWords } from '../../src/themes/reward-in-words.js';
import type { PageTheme } from '../../src/themes/theme-instance.js';
import { HARMLESSLY_RENDERED, HOSTILE_VALUES } from '../templates/hostile-templates.js';
import { loadedBy, LOADING, PICTURES } from '../templates/loaded-addresses.js';
import { shapeOf, textOf } from '../templates/rendered-html.js';

const theme = (over: Partial<PageTheme> = {}): PageTheme => ({ ...BUILT_IN_THEME.page, ...over });
const FACTS: SharePageContent = {
  theme: theme(),
  locale: 'en',
  name: 'Ann L',
  code: 'ANNLEE',
  reward: '10 % off',
  url: 'https://share.example/r/acme/ANNLEE',
  shareLink: 'https://share.example/s/acme/ANNLEE',
};
const page = (over: Partial<SharePageContent> = {}) => sharePage({ ...FACTS, ...over });
const between = (html: string, start: string, end: string): string =>
  html.split(start)[1]?.split(end)[0] ?? '';
const bodyOf = (html: string) => between(html, '<body>', '</body>');
const headingOf = (html: string) => textOf(between(html, '<h1 dir="auto">', '</h1>'));

test.each([
  ['Ann L', '10 % off', 'Ann L gives you 10 % off'],
  ['Ann L', null, 'Ann L invites you'],
  [null, '10 % off', 'A friend gives you 10 % off'],
  [null, null, 'A friend invites you'],
])('the words of a page of %s and %s', (name, reward, heading) => {
  const { html } = page({ name, reward });
  expect(headingOf(html)).toBe(heading);
  expect(html).toContain(`<title>${heading}</title>`);
  expect(html).toContain(`<meta property="og:title" content="${heading}">`);
  expect(html).toContain('>ANNLEE</code>');
});

test('the words of a page are filled in wherever the theme has them, also in addresses', () => {
  const text =
    '**{{friend.name}}** [you](https://shop.example/?n={{friend.name}}&c={{code}}) [me]({{shareLink}}) {{shareLink}}';
  const { html } = page({ name: 'Ann & "B" %EE%80%81', theme: theme({ text }) });
  expect(html).toContain('<strong>Ann &#38; &#34;B&#34; %EE%80%81</strong>');
  expect(html).toContain('n=Ann%20%26%20%22B%22%20%25EE%2580%2581&amp;c=ANNLEE"');
  expect(html).toContain('<a href="https://share.example/s/acme/ANNLEE">me</a>');
  expect(textOf(bodyOf(html))).toContain('me https://share.example/s/acme/ANNLEE');
});

test('the words of a page have no button without a site or a label, and no logo without an address', () => {
  expect(page().html).not.toMatch(/class="button"|<img|og:image/);
  const siteUrl = 'https://shop.example/start?a=1&b="';
  const { html } = page({ theme: theme({ siteUrl, buttonText: '**Go** {{code}}' }) });
  expect(html).toContain(
    '<a class="button" href="https://shop.example/start?a=1&#38;b=%22">**Go** ANNLEE</a>',
  );
  expect(page({ theme: theme({ siteUrl, buttonText: '' }) }).html).not.toContain('"button"');
  for (const bad of ['javascript:alert(1)', 'data:text/html,x', '//evil.example', 'x'])
    expect(page({ theme: theme({ siteUrl: bad, logoUrl: bad }) }).html).not.toMatch(
      /class="button"|<img/,
    );
});

test('the words of a page leave out names that are unknown, and a logo whose address has no value', () => {
  const text =
    "{{math 1 '+' 1}}{{#with friend}}x{{/with}}[a](javascript:b) {{companyName}}{{code}}";
  const logoUrl = 'https://img.example/{{code}}.png?n={{friend.name}}{{user.firstName}}';
  const { html, contentSecurityPolicy } = page({ theme: theme({ text, logoUrl }) });
  expect(html).toContain('<div class="text" dir="auto"><p><a>a</a> ANNLEE</p>');
  expect(html).toContain('src="https://img.example/ANNLEE.png?n=Ann%20L"');
  expect(contentSecurityPolicy).toContain('img-src https://img.example;');
  for (const none of ["{{assets 'logo.png'}}", '{{{code}}}'])
    expect(page({ theme: theme({ logoUrl: none }) }).html).not.toMatch(/<img|og:image/);
});

test('the words of a page are the built-in ones where those of the theme cannot be rendered', () => {
  const text = '{{#each a}}{{this}}{{/each}}{{{code}}}';
  const siteUrl = 'https://shop.example/';
  const { html } = page({ theme: theme({ text, siteUrl, heading: '{{missing' }) });
  expect(headingOf(html)).toBe('Ann L gives you 10 % off');
  expect(html).toContain('>Use this code when you sign up:</p>');
  expect(html).toContain('href="https://shop.example/">Go to the site</a>');
});

test('the words of a page have the built-in heading where that of the theme is empty', () => {
  const own = theme({ heading: '{{friend.name}}' });
  expect(headingOf(page({ theme: own }).html)).toBe('Ann L');
  const { html } = page({ theme: own, name: null });
  expect(headingOf(html)).toBe('A friend gives you 10 % off');
  expect(html).toContain('<title>A friend gives you 10 % off</title>');
});

test('the words of a page describe themselves without tags, and not at length', () => {
  const text = `a *"word"* &amp; <script>x</script>${' longer'.repeat(100)}`;
  const { html } = page({ theme: theme({ text }) });
  const description = between(html, 'name="description" content="', '">');
  expect(description).toMatch(/^a &#34;word&#34; &amp; [^<>"]* …$/);
  expect(description.length).toBeLessThan(220);
});

const { html: harmless } = page({ name: 'Ann' });

test.each(HOSTILE_VALUES.map((value) => [value]))('%j is text', (value) => {
  const { html } = page({ name: value, code: 'X' });
  expect(shapeOf(bodyOf(html))).toEqual(shapeOf(bodyOf(harmless)));
  expect(html.split('<meta')).toHaveLength(harmless.split('<meta').length);
});

test('the page loads nothing but images, and its policy lets it load the logo alone', () => {
  expect(loadedBy(page().html)).toEqual([]);
  const logoUrl = 'https://img.example/a.png';
  for (const text of [...HARMLESSLY_RENDERED, ...LOADING]) {
    const lines = { heading: text, buttonText: text, siteUrl: 'https://shop.example/' };
    const own = theme({ ...lines, text, logoUrl });
    const { html, contentSecurityPolicy } = page({ theme: own, name: text, code: text });
    const loaded = loadedBy(html);
    expect([text, loaded]).toEqual([text, expect.arrayContaining([logoUrl])]);
    const images = [logoUrl, 'https://ok.example/x.png', ...PICTURES];
    expect([text, loaded.filter((address) => !images.includes(address))]).toEqual([text, []]);
    expect(contentSecurityPolicy).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; img-src https:\/\/img\.example; /,
    );
  }
});

test('the policy allows one style and the images of the host of the logo', () => {
  expect(page().contentSecurityPolicy).toMatch(
    /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
  );
  const logoUrl = 'https://cdn.example:8443/logo.png?a=1&b=2';
  const withLogo = page({ theme: theme({ logoUrl }) });
  expect(withLogo.contentSecurityPolicy).toContain('; img-src https://cdn.example:8443; ');
  expect(withLogo.html).toContain(
    '<meta property="og:image" content="https://cdn.example:8443/logo.png?a=1&#38;b=2">',
  );
  for (const hostile of ["https://a;script-src'x'/l.png", 'https://a,b/l.png', 'https://*/l.png'])
    expect(page({ theme: theme({ logoUrl: hostile }) }).contentSecurityPolicy).not.toContain(
      'img-src',
    );
});

test('the style is of the colour alone', () => {
  const colored = (color: string) =>
    between(page({ theme: theme({ color }) }).html, '<style>', '</style>');
  expect(colored('#FFE')).toContain('--color: #FFFFEE; --on-color: #000000;');
  expect(colored('red; } * { display: none')).toBe(colored(BUILT_IN_THEME.page.color));
});

test('white or black is read well on any colour', () => {
  const color = fc.integer({ min: 0, max: 0xffffff }).map((n) => n.toString(16));
  const colors = fc.oneof(
    color.map((hex) => `#${hex.padStart(6, '0')}`),
    color.map((hex) => `#${hex.padStart(3, '0').slice(0, 3)}`),
  );
  fc.assert(
    fc.property(colors, (one) => {
      const { background, text } = readableColors(one);
      expect(contrast(luminance(background), luminance(text))).toBeGreaterThanOrEqual(4.5);
    }),
  );
  const textOn = (one: string): string => readableColors(one).text;
  expect(['#fff', '#000', '#777', '#767676', '#ff0', '#00f'].map(textOn)).toEqual(
    ['#000', '#fff', '#000', '#000', '#000', '#fff'].map((three) => three + three.slice(1)),
  );
  expect(readableColors('red').background).toBe(BUILT_IN_THEME.page.color);
  expect(contrast(luminance('#000000'), luminance('#ffffff'))).toBe(21);
});

test.each([
  [undefined, []],
  ['de-CH, de;q=0.9, en;q=0.8', ['de_CH', 'de', 'en']],
  ['en;q=0.1,fr-ca;q=0.5, DE ; q=0.7', ['de', 'fr_CA', 'en']],
  ['fr;q=0, de;q=x, en;q=0.001, it;q=-1', ['en']],
  ['zh-Hans-CN, sr-Latn, en-US-x-twain', ['zh_CN', 'sr', 'en_US']],
  ['xxx, d, e-n, {{code}}, ../../etc', []],
  ['aa,bb,cc,dd,ee,ff,gg,hh,ii,jj,kk', 'aa bb cc dd ee ff gg hh ii jj'.split(' ')],
  [`${'a-b-c,'.repeat(10_000)}de`, []],
])("the visitor's language %s", (header, locales) => {
  expect(acceptedLocales(header)).toEqual(locales);
});

test.each([
  [['de_CH', 'fr'], ['de', 'fr'], 'de'],
  [['de_CH'], ['de', 'de_CH'], 'de_CH'],
  [['nl', 'fr'], ['de', 'fr'], 'fr'],
  [['en_US', 'en', 'de'], ['de'], null],
  [['nl'], ['de'], null],
])("the visitor's language %j, of a theme in %j, is %s", (locales, published, expected) => {
  expect(localeFor(locales, (locale) => published.includes(locale))).toBe(expected);
});

const percent = (discountPercent: number, monthsDiscountIsValid: number | null = null) =>
  ({ type: 'PCT_DISCOUNT', discountPercent, monthsDiscountIsValid }) as const;
const credit = (assignedCredit: number, unit: string, currency: string | null = null) =>
  ({ type: 'CREDIT', assignedCredit, unit, currency }) as const;
const tank = (fuelTankType: 'CREDIT' | 'PCT_DISCOUNT', amount: number, unit: string | null) =>
  ({ type: 'FUELTANK', fuelTankType, amount, unit }) as const;

test.each<[PromisedValue, string, string | null]>([
  [percent(10), 'en', '10 % off'],
  [percent(10), 'de_CH', '10 % Rabatt'],
  [percent(10), 'ja', '10 %'],
  [percent(10, 3), 'en', '10 % off (3 months)'],
  [percent(10, 1), 'de', '10 % Rabatt (1 Monat)'],
  [credit(1000, 'CENTS', 'USD'), 'en', '$10.00'],
  [credit(1000, 'cents', 'JPY'), 'en', '¥10.00'],
  [credit(-5, 'CENTS', 'EUR'), 'en_US', '-€0.05'],
  [credit(Number.MAX_SAFE_INTEGER, 'miles', 'USD'), 'en', '€900,719,925,474,099.1'],
  [credit(1000, 'CENTS'), 'en', '1,000 CENTS'],
  [credit(500, 'POINTS', 'USD'), 'de', '500 POINTS'],
  [tank('PCT_DISCOUNT', 20, null), 'en', '20 % off'],
  [tank('CREDIT', 20, 'EUR'), 'en', '20 EUR'],
  [tank('CREDIT', 20, 'MILES'), 'de', '2,0\u00a0€'],
  [tank('CREDIT', 2.5, 'MILES'), 'en', '2.5 MILES'],
  [tank('CREDIT', 20, null), 'en', null],
])('a reward in words %j in %s', (value, locale, words) => {
  const formats = [{ unit: 'Miles', currency: 'EUR', digits: 1 }];
  expect(rewardInWords(value, locale, { formats })).toBe(words);
});
