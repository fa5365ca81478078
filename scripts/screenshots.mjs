#!/usr/bin/env node
// Takes what people see, in an installed Chromium, and judges it: npm run screenshots
// CHROMIUM=/path/to/chromium; default: that of Debian. With --tour: the pictures of docs/tour.md instead, of a demo tenant, into docs/images.
// Every page and mail at 390 and 1280 pixels, light and dark, into .cache/screenshots. Exits with 1 when axe-core finds a fault (WCAG A and AA, contrast
// among it), when something is wider than the window, when anything but a theme's pictures is loaded, or when the browser reports an error, such as
// a style that the policy refuses.
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import axe from 'axe-core';
import { chromium } from 'playwright-core';
import { SMTPServer } from 'smtp-server';
import { simpleParser } from 'mailparser';
import { takePictures } from './browser/tour.mjs';
import { buildOrExit } from './build-if-stale.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, '.cache', 'screenshots');
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const TENANT = 'demo';
const TYPES =
  'REFERRAL_STARTED REFERRAL_CONVERTED REFERRER_REWARD_LIMIT_REACHED REWARD_EARNED REWARD_EXPIRES_SOON WELCOME'.split(
    ' ',
  );

/** Pictures of themes: nothing is fetched from anywhere. */
const PICTURE =
  '<svg xmlns="http://www.w3.org/2000/svg" width="640" height="160"><rect width="640" height="160" fill="#ffe08a"/><circle cx="320" cy="80" r="60" fill="#1f5fa8"/></svg>';

const LONG =
  '# Ein Titel\n\nMit **allem**, was *Markdown* kann: [ein Verweis](https://shop.example/angebote), `Code`, Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen.\n\n' +
  '- eins\n- zwei\n    1. tief\n    2. tiefer\n\n> Ein Zitat von {{friend.name}}.\n\n```\nein Block\n    mit Einzug, der sehr viel breiter als ein Telefon ist und noch weiter geht\n```\n\n---\n\nDein Gewinn: {{reward.text}}';
const LOUD_MAIL = {
  configuration: { subject: 'Schön, dass du da bist, {{user.firstName}}' },
  content: {
    headerImageUrl: 'https://pictures.example/header.svg',
    headerContent: 'Hallo {{user.firstName}} & Freunde',
    bodyContent: LONG,
    footer: 'Ein [Impressum](https://shop.example/impressum) und *mehr*.',
    shareCTA: 'Teile deinen **Link**:',
    hasShareLink: true,
    shareButtonHeader: 'Jetzt **teilen**',
  },
};
const LOUD = {
  jsOptions: {},
  widget: {},
  email: { configuration: { fromName: 'Laden' }, WELCOME: LOUD_MAIL, REWARD_EARNED: LOUD_MAIL },
  page: {
    heading: '{{friend.name}} schenkt dir {{reward.text}}',
    text: LONG,
    buttonText: 'Zum Laden',
    siteUrl: 'https://shop.example/',
    logoUrl: 'https://pictures.example/logo.svg',
    color: '#ffe08a',
  },
};

