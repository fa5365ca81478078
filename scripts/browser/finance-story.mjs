// Finance: statement, drift found by a replay, a correction by two people, books, a closed month, the chain.
import assert from 'node:assert/strict';
import { DEMO, figure, figures, fillIn, isDone, press, signedIn } from './console-world.mjs';

/** @returns {Promise<object>} what the replay found, for support. */
export async function findsDrift(world) {
  const { page, faults, context } = await signedIn(world, 'fay');
  await page.goto(DEMO);
  const [cents] = (await world.cli('ledger', 'reconcile', 'demo')).units;
  assert.equal(await figure(page, `outstanding:${cents.unit}`), String(cents.closing));

  await page.goto(`${DEMO}/replay`);
  await press(page, 'Start replay');
  await isDone(page);
  const replay = await world.cli('ledger', 'replay', 'demo');
  assert.ok(replay.differences.length > 1, 'the planted drift is there');
  assert.equal(await figure(page, 'differences'), String(replay.differences.length));
  const shown = replay.differences.slice(0, 50);
  const texts = (values) => values.map(textOf);
  assert.deepEqual(await figures(page, 'difference.ledger'), texts(shown.map((one) => one.ledger)));
  assert.deepEqual(await figures(page, 'difference.live'), texts(shown.map((one) => one.live)));
  const drifted = shown.find(({ field }) => field.includes('redeemed'));
  assert.ok(drifted, 'a reward has another redeemed credit');
  for (const event of drifted.eventIds) await page.getByText(event).first().waitFor();

  await statement(world, page, drifted.account);
  assert.deepEqual(faults, []);
  await context.close();
  return { account: drifted.account, differences: replay.differences.length };
}

const textOf = (value) => (typeof value === 'string' ? value : JSON.stringify(value));

/** The page has the figures of the command, line by line. */
async function statement({ cli }, page, account) {
  await page.goto(`${DEMO}/statement?account=${account}`);
  const document = await cli('ledger', 'statement', 'demo', account);
  assert.equal(await figure(page, 'digest'), document.digest);
  assert.equal(await figure(page, 'position'), document.position);
  for (const { unit, opening, closing } of document.units) {
    assert.equal(await figure(page, `opening:${unit}`), String(opening));
    assert.equal(await figure(page, `closing:${unit}`), String(closing));
  }
  const lines = document.units.flatMap((unit) => unit.lines);
  assert.ok(lines.length > 1, 'the account has movements');
  const ofLines = (member) => lines.map((line) => String(line[member]));
  assert.deepEqual(await figures(page, 'line.amount'), ofLines('amount'));
  assert.deepEqual(await figures(page, 'line.balance'), ofLines('balance'));
  return document;
}

/** From a wrong balance in the books to the signed end of the month. */
export async function closesTheMonth(world) {
  const { page, faults, context } = await signedIn(world, 'fay');
  await corrects(world, page);
  await reconciles(world, page);

  const month = lastMonth();
  await page.goto(`${DEMO}/periods`);
  await fillIn(page, { Comment: 'compared with the books', [`Type "${month}" to confirm`]: month });
  await press(page, 'Close month');
  await page.getByRole('button', { name: `Reopen ${month}` }).waitFor();
  await assert.rejects(
    world.cli('ledger', 'close', 'demo', '--period', month, '--comment', 'again'),
    /closed already|is closed/,
  );

  await verifies(world, page);
  await page.locator('summary', { hasText: 'fay' }).click();
  await press(page, 'Sign out');
  await page.getByLabel('Key').waitFor();
  await page.goto(`${DEMO}/verify`);
  await page.getByLabel('Key').fill(world.secrets.fay);
  await press(page, 'Sign in');
  await page.waitForURL(`**${DEMO}/verify`);
  assert.deepEqual(faults, []);
  await context.close();
}

const lastMonth = () => {
  const today = new Date();
  const first = Date.UTC(today.getUTCFullYear(), today.getUTCMonth());
  return new Date(first - 1).toISOString().slice(0, 7);
};

/** Fay proposes, flo approves; another one waited since yesterday. */
async function corrects(world, page) {
  const before = await statement(world, page, 'account-1');
  const balanceOf = ({ units }) => units.find(({ unit }) => unit === 'CENTS').closing;
  await page.goto(`${DEMO}/corrections?account=account-1`);
  await page.getByLabel('User', { exact: true }).selectOption('user-1');
  await page.getByLabel('Unit', { exact: true }).selectOption('CENTS');
  await fillIn(page, { Amount: '4.50', Reason: 'promised by mail' });
  await press(page, 'Propose');
  await page.getByText('= 450 CENTS').waitFor();
  await press(page, 'Propose');
  const waiting = await world.cli('ledger', 'proposals', 'demo', '--state', 'waiting');
  assert.equal(waiting.length, 2);
  assert.equal(await page.getByText('Another operator approves it.').count(), 2);
  assert.equal(await page.getByText('Approve', { exact: true }).count(), 0);
  const other = await signedIn(world, 'flo');
  for (const left of [1, 0]) {
    await other.page.goto(`${DEMO}/corrections`);
    await other.page.getByText('Approve', { exact: true }).first().click();
    await other.page.getByRole('button', { name: 'Confirm' }).locator('visible=true').click();
    if (left === 0) await other.page.getByText('No correction waits').waitFor();
    else await other.page.getByText('approved and booked').waitFor();
  }
  assert.deepEqual(other.faults, []);
  await other.context.close();
  const after = await statement(world, page, 'account-1');
  const sum = waiting.reduce((total, { amount }) => total + amount, 0);
  assert.equal(balanceOf(after) - balanceOf(before), sum);
}

async function reconciles({ cli }, page) {
  const { units } = await cli('ledger', 'statement', 'demo', 'account-1');
  const own = units.find(({ unit }) => unit === 'CENTS').closing;
  const rows = `account,unit,balance\naccount-1,CENTS,${own - 5}\n`;
  const file = { name: 'books.csv', mimeType: 'text/csv', buffer: Buffer.from(rows) };
  await page.goto(`${DEMO}/reconcile`);
  await page.getByLabel('Balance file').setInputFiles(file);
  await press(page, 'Reconcile');
  await isDone(page);
  assert.equal(await figure(page, 'ok'), 'false');
  const row = page.locator('tr', { hasText: 'account-1' }).first();
  const value = (name) => row.locator(`[data-figure="${name}"]`).getAttribute('data-value');
  assert.equal(await value('difference.ledger'), String(own));
  assert.equal(await value('difference.file'), String(own - 5));
  const all = await cli('ledger', 'reconcile', 'demo');
  for (const { unit, closing } of all.units)
    assert.equal(await figure(page, `closing:${unit}`), String(closing));
}

async function verifies({ cli }, page) {
  await page.goto(`${DEMO}/verify`);
  const link = page.getByRole('link', { name: 'Download digest' });
  const answer = await page.request.get(await link.getAttribute('href'));
  await page.goto(`${DEMO}/verify`);
  const digest = { name: 'digest.json', mimeType: 'application/json', buffer: await answer.body() };
  await page.getByLabel('Digest file').setInputFiles(digest);
  await press(page, 'Verify');
  await isDone(page);
  assert.equal(await figure(page, 'ok'), 'true');
  const verified = await cli('ledger', 'verify', 'demo');
  assert.equal(verified.ok, true);
  // Each of the two is itself recorded in the chain that the next one reads.
  assert.ok(verified.events >= Number(await figure(page, 'events')));
}
