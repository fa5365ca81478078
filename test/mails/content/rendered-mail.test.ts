import { buttonColors } from '../../../src/mails/content/mail-style.js';
import { renderMail } from '../../../src/mails/content/rendered-mail.js';
import { rewardText } from '../../../src/mails/content/reward-text.js';
import { sampleValues } from '../../../src/mails/content/sample-values.js';
import { MAIL_TYPES } from '../../../src/themes/theme-instance.js';
import { resolveTheme } from '../../../src/themes/resolve-theme.js';
import { HOSTILE_VALUES } from '../../templates/hostile-templates.js';

const THEME = resolveTheme();
const SAMPLE = sampleValues((code) => `https://share.example/s/acme/${code}`);
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
    expect(html).toMatch(/class="button"[^>]*background-color: ?#ffe08a; ?color: ?#000000/);
    expect(text).toContain('Tell *others*');
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
});

describe('a button', () => {
  it('has a contrast of at least 4.5 in any colour', () => {
    const luminance = (color: string): number => {
      const parts = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255);
      const [red, green, blue] = parts.map((part) =>
        part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4,
      );
      return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
    };
    for (let step = 0; step < 4096; step += 1) {
      const { background, text } = buttonColors(`#${step.toString(16).padStart(3, '0')}`);
      const [low, high] = [luminance(background), luminance(text)].sort((a, b) => a - b);
      expect((high! + 0.05) / (low! + 0.05)).toBeGreaterThanOrEqual(4.5);
    }
    expect(buttonColors('red').background).toBe('#1f5fa8');
  });
});

describe('a reward in words', () => {
  it('is its amount and unit, or its percentage, never its code', () => {
    expect(rewardText({ type: 'CREDIT', unit: 'USD', assignedCredit: 10 })).toBe('10 USD');
    expect(
      rewardText({ type: 'PCT_DISCOUNT', discountPercent: 15, monthsDiscountIsValid: 3 }),
    ).toBe('15 %');
    const tank = { type: 'FUELTANK', amount: 5, unit: null } as const;
    expect(rewardText({ ...tank, fuelTankType: 'CREDIT' })).toBe('5');
    expect(rewardText({ ...tank, fuelTankType: 'PCT_DISCOUNT' })).toBe('5 %');
  });
});
