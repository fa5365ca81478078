#!/usr/bin/env node
// The console in an installed Chromium, from signing in to signing out: npm run test:browser
// CHROMIUM=/path/to/chromium; default: that of Debian. Without one it says so, and exits with 2. With an argument: only what has it in its name; the
// stories run in order. The last line is `N passed, N failed`. Figures of pages are compared with the command line's `--json`. Every page is opened
// at 390 and 1440 pixels, light, and at 768, dark: axe-core finds nothing, nothing is wider than the window, nothing of another origin is loaded, and the
// browser reports no error. Keys, pages without a script, print and times in another zone are used as people do.
import assert from 'node:assert/strict';
import axe from 'axe-core';
import { DEMO, executablePath, hasBrowser, openWorld, signedIn } from './browser/console-world.mjs';
import { closesTheMonth, findsDrift } from './browser/finance-story.mjs';
import {
  backAgain,
  byKeyboard,
  inAnotherZone,
  onPaper,
  typesProgram,
  whileDatabaseIsAway,
  withoutScript,
} from './browser/hands.mjs';
import { repairs } from './browser/support-story.mjs';

const ofDemo = (...paths) => paths.map((path) => DEMO + path);
const PAGES = {
  fay: [
    '/console',
    '/console/runs',
    ...ofDemo('', '?search=account-1', '/accounts/account-1', '/statement?account=account-1'),
    ...ofDemo(
      '/statement',
      '/replay',
      '/reconcile',
      '/periods',
      '/balances',
      '/verify',
      '/corrections',
    ),
    ...ofDemo('/payments', '/exports', '/imports'),
  ],
  sam: [
    '/console/projections?sort=name&dir=desc',
    '/console/runs',
    ...ofDemo(
      '/moderation',
      '/webhooks',
      '/exports',
      '/imports',
      '/mails',
      '/payments',
      '/settings',
      '/program',
      '/theme',
    ),
  ],
  vic: [...ofDemo('', '/accounts/account-1')],
};
/** Pages whose form was refused, with the fault at its field. */
const REFUSED = {
  fay: ofDemo(
    '/statement?from=yesterday',
    '/verify?format=jsonl&from=2026-02-01&to=2026-01-01',
    '/accounts/account-1?asOf=1',
  ),
  sam: ofDemo('/theme?locale=none!'),
  vic: [],
};
/** Three of the six: every width, and both schemes. */
const WINDOWS = [
  [390, 'light'],
  [768, 'dark'],
  [1440, 'light'],
];

const [only = ''] = process.argv.slice(2);

let passed = 0;
let failed = 0;
async function check(name, work) {
  if (!name.includes(only)) return undefined;
  try {
    const result = await work();
    passed += 1;
    return result;
  } catch (error) {
    failed += 1;
    process.stdout.write(`FAILED ${name}: ${error instanceof Error ? error.stack : error}\n`);
    return undefined;
  }
}

async function main() {
  if (!hasBrowser()) {
    process.stdout.write(`no browser: ${executablePath} is missing, set CHROMIUM to a Chromium\n`);
    process.exitCode = 2;
    return;
  }
  const began = performance.now();
  const world = await openWorld();
  process.stderr.write(`world after ${Math.round(performance.now() - began)} ms\n`);
  try {
    const drift = await check('story: finance finds the drift', () => findsDrift(world));
    if (drift) await check('story: support repairs it', () => repairs(world, drift));
    await check('story: finance closes the month', () => closesTheMonth(world));
    await check('used by the keyboard', () => byKeyboard(world));
    await check('used without a script', () => withoutScript(world));
    await check('used in another zone', () => inAnotherZone(world));
    await check('used to type a program', () => typesProgram(world));
    await check('used on paper', () => onPaper(world));
    await check('used by the back button', () => backAgain(world));
    await check('used while the database is away', () => whileDatabaseIsAway(world));
    for (const name of Object.keys(PAGES)) await looked(world, name);
    await check('the run that an operator began', () => lookedAtRun(world));
  } finally {
    await world.end();
  }
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  if (failed > 0) process.exitCode = 1;
}

/** Opens the operator's pages in every window. */
async function looked(world, name) {
  for (const [width, colorScheme] of WINDOWS) {
    const wanted = [
      ...PAGES[name].map((path) => [path, 200]),
      ...REFUSED[name].map((path) => [path, 400]),
    ].map(([path, status]) => [`${name} ${path} ${width} ${colorScheme} ${status}`, path, status]);
    if (!wanted.some(([title]) => title.includes(only))) continue;
    const options = { colorScheme, viewport: { width, height: 900 } };
    const { context, page, faults } = await signedIn(world, name, options);
    for (const [title, path, status] of wanted)
      await check(title, () => judged(page, path, faults, status));
    await context.close();
  }
}

/** The newest run of an operator has a page that has ended. */
async function lookedAtRun(world) {
  const { context, page, faults } = await signedIn(world, 'fay');
  await page.goto('/console/runs');
  const path = await page.locator('main tbody a').first().getAttribute('href');
  await judged(page, path, faults, 200);
  await page.getByRole('link', { name: 'See the result' }).waitFor();
  await context.close();
}

async function judged(page, path, faults, status) {
  const answer = await page.goto(path);
  assert.equal(answer?.status(), status);
  if (status !== 200) {
    assert.equal(await page.locator('[aria-invalid=true]').count(), 1);
    // The browser reports the status of the page itself.
    faults.splice(0, 1);
  }
  const tooWide = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
  assert.ok((await page.evaluate(tooWide)) <= 0, 'is wider than the window');
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate('axe.run({ iframes: false })');
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 160)}`);
  assert.deepEqual([...found, ...faults.splice(0)], []);
}

await main();
