import { MAIL_TYPES } from '../../src/themes/theme-instance.js';
import { FOREIGN_THEME } from '../themes/foreign-theme.js';
import { MailServer } from '../mails/support/mail-server.js';
import { basic, query } from '../support/api-client.js';
import {
  personal,
  useService,
  expectAnswer,
  expectRefusal,
  useTenant,
} from '../support/running-service.js';
import { openOnce, openForEach } from '../support/opened.js';

/**
 * Previews of mails, shown and sent to a real SMTP server. Over 5 s: a service of its own, with
 * that server.
 */

const server = openOnce(() => MailServer.start(), 'stop');
const running = useService(() => ({
  SMTP_URL: `smtp://127.0.0.1:${server.port}`,
  MAIL_FROM: 'refer@ledger.example',
}));
const tenant = useTenant(running, { each: true });
const api = openForEach(() => tenant.live);
jest.setTimeout(180_000);

const at = (type: string, parameters = {}): string =>
  `/theme/email/${type}/preview${query(parameters)}`;
const someone = (): string => `${personal('to')}@mail.example`;

const shown = (type: string, parameters = {}): Promise<Response> =>
  fetch(`${running.service.origin}/api/v1/${tenant.alias}${at(type, parameters)}`, {
    method: 'POST',
    headers: { authorization: basic(`:${tenant.liveKey}`) },
  });

const subject = (text: string) => ({
  jsOptions: {},
  widget: {},
  email: { WELCOME: { configuration: { subject: text } } },
});

const sentTo = (address: string) => server.received.filter(({ to }) => to.includes(address));

