#!/usr/bin/env node
// The console in an installed Chromium, from signing in to signing out: npm run test:browser
// CHROMIUM=/path/to/chromium; default: that of Debian. Without one it says so, and exits with 2. With an argument: only what has it
// in its name; one about pages begins with the operator or a path. The stories run in order. The last line is `N passed, N failed`.
// Figures of pages are compared with the command line's `--json`. Every page is opened at 390 and 1440 pixels, light, and at 768, dark:
// axe-core finds nothing, nothing is wider than the window, nothing of another origin is loaded, and the browser reports no error.
// Keys, pages without a script, print and times in another zone are used as people do.
import { hasBrowser, executablePath, openWorld } from './browser/console-world.mjs';
import { OPERATORS, seesEveryPage, seesRefusals, seesRun } from './browser/every-page.mjs';
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
import { repairs } from './browser/repair-story.mjs';
import { helps } from './browser/support-story.mjs';

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
    await check('story: support helps a customer', () => helps(world));
    await check('used by the keyboard', () => byKeyboard(world));
    await check('used without a script', () => withoutScript(world));
    await check('used in another zone', () => inAnotherZone(world));
    await check('used to type a program', () => typesProgram(world));
    await check('used on paper', () => onPaper(world));
    await check('used by the back button', () => backAgain(world));
    await check('used while the database is away', () => whileDatabaseIsAway(world));
    await seesRefusals(world, check);
    for (const name of OPERATORS)
      if (only === '' || only.startsWith(name) || only.startsWith('/'))
        await seesEveryPage(world, name, check);
    await check('the run that an operator began', () => seesRun(world));
  } finally {
    await world.end();
  }
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  if (failed > 0) process.exitCode = 1;
}

await main();
