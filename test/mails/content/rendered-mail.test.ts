import { renderMail } from '../../../src/mails/content/rendered-mail.js';
import { sampleValues } from '../../../src/mails/content/sample-values.js';
import { BUILT_IN_THEME } from '../../../src/themes/built-in-theme.js';
import { MAIL_TYPES } from '../../../src/themes/theme-instance.js';
import { resolveTheme } from '../../../src/themes/resolve-theme.js';
import { HOSTILE_VALUES } from '../../templates/hostile-templates.js';

const THEME = BUILT_IN_THEME;
const SAMPLE = sampleValues('en', (code) => `https://share.example/s/acme/${code}`);
const FRAME = { locale: 'de_CH', unsubscribeUrl: 'https://ledger.example/mail/unsubscribe/x' };
const themeWith = (content: object) =>
  resolveTheme({ email: { WELCOME: { content } }, page: { color: '#ffe08a' } });

describe('a mail', () => {
  it.each(MAIL_TYPES)(
    '%s of the built-in theme has a subject, both parts and its links',
    (type) => {
      const { subject, html, text } = renderMail(THEME, type, SAMPLE, FRAME);
      expect(subject).toMatch(/^\S.*\S$/);
      expect(html).toContain(`<title>${subject.replaceAll("'", '&#39;')}</title>`);
      expect(html).toContain('<html lang="de-CH">');
      for (const part of [html, text]) {
        expect(part).toContain(FRAME.unsubscribeUrl);
        expect(part).toContain('Ann');
      }
      expect(html.includes('https://share.example/s/acme/ANNLEE')).toBe(
        THEME.email[type].content.hasShareLink,
      );
    },
  );

  it('has its styles in the elements, the dark ones beside them, and loads none', () => {
    const { html } = renderMail(THEME, 'WELCOME', SAMPLE, FRAME);
    expect(html).toMatch(/<div class="card"[^>]* style="[^"]*max-width: 560px/);
    expect(html).toMatch(/<style>\s*@media \(prefers-color-scheme: dark\)/);
    expect(html).not.toMatch(/<link|@import|url\(|<script/i);
  });

  it('shows an image and a button where the theme has them, with words that can be read', () => {
    const theme = themeWith({
      headerImageUrl: 'https://img.example/a.png?x="><script>',
      hasShareLink: true,
      shareCTA: 'Tell *others*',
      shareButtonHeader: 'Share {{code}}',
    });
    const { html, text } = renderMail(theme, 'WELCOME', SAMPLE, FRAME);
    expect(html).toContain('src="https://img.example/a.png?x=&#34;&#62;&#60;script&#62;"');
    expect(html).toContain('>Share ANNLEE</a>');
    expect(html).toMatch(
      /class="button"[^>]*background-color: ?#ffe08a; ?color: ?#000000 !important/,
    );
    expect(text).toContain('\nTell others\n');
  });

  it('is the same document whatever people are called', () => {
    const tags = (html: string): string =>
      (html.match(/<[^>]*>/g) ?? []).map((tag) => tag.replace(/="[^"]*"/g, '')).join('');
    const named = (name: string) =>
      renderMail(THEME, 'REFERRAL_CONVERTED', { ...SAMPLE, 'friend.name': name }, FRAME);
    for (const value of HOSTILE_VALUES.filter((each, at) => each.trim() !== '' && at % 4 === 0)) {
      const { html, subject } = named(value);
      expect([value.slice(0, 80), tags(html)]).toEqual([
        value.slice(0, 80),
        tags(named('Bob').html),
      ]);
      expect(subject).not.toMatch(/[\r\n]/);
    }
  });

  it('has a text part to read: no marks, links with their addresses, values as they are', () => {
    const theme = themeWith({
      headerContent: '# Hi {{user.firstName}}',
      bodyContent:
        '**{{reward.text}}** for [you](https://shop.example/a?b=c), see https://shop.example and ' +
        '[{{friend.name}}]({{shareLink}}).\n\n- one\n- _two_\n\n![A picture](https://img.example/a.png)',
      footer: 'Bye <b>now</b> &amp; [nothing](javascript:alert(1))',
      hasShareLink: false,
    });
    const values = {
      ...SAMPLE,
      'user.firstName': '*Ann* <b>',
      'friend.name': '[Bob](https://evil.example)',
    };
    expect(renderMail(theme, 'WELCOME', values, FRAME).text).toBe(
      [
        'Hi *Ann* <b>',
        '$10.00 for you (https://shop.example/a?b=c), see https://shop.example and [Bob](https://evil.example) (https://share.example/s/acme/ANNLEE).',
        ' * one\n * two',
        'A picture',
        'Bye now & nothing',
        `Abmelden: ${FRAME.unsubscribeUrl}\n`,
      ].join('\n\n'),
    );
  });

  it('has the built-in text in the place of one that cannot be rendered any more', () => {
    const theme = resolveTheme({
      email: {
        WELCOME: {
          configuration: { subject: '{{#each a}}' },
          content: {
            headerContent: '*'.repeat(600),
            bodyContent: 'Hello {{code}}',
            shareButtonHeader: '{{{code}}}',
          },
        },
      },
    });
    const built = renderMail(THEME, 'WELCOME', SAMPLE, FRAME);
    const { subject, html, text } = renderMail(theme, 'WELCOME', SAMPLE, FRAME);
    expect(subject).toBe(built.subject);
    expect(text).toMatch(/^Welcome!\n\nHello ANNLEE\n/);
    expect(html).toContain('>Share your link</a>');
  });

  it('is unsubscribed from by a link in its own language, or in English', () => {
    const linkIn = (locale: string) =>
      />([^<]*)<\/a><\/p><\/div>/.exec(
        renderMail(THEME, 'WELCOME', SAMPLE, { ...FRAME, locale }).html,
      )?.[1];
    expect(['en_GB', 'de', 'fr_CA', 'xx'].map(linkIn)).toEqual([
      'Unsubscribe',
      'Abmelden',
      'Se désabonner',
      'Unsubscribe',
    ]);
  });
});
