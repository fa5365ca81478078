#!/usr/bin/env node
// The console in an installed Chromium, from signing in to signing out: npm run test:browser
// CHROMIUM=/path/to/chromium; default: that of Debian. Without one it says so, and exits with 2. With an argument: only what has it in its name.
// The last line is `N passed, N failed`. Figures of pages are compared with the command line's `--json`. Every page is opened at 390, 768 and 1440
// pixels, light and dark: axe-core finds nothing, nothing is wider than the window, nothing of another origin is loaded, and the browser reports no error.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import axe from 'axe-core';
import { chromium } from 'playwright-core';
import { buildOrExit } from './build-if-stale.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const TENANT = '/console/tenants/demo/live';
const OPERATORS = { fay: ['finance'], flo: ['finance'], sam: ['support'], vic: ['viewer'] };
const PAGES = {
  fay: [
    '/console',
    '/console/projections',
    ...[
      ...['', '?search=acme', '/accounts/acme', '/statement?account=acme', '/replay', '/reconcile'],
      ...['/periods', '/verify', '/corrections'],
    ].map((path) => TENANT + path),
  ],
  sam: [
    '/console/projections?sort=name&dir=desc',
    ...'moderation webhooks exports mails settings program theme'
      .split(' ')
      .map((path) => `${TENANT}/${path}`),
  ],
  vic: [TENANT, `${TENANT}/accounts/acme`],
};
const WIDTHS = [390, 768, 1440];
/** For one step of a story. */
const STEP_MS = 60_000;

const [only = ''] = process.argv.slice(2);

let passed = 0;
let failed = 0;
async function check(name, work) {
  if (!name.includes(only)) return;
  try {
    await work();
    passed += 1;
  } catch (error) {
    failed += 1;
    process.stdout.write(`FAILED ${name}: ${error instanceof Error ? error.message : error}\n`);
  }
}

async function main() {
  if (!existsSync(executablePath)) {
    process.stdout.write(`no browser: ${executablePath} is missing, set CHROMIUM to a Chromium\n`);
    process.exitCode = 2;
    return;
  }
  buildOrExit();
  const { makeDataDir, printedKey, removeDataDir, startServiceProcess } =
    await import('../dist/bench/service-process.js');
  const { makeOperatorKey } = await import('../dist/src/config/operators.js');
  const dataDir = await makeDataDir();
  const made = Object.entries(OPERATORS).map(([name, roles]) => makeOperatorKey(name, roles));
  const keys = new Map(made.map(({ key, entry }) => [entry.name, key]));
  const operators = join(dataDir, 'operators.json');
  writeFileSync(operators, JSON.stringify(made.map(({ entry }) => entry)), { mode: 0o600 });
  const env = { DATA_DIR: dataDir, OPERATORS_FILE: operators };
  const service = await startServiceProcess({ env });
  const browser = await chromium.launch({ executablePath, args: sandboxOf() });
  try {
    await service.ready();
    await demoData(service.url, printedKey(service.output()));
    const world = { browser, url: service.url, keys, cli: (...args) => commandLine(env, args) };
    await check('finance', () => finance(world));
    await check('support', () => support(world));
    for (const name of Object.keys(PAGES)) await looked(world, name);
  } finally {
    await browser.close();
    await service.terminate();
    await removeDataDir(dataDir);
  }
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  if (failed > 0) process.exitCode = 1;
}

/** Chromium's sandbox does not run as root. */
const sandboxOf = () => (process.getuid?.() === 0 ? ['--no-sandbox'] : []);

async function demoData(url, key) {
  const call = async (path, body) => {
    const response = await fetch(`${url}/api/v1/demo${path}`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`:${key}`).toString('base64')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  };
  for (const id of ['acme', 'bell']) {
    await call('/accountsync', { id, subscription: { status: 'TRIAL' } });
    const person = { id: `u-${id}`, accountId: id, firstName: 'Ann', lastName: 'Lee' };
    await call('/user', { ...person, email: `${id}@mail.example` });
    for (const assignedCredit of [1_500, 2_000])
      await call(`/rewards/account/${id}/user/u-${id}`, {
        type: 'CREDIT',
        unit: 'CENTS',
        assignedCredit,
      });
  }
  await call('/credit/bulkredeem', { accountId: 'acme', unit: 'CENTS', amount: 700 });
}

/** @returns {Promise<object>} the document that a command prints with `--json`. */
function commandLine(env, args) {
  const cli = [join(root, 'dist/bin/cli.js'), ...args, '--json'];
  const child = spawn(process.execPath, cli, { env: { ...process.env, ...env } });
  const [out, err] = [[], []];
  child.stdout.on('data', (chunk) => out.push(chunk));
  child.stderr.on('data', (chunk) => err.push(chunk));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => {
      if (status === 0) resolve(JSON.parse(Buffer.concat(out).toString('utf8')));
      else reject(new Error(`${args.join(' ')}: ${status} ${Buffer.concat(err).toString('utf8')}`));
    });
  });
}

/** A browser of an operator who has signed in; `faults` fills while pages are open. */
async function signedIn({ browser, url, keys }, name, options = {}) {
  const context = await browser.newContext({ baseURL: url, ...options });
  context.setDefaultTimeout(STEP_MS);
  const page = await context.newPage();
  const faults = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(url)) faults.push(`loads ${request.url()}`);
  });
  await page.goto('/console/sign-in');
  await page.getByLabel('Key').fill(keys.get(name));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL('**/console');
  return { context, page, faults };
}