test.each(MAIL_TYPES)('the preview of %s is a page whose title is the subject', async (type) => {
  const response = await shown(type);
  const { headers } = response;
  expect([response.status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
    200,
    'text/html; charset=utf-8',
    'no-store',
  ]);
  const policy = headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'; style-src 'unsafe-inline'");
  expect(policy).not.toContain('script');
  const html = await response.text();
  expect(html).toMatch(/<title>[^<{]+<\/title>/);
  expect(html).not.toContain('Unsubscribe');
});

test('the preview shows the stored theme of the locale immediately, with sample values', async () => {
  await api.put('/theme/variables/instance', subject('Hi {{user.firstName}}'));
  await api.put('/theme/fr/variables/instance', subject('Salut {{user.firstName}} & co'));
  expect(await (await shown('WELCOME')).text()).toContain('<title>Hi Ann</title>');
  const french = await (await shown('WELCOME', { locale: 'fr_CA' })).text();
  expect(french).toMatch(/<html lang="fr-CA">[^]*<title>Salut Ann &(amp|#38); co<\/title>/);
});

test('a theme of another service is shown without the names that are unknown, which a header lists', async () => {
  expectAnswer(await api.put('/theme/variables/instance', FOREIGN_THEME), 204, undefined);
  const response = await shown('REFERRAL_CONVERTED');
  expect(response.headers.get('template-warnings')).toBe(
    'format-reward, assets, companyName, math, lookup, reward.unit, address.street, companyUrl, ' +
      'user.referralCode, shareLinks',
  );
  const html = await response.text();
  expect(html).toContain('<title>You earned</title>');
  expect(html).toMatch(/You earned +, Ann: \$10.00\./);
  expect(html).not.toMatch(/\{\{|undefined|<img|\[object/);
  expect((await shown('WELCOME')).headers.get('template-warnings')).toBeNull();
  const sent = await api.post(at('REFERRAL_STARTED', { sendTo: someone() }));
  expect(sent.status).toBe(204);
  expect(sent.headers.get('template-warnings')).toMatch(/^stringEmptyHandler, referral/);
});

test('the header lists each name once, holds what a header can hold, and has at most 2 KiB', async () => {
  const many = Array.from({ length: 90 }, (_, at) => `{{${'n'.repeat(60)}${at}}}`).join(' ');
  const text = `{{größe}}{{[a, b]}}{{größe}}{{code}}${many}`;
  const email = { WELCOME: { content: { bodyContent: text } } };
  await api.put('/theme/variables/instance', { jsOptions: {}, widget: {}, email });
  const warnings = (await shown('WELCOME')).headers.get('template-warnings') ?? '';
  expect(warnings).toMatch(/^gr%C3%B6%C3%9Fe, a%2C%20b, n{60}0, n{60}1, /);
  expect(warnings.length).toBeGreaterThan(1_950);
  expect(warnings.length).toBeLessThanOrEqual(2_048);
  expect(warnings).toMatch(/, n{60}\d+$/);
});

test('with sendTo the mail is sent, once per idempotency key', async () => {
  await api.put('/theme/fr/variables/instance', subject('Salut {{user.firstName}}'));
  const sendTo = someone();
  const path = at('WELCOME', { sendTo, locale: 'fr' });
  const first = await api.post(path, undefined, { key: 'k' });
  expectAnswer(first, 204, undefined);
  const repeated = await api.post(path, undefined, { key: 'k' });
  expect([repeated.status, repeated.headers.get('idempotency-replayed')]).toEqual([204, 'true']);
  const received = sentTo(sendTo);
  expect(received).toHaveLength(1);
  expect(received[0]).toMatchObject({
    from: 'refer@ledger.example',
    mail: { subject: 'Salut Ann', text: expect.any(String), html: expect.any(String) },
  });
  expect(running.service.logText).not.toContain(sendTo);
});

test('an unknown type, a bad locale and a bad address change nothing', async () => {
  const sendTo = someone();
  for (const type of ['NONE', 'constructor'])
    expectRefusal(await api.post(at(type, { sendTo })), 404, 'THEME_NOT_FOUND');
  for (const locale of ['xx-YY', '../fr'])
    expectRefusal(await api.post(at('WELCOME', { sendTo, locale })), 400, 'BAD_REQUEST', 'RS039');
  const offered = server.offered.length;
  for (const bad of [
    'a@mail.example,b@mail.example',
    'a@mail.example\r\nBcc: b@mail.example',
    `${'a'.repeat(250)}@mail.example`,
  ])
    expectRefusal(await api.post(at('WELCOME', { sendTo: bad })), 400, 'BAD_REQUEST', 'RS023');
  expect(server.offered).toHaveLength(offered);
  expect(sentTo(sendTo)).toEqual([]);
});

test('the preview waits for a position like a read, and refuses one that no ledger has issued', async () => {
  const published = await api.put('/theme/variables/instance', subject('Published'));
  const atLeast = published.headers.get('ledger-position') ?? '';
  const sendTo = someone();
  expectAnswer(await api.post(at('WELCOME', { sendTo }), undefined, { atLeast }), 204, undefined);
  expectRefusal(
    await api.post(at('WELCOME', { sendTo }), undefined, { atLeast: 'none' }),
    400,
    'POSITION_INVALID',
  );
  expect(sentTo(sendTo)).toHaveLength(1);
});

test('the test mode sends to listed addresses only', async () => {
  const [listed, other] = [someone(), someone()];
  const { mailTestAddresses } = running.service.service.core;
  const testTo = await mailTestAddresses.sealed(tenant.alias, [listed]);
  await running.service.change(tenant.alias, { type: 'ChangeMailSettings', testTo });
  const send = (sendTo: string) => tenant.test.post(at('WELCOME', { sendTo }));
  const refused = await send(other);
  expectRefusal(refused, 400, 'BAD_REQUEST');
  expect(refused.body['validationErrors']).toEqual([expect.stringContaining('--mail-test-to')]);
  expect((await send(listed.toUpperCase())).status).toBe(204);
  expect(server.offered).not.toContain(other);
});

test('a mail that the server does not take now is answered with 503 and sent with the next try; a refusal is 400', async () => {
  const [later, never] = [someone(), someone()];
  server.manners.set(later, { code: 451 });
  server.manners.set(never, { code: 550 });
  const send = () => api.post(at('WELCOME', { sendTo: later }), undefined, { key: 'k' });
  const away = await send();
  expectRefusal(away, 503, 'UNAVAILABLE');
  expect(Number(away.headers.get('retry-after'))).toBeGreaterThan(0);
  server.manners.delete(later);
  expect((await send()).status).toBe(204);
  expect(sentTo(later)).toHaveLength(1);
  expectRefusal(await api.post(at('WELCOME', { sendTo: never })), 400, 'BAD_REQUEST');
});

// Calls of a tenant are counted as those of test events: `test/http/webhooks.test.ts`.
test('a tenant sends so many an hour, and is shown any number', async () => {
  const sendTo = someone();
  const changes = { rateLimits: { 'preview-mail': 1 } };
  await running.service.change(tenant.alias, { type: 'ChangeOpenRules', changes });
  const send = () => api.post(at('WELCOME', { sendTo }));
  expect((await send()).headers.get('ratelimit-policy')).toBe('"preview-mail";q=1;w=3600');
  expectRefusal(await send(), 429, 'RATE_LIMITED', 'RS033');
  expect(sentTo(sendTo)).toHaveLength(1);
  expect((await shown('WELCOME')).status).toBe(200);
});