async function main() {
  if (!existsSync(executablePath)) {
    process.stderr.write(`${executablePath} is missing: set CHROMIUM to a Chromium\n`);
    process.exitCode = 2;
    return;
  }
  if (process.argv.includes('--tour')) return takePictures();
  buildOrExit();
  const { makeDataDir, printedKey, removeDataDir, startServiceProcess } =
    await import('../dist/test/harness/service-process.js');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const mails = await receivedMails();
  const dataDir = await makeDataDir();
  const env = { DATA_DIR: dataDir, SMTP_URL: `smtp://127.0.0.1:${mails.port}` };
  const service = await startServiceProcess({ env });
  try {
    await service.ready();
    const update = [join(root, 'dist/bin/cli.js'), 'tenant', 'update', TENANT, '--mail', ...TYPES];
    const { status, stderr } = spawnSync(process.execPath, update, {
      env: { ...process.env, ...env },
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(stderr);
    const views = await demoViews(
      clientOf(service.url, printedKey(service.output())),
      service.url,
      mails,
    );
    const faults = await photographed(views);
    process.stdout.write(`${views.length * 4} screenshots in ${folder}\n`);
    for (const fault of faults) process.stdout.write(`${fault}\n`);
    if (faults.length > 0) process.exitCode = 1;
  } finally {
    await service.terminate();
    await mails.end();
    await removeDataDir(dataDir);
  }
}

function clientOf(url, key) {
  return async (method, path, body) => {
    const response = await fetch(`${url}/api/v1/${TENANT}${path}`, {
      method,
      headers: {
        authorization: `Basic ${Buffer.from(`:${key}`).toString('base64')}`,
        'content-type': 'application/json',
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text;
  };
}

/** What people see: a page at an address, or the HTML of a mail. */
async function demoViews(call, url, mails) {
  await call('POST', '/accountsync', { id: 'acme', subscription: { status: 'TRIAL' } });
  const ann = {
    id: 'ann',
    accountId: 'acme',
    firstName: 'Ann',
    lastName: 'Lee',
    email: 'ann@mail.example',
  };
  const { referralCode } = JSON.parse(await call('POST', '/user', ann));
  const page = `${url}/r/${TENANT}/${referralCode}`;
  const views = [
    { name: 'page', url: page },
    {
      name: 'page-german',
      url: page,
      locale: 'de-DE',
      before: () => call('PUT', '/theme/de/variables/instance', LOUD),
    },
    { name: 'no-page', url: `${url}/r/${TENANT}/MISSING` },
    { name: 'no-page-german', url: `${url}/r/${TENANT}/MISSING`, locale: 'de-DE' },
  ];
  for (const type of TYPES) {
    views.push({ name: `mail-${type}`, html: await call('POST', `/theme/email/${type}/preview`) });
  }
  views.push({
    name: 'mail-german',
    html: () => call('POST', '/theme/email/WELCOME/preview?locale=de'),
  });
  await call('POST', '/rewards/account/acme/user/ann', {
    type: 'PCT_DISCOUNT',
    discountPercent: 15,
  });
  const { html, link } = await mails.next();
  const unsubscribing = `${url}${new URL(link).pathname}`;
  return [
    ...views,
    { name: 'mail-sent', html },
    { name: 'unsubscribe', url: unsubscribing },
    { name: 'unsubscribe-german', url: unsubscribing, locale: 'de-DE' },
    { name: 'unsubscribed', url: unsubscribing, clicks: 'button' },
  ];
}

/** @returns {Promise<string[]>} a line for each fault. */
async function photographed(views) {
  const browser = await chromium.launch({ executablePath });
  const faults = new Set();
  try {
    for (const view of views) {
      await view.before?.();
      for (const colorScheme of ['light', 'dark'])
        for (const width of [390, 1280]) {
          const name = `${view.name}-${width}-${colorScheme}`;
          const { locale = 'en-US' } = view;
          const context = await browser.newContext({
            locale,
            colorScheme,
            viewport: { width, height: 844 },
          });
          try {
            for (const fault of await faultsOf(context, view, name))
              faults.add(`${name}: ${fault}`);
          } finally {
            await context.close();
          }
        }
    }
  } finally {
    await browser.close();
  }
  return [...faults];
}

async function faultsOf(context, view, name) {
  const faults = [];
  await context.route(/^https:/, (route) =>
    route.fulfill({ contentType: 'image/svg+xml', body: PICTURE }),
  );
  const page = await context.newPage();
  // The browser asks for an icon by itself, and calls a 404 an error.
  const isOurs = ({ url = '' }) =>
    !url.endsWith('/favicon.ico') && !view.name.startsWith('no-page');
  page.on('console', (message) => {
    if (message.type() === 'error' && isOurs(message.location())) faults.push(message.text());
  });
  page.on('request', (request) => {
    const address = request.url();
    const isKnown =
      request.isNavigationRequest() ||
      address.startsWith('https://pictures.example/') ||
      address.endsWith('/favicon.ico');
    if (!isKnown) faults.push(`loads ${address}`);
  });
  if (view.url !== undefined) await page.goto(view.url);
  else await page.setContent(typeof view.html === 'string' ? view.html : await view.html());
  if (view.clicks !== undefined) {
    await page.click(view.clicks);
    await page.waitForLoadState();
  }
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
  const isTooWide = await page.evaluate(
    'document.documentElement.scrollWidth > document.documentElement.clientWidth',
  );
  if (isTooWide) faults.push('is wider than the window');
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(
    "axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] })",
  );
  for (const { id, help, nodes } of violations)
    for (const node of nodes)
      faults.push(
        `${id}: ${help}: ${node.html.slice(0, 120)} ${node.failureSummary ?? ''}`.replace(
          /\s+/g,
          ' ',
        ),
      );
  return faults;
}

/** A mail server that takes everything. */
async function receivedMails() {
  const received = [];
  const waiting = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData: (stream, session, done) => {
      simpleParser(stream).then((mail) => {
        const found = { html: mail.html, link: mail.headers.get('list').unsubscribe.url };
        const next = waiting.shift();
        if (next === undefined) received.push(found);
        else next(found);
        done();
      }, done);
    },
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    port: server.server.address().port,
    next: () =>
      new Promise((resolve) => {
        const found = received.shift();
        if (found === undefined) waiting.push(resolve);
        else resolve(found);
      }),
    end: () => new Promise((resolve) => server.close(resolve)),
  };
}

await main();