const figure = (page, name) =>
  page.locator(`[data-figure="${name}"]`).first().getAttribute('data-value');

const isDone = (page) => page.locator('[data-figure="progress"][data-value="done"]').waitFor();

async function press(page, name) {
  await page.getByRole('button', { name, exact: true }).click();
}

async function finance(world) {
  const { page, faults } = await signedIn(world, 'fay');
  await page.goto(`${TENANT}/statement?account=acme`);
  const statement = await world.cli('ledger', 'statement', 'demo', 'acme');
  assert.equal(await figure(page, 'digest'), statement.digest);
  assert.equal(await figure(page, 'closing:CENTS'), String(statement.units[0].closing));

  await page.goto(`${TENANT}/replay`);
  await press(page, 'Start replay');
  await isDone(page);
  const replay = await world.cli('ledger', 'replay', 'demo');
  assert.equal(await figure(page, 'differences'), String(replay.differences.length));

  await page.goto(`${TENANT}/reconcile`);
  const file = { name: 'books.csv', mimeType: 'text/csv' };
  const rows = 'account,unit,balance\nacme,CENTS,2800\nbell,CENTS,3499\n';
  await page.getByLabel('Balance file').setInputFiles({ ...file, buffer: Buffer.from(rows) });
  await press(page, 'Reconcile');
  await isDone(page);
  assert.equal(await figure(page, 'difference.ledger'), '3500');

  await page.goto(`${TENANT}/corrections`);
  const correction = { Account: 'acme', User: 'u-acme', Unit: 'CENTS', Amount: '-300' };
  for (const [label, text] of Object.entries({ ...correction, Reason: 'booked twice' }))
    await page.getByLabel(label, { exact: true }).fill(text);
  await press(page, 'Propose');
  await page.getByText('another person approves it').waitFor();
  const other = await signedIn(world, 'flo');
  await other.page.goto(`${TENANT}/corrections`);
  await press(other.page, 'Approve');
  await other.page.getByText('No correction waits.').waitFor();
  await page.goto(`${TENANT}/accounts/acme`);
  assert.equal(await figure(page, 'available:CENTS'), '2500');
  const after = await world.cli('ledger', 'statement', 'demo', 'acme');
  assert.equal(after.units[0].closing, 2_500);

  await page.goto(`${TENANT}/verify`);
  await press(page, 'Make a digest of today');
  await page.getByRole('link', { name: 'Download it' }).waitFor();
  const answer = await page.request.get(`${page.url()}&format=json`);
  await page.goto(`${TENANT}/verify`);
  const digest = { name: 'digest.json', mimeType: 'application/json', buffer: await answer.body() };
  await page.getByLabel('Digest file').setInputFiles(digest);
  await press(page, 'Verify');
  await isDone(page);
  assert.equal(await figure(page, 'ok'), 'true');
  await press(page, 'Sign out');
  await page.getByLabel('Key').waitFor();
  assert.deepEqual([...faults, ...other.faults], []);
  await Promise.all([page.context().close(), other.context.close()]);
}

async function support(world) {
  const { context, page, faults } = await signedIn(world, 'sam');
  const operate = async (button, confirmed = '') => {
    await page.goto('/console/projections');
    await page.getByLabel('Projection', { exact: true }).selectOption('rewards');
    await page.getByLabel('to confirm').fill(confirmed);
    await press(page, button);
    await isDone(page);
  };
  await page.goto('/console/projections');
  const before = Number(await figure(page, 'generation:rewards'));
  await operate('Rebuild');
  await operate('Diff');
  assert.equal(await figure(page, 'differences'), '0');
  await operate('Swap', 'rewards');
  const live = async () => {
    const status = await world.cli('projection', 'status');
    return status.find(({ name }) => name === 'rewards').generation;
  };
  const swapped = Number(await figure(page, 'generation:rewards'));
  assert.notEqual(swapped, before);
  assert.equal(await live(), swapped);
  await operate('Roll back', 'rewards');
  assert.equal(Number(await figure(page, 'generation:rewards')), before);
  assert.equal(await live(), before);
  assert.deepEqual(faults, []);
  await context.close();
}

/** Opens the operator's pages at every width, light and dark. */
async function looked(world, name) {
  for (const width of WIDTHS)
    for (const colorScheme of ['light', 'dark']) {
      const options = { colorScheme, viewport: { width, height: 900 } };
      const { context, page, faults } = await signedIn(world, name, options);
      for (const path of PAGES[name])
        await check(`${name} ${path} ${width} ${colorScheme}`, async () => {
          const answer = await page.goto(path);
          assert.equal(answer?.status(), 200);
          const width =
            'document.documentElement.scrollWidth - document.documentElement.clientWidth';
          assert.ok((await page.evaluate(width)) <= 0, 'is wider than the window');
          await page.evaluate(axe.source);
          const { violations } = await page.evaluate('axe.run({ iframes: false })');
          const found = violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 160)}`);
          assert.deepEqual([...found, ...faults.splice(0)], []);
        });
      await context.close();
    }
}

await main();
