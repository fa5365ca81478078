// A service with a demo tenant, whose read models a release with two bugs has made, and browsers of its operators.
import { spawn } from 'node:child_process';
import { cpSync, existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { buildOrExit } from '../build-if-stale.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const plantedRoot = join(root, '.cache', `planted-${process.pid}`);
export const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
export const hasBrowser = () => existsSync(executablePath);
export const DEMO = '/console/tenants/demo/live';

/** For one step of a story. */
const STEP_MS = 60_000;
const ACCOUNTS = '500';
const LONG_EVENTS = 100_000;

/** The bugs: a projector that counts a large redemption too low, and one that fails for blocked users. */
const BUGS = [
  [
    /redeemed_credit: \(row\.redeemed_credit \?\? 0\) \+ amount\b/,
    'redeemed_credit: (row.redeemed_credit ?? 0) + Math.min(amount, 300)',
  ],
  [/\(\) => \(\{\s*date_blocked: event\.at\s*\}\)/, '() => ({ date_blocked: event.at.getTime() })'],
];

/**
 * Opens the world; `planted` false: without the bugs, and with pages of components.
 * @returns {Promise<object>} `database` has the process ids of the embedded server; `end` closes it.
 */
export async function openWorld({ planted = true } = {}) {
  buildOrExit();
  const { makeDataDir, postgresPids, removeDataDir, startServiceProcess } =
    await import('../../dist/test/harness/service-process.js');
  const dataDir = await makeDataDir();
  const env = {
    DATA_DIR: dataDir,
    OPERATORS_FILE: join(dataDir, 'demo-operators.json'),
  };
  let service;
  let browser;
  const end = async () => {
    await browser?.close();
    await service?.terminate();
    await removeDataDir(dataDir);
    rmSync(plantedRoot, { recursive: true, force: true });
  };
  try {
    const seeding = [join(root, 'dist/tools/demo/demo-seed.js'), '--accounts', ACCOUNTS];
    await ran(seeding, { DATA_DIR: dataDir });
    const secrets = JSON.parse(readFileSync(join(dataDir, 'demo-keys.json'), 'utf8'));
    if (planted) {
      plant();
      service = await startServiceProcess({ env, root: plantedRoot });
      await service.ready();
      await addLongAccount(service, dataDir);
      await caughtUp(service);
      await service.terminate();
    }
    service = await startServiceProcess({ env });
    await caughtUp(service);
    browser = await chromium.launch({ executablePath, args: sandboxOf() });
    const cli = async (...args) =>
      JSON.parse(await ran([join(root, 'dist/bin/cli.js'), ...args, '--json'], env));
    const database = () => postgresPids(dataDir);
    /** A file for a command. @returns its path. */
    const fileOf = (name, text) => {
      const path = join(dataDir, name);
      writeFileSync(path, text);
      return path;
    };
    return { browser, url: service.url, secrets, cli, fileOf, database, end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** In a tenant of its own: what reads the whole log takes seconds then. */
async function addLongAccount(service, dataDir) {
  const {
    clientOf: client,
    makeAccount,
    makeTenant,
    withCore,
  } = await import('../../dist/test/harness/webhook-tenants.js');
  const { lengthenAccount } = await import('../../dist/test/harness/long-account.js');
  const tenant = await withCore(dataDir, (core) => makeTenant(core, 'bulk'));
  const calls = client(service, tenant);
  await makeAccount(calls, 'long');
  calls.close();
  const scope = { tenant: tenant.alias, mode: 'live' };
  await withCore(dataDir, (core) =>
    lengthenAccount(core, scope, core.names.accountRef(scope, 'long'), LONG_EVENTS),
  );
}

/** Chromium's sandbox does not run as root. */
const sandboxOf = () => (process.getuid?.() === 0 ? ['--no-sandbox'] : []);

/** A copy of the built release with the bugs. */
function plant() {
  const folder = join(plantedRoot, 'dist', 'bin');
  rmSync(plantedRoot, { recursive: true, force: true });
  cpSync(join(root, 'dist', 'bin'), folder, { recursive: true });
  for (const [place, bug] of BUGS) {
    const files = readdirSync(folder).filter(
      (name) => name.endsWith('.js') && place.test(readFileSync(join(folder, name), 'utf8')),
    );
    if (files.length === 0) throw new Error(`nothing to plant a bug in: ${place}`);
    for (const name of files) {
      const path = join(folder, name);
      writeFileSync(path, readFileSync(path, 'utf8').replace(place, bug));
    }
  }
}

/** Waits until all read models, policies and the chain have read the whole log. */
async function caughtUp(service) {
  await service.ready();
  for (;;) {
    const { checks } = await (await fetch(`${service.url}/health/ready`)).json();
    const followers = Object.values(checks).filter(({ lagEvents }) => lagEvents !== undefined);
    if (followers.length > 0 && followers.every(({ lagEvents }) => lagEvents === 0)) return;
    // Without a pause the service answers this question instead of reading.
    await delay(200);
  }
}

/** Ended by a difference that was found, too. @returns {Promise<string>} what it printed. */
function ran(args, env) {
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env } });
  const [out, err] = [[], []];
  child.stdout.on('data', (chunk) => out.push(chunk));
  child.stderr.on('data', (chunk) => err.push(chunk));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => {
      if (status === 0 || status === 2) resolve(Buffer.concat(out).toString('utf8'));
      else reject(new Error(`${args.join(' ')}: ${status} ${Buffer.concat(err).toString('utf8')}`));
    });
  });
}

/** A browser of an operator who has signed in; `faults` fills while pages are open. */
export async function signedIn({ browser, url, secrets }, name, options = {}) {
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
  await page.getByLabel('Key').fill(secrets[name]);
  await page.getByRole('button', { name: 'Sign in' }).click();
  // With one tenant to its overview, otherwise to the list.
  await page.waitForURL(({ pathname }) => !/sign-in|session/.test(pathname));
  return { context, page, faults };
}

/** The exact values of a figure, in their order on the page. */
export const figures = (page, name) =>
  page
    .locator(`[data-figure="${name}"]`)
    .evaluateAll((found) => found.map((one) => one.dataset.value));

export const figure = async (page, name) => {
  const first = page.locator(`[data-figure="${name}"]`).first();
  return first.getAttribute('data-value');
};

export const isDone = (page) =>
  page.locator('[data-figure="progress"][data-value="done"]').waitFor();

export const press = (page, name) => page.getByRole('button', { name, exact: true }).click();

/** Opens a page by its name in the sidebar. */
export async function opened(page, name) {
  const sidebar = page.getByRole('navigation', { name: 'Pages' });
  await sidebar.getByRole('link', { name, exact: true }).click();
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
}

/** The file that a link saves. */
export async function savedText(page, link) {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: link, exact: true }).first().click(),
  ]);
  return readFileSync(await download.path(), 'utf8');
}

export async function fillIn(page, fields) {
  for (const [label, text] of Object.entries(fields))
    await page.getByLabel(label, { exact: true }).fill(text);
}

/** Calls of the tenant's own server. */
export const clientOf =
  ({ url, secrets }) =>
  async (path, body) => {
    const key = secrets['tenant demo'].liveApiKey;
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
