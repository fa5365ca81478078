// Finance: drift found by a replay; then the end of a month, from its statement to its digest.
import assert from 'node:assert/strict';
import {
  DEMO,
  figure,
  figures,
  fillIn,
  isDone,
  opened,
  press,
  savedText,
  signedIn,
} from './console-world.mjs';

const textOf = (value) => (typeof value === 'string' ? value : JSON.stringify(value));
const numbers = (values) => values.map((value) => String(value));

/** @returns {Promise<object>} what the replay found, for support. */
export async function findsDrift(world) {
  const { page, faults, context } = await signedIn(world, 'fay');
  await page.goto(DEMO);
  const [cents] = (await world.cli('ledger', 'reconcile', 'demo')).units;
  assert.equal(await figure(page, `outstanding:${cents.unit}`), String(cents.closing));

  await opened(page, 'Replay');
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

  await page.getByRole('link', { name: drifted.account, exact: true }).first().click();
  await page.getByRole('link', { name: 'Statement', exact: true }).last().click();
  await statementIsThatOf(world, page, drifted.account);
  assert.deepEqual(faults, []);
  await context.close();
  return { account: drifted.account, differences: replay.differences.length };
}

/** The page has the figures of the command, line by line. */
async function statementIsThatOf({ cli }, page, account) {
  await page.goto(`${DEMO}/statement?account=${account}&size=100`);
  const document = await cli('ledger', 'statement', 'demo', account);
  assert.equal(await figure(page, 'digest'), document.digest);
  assert.equal(await figure(page, 'position'), document.position);
  for (const { unit, opening, closing } of document.units) {
    assert.equal(await figure(page, `opening:${unit}`), String(opening));
    assert.equal(await figure(page, `closing:${unit}`), String(closing));
  }
  const lines = document.units.flatMap((unit) => unit.lines);
  assert.ok(lines.length > 1, 'the account has movements');
  const ofLines = (member) => numbers(lines.map((line) => line[member]));
  assert.deepEqual(await figures(page, 'line.amount'), ofLines('amount'));
  assert.deepEqual(await figures(page, 'line.balance'), ofLines('balance'));
  return document;
}

/** The end of a month, from the sign-in that leads to the page that was wanted. */
export async function closesTheMonth(world) {
  const { page, faults, context } = await signedIn(world, 'fay');
  const month = lastMonth();
  await page.goto(DEMO);
  await readsTheMonth(world, page, month);
  await reconciles(world, page);
  await corrects(world, page);

  await opened(page, 'Periods');
  await page.getByRole('heading', { name: `Close ${month}` }).waitFor();
  const totals = await world.cli('ledger', 'reconcile', 'demo', '--period', month);
  for (const { unit, opening, issued, closing } of totals.units)
    for (const [name, value] of Object.entries({ opening, issued, closing }))
      assert.equal(await figure(page, `${name}:${unit}`), String(value));
  await fillIn(page, { Comment: 'compared with the books', [`Type "${month}" to confirm`]: '1' });
  await press(page, 'Close month');
  const confirm = page.getByLabel(`Type "${month}" to confirm`);
  assert.equal(await confirm.getAttribute('aria-invalid'), 'true');
  // The browser reports the status of the refused form.
  faults.splice(0, 1);
  await confirm.fill(month);
  await press(page, 'Close month');
  await page.getByRole('button', { name: `Reopen ${month}` }).waitFor();
  await assert.rejects(
    world.cli('ledger', 'close', 'demo', '--period', month, '--comment', 'again'),
    /closed already|is closed/,
  );

  await verifies(world, page);
  await signsInAgain(world, page);
  assert.deepEqual(faults, []);
  await context.close();
}

const lastMonth = () => {
  const today = new Date();
  const first = Date.UTC(today.getUTCFullYear(), today.getUTCMonth());
  return new Date(first - 1).toISOString().slice(0, 7);
};

/** The statement of the tenant for a month: a line a day, and a file. */
async function readsTheMonth({ cli }, page, month) {
  await opened(page, 'Statement');
  await page.getByLabel('Month', { exact: true }).fill(month);
  await press(page, 'Show statement');
  const document = await cli('ledger', 'statement', 'demo', '--month', month);
  await page.getByText(document.digest).waitFor();
  const lines = document.units.flatMap((unit) => unit.lines);
  for (const { unit, opening, closing } of document.units) {
    assert.equal(await figure(page, `opening:${unit}`), String(opening));
    assert.equal(await figure(page, `closing:${unit}`), String(closing));
  }
  for (const member of ['issued', 'redeemed', 'balance'])
    assert.deepEqual(
      await figures(page, `line.${member}`),
      numbers(lines.map((line) => line[member])),
    );
  const file = await savedText(page, 'Download CSV');
  assert.ok(lines.every(({ day }) => file.includes(day)));
}

/** Two balances of the file of balances are changed; the page and the command find both. */
async function reconciles({ cli, fileOf }, page) {
  await opened(page, 'Balances');
  const [head, ...rows] = (await savedText(page, 'Download CSV')).trim().split(/\r?\n/);
  const changed = rows.slice(0, 2).map((row) => {
    const [account, unit, balance] = row.split(',');
    return { account, unit, balance: Number(balance), own: Number(balance) - 5 };
  });
  const books = [
    head,
    ...changed.map(({ account, unit, own }) => `${account},${unit},${own}`),
    ...rows.slice(2),
  ].join('\n');
  await opened(page, 'Reconcile');
  const file = { name: 'books.csv', mimeType: 'text/csv', buffer: Buffer.from(books) };
  await page.getByLabel('Balance file').setInputFiles(file);
  await press(page, 'Reconcile');
  await isDone(page);
  await page.getByText(`2 of ${rows.length.toLocaleString('en-US')} balances differ`).waitFor();
  const found = await cli('ledger', 'reconcile', 'demo', '--against', fileOf('books.csv', books));
  assert.equal(await figure(page, 'ok'), String(found.ok));
  assert.equal(await figure(page, 'compared'), String(rows.length));
  for (const { unit, closing } of found.units)
    assert.equal(await figure(page, `closing:${unit}`), String(closing));
  const differing = found.differences.map(({ account, unit, ledger, against }) =>
    [account, unit, ledger, against].join(),
  );
  assert.deepEqual(
    differing.sort(),
    changed.map(({ account, unit, balance, own }) => [account, unit, balance, own].join()).sort(),
  );
  for (const { account, balance, own } of changed) {
    const row = page.getByRole('row').filter({ has: page.getByText(account, { exact: true }) });
    const value = (name) => row.locator(`[data-figure="${name}"]`).getAttribute('data-value');
    assert.equal(await value('difference.ledger'), String(balance));
    assert.equal(await value('difference.file'), String(own));
  }
}

/** Fay proposes, flo rejects the one that waited since yesterday and approves the other. */
async function corrects(world, page) {
  const before = await statementIsThatOf(world, page, 'account-1');
  const balanceOf = ({ units }) => units.find(({ unit }) => unit === 'CENTS').closing;
  await page.goto(`${DEMO}/accounts/account-1`);
  await page.getByRole('link', { name: 'Correct this balance' }).click();
  await page.getByLabel('User', { exact: true }).selectOption('user-1');
  await page.getByLabel('Unit', { exact: true }).selectOption('CENTS');
  await fillIn(page, { Amount: '4.50', Reason: 'promised by mail' });
  await press(page, 'Propose');
  await page.getByText('= 450 CENTS').waitFor();
  await press(page, 'Confirm');
  await page.getByText('The correction is proposed.').waitFor();
  const waiting = await world.cli('ledger', 'proposals', 'demo', '--state', 'waiting');
  assert.equal(waiting.length, 2);
  assert.equal(await page.getByRole('button', { name: 'Withdraw' }).count(), 2);
  assert.equal(await page.getByText('Approve', { exact: true }).count(), 0);

  const other = await signedIn(world, 'flo');
  await other.page.goto(`${DEMO}/corrections`);
  const item = (reason) => other.page.getByRole('listitem').filter({ hasText: reason });
  const older = item('promised on the phone');
  await older.getByText('Reject', { exact: true }).click();
  await older.getByLabel('Reason', { exact: true }).fill('the shop has paid it');
  await older.getByRole('button', { name: 'Confirm' }).click();
  await other.page.getByText('The correction is rejected.').waitFor();
  const newer = item('promised by mail');
  await newer.getByText('Approve', { exact: true }).click();
  await newer.getByRole('button', { name: 'Confirm' }).click();
  await other.page.getByText('approved and booked').waitFor();
  await other.page.getByText('No correction waits').waitFor();
  assert.deepEqual(other.faults, []);
  await other.context.close();

  const after = await statementIsThatOf(world, page, 'account-1');
  assert.equal(balanceOf(after) - balanceOf(before), 450);
  await page.getByText('promised by mail; proposed by fay, approved by flo').waitFor();
}

async function verifies({ cli }, page) {
  await opened(page, 'Verify');
  const digest = await savedText(page, 'Download digest');
  const name = `digest-demo-live-${new Date().toISOString().slice(0, 10)}.json`;
  const file = { name, mimeType: 'application/json', buffer: Buffer.from(digest) };
  await page.getByLabel('Digest file').setInputFiles(file);
  await press(page, 'Verify');
  await isDone(page);
  assert.equal(await figure(page, 'ok'), 'true');
  await page.getByText('unchanged since your digest of').waitFor();
  const verified = await cli('ledger', 'verify', 'demo');
  assert.equal(verified.ok, true);
  // Each of the two is itself recorded in the chain that the next one reads.
  assert.ok(verified.events >= Number(await figure(page, 'events')));
}

/** After signing out a page leads to the sign-in, and the sign-in to the page. */
async function signsInAgain({ secrets }, page) {
  await page.getByRole('banner').getByText('fay', { exact: true }).click();
  await press(page, 'Sign out');
  await page.getByLabel('Key').waitFor();
  await page.goto(`${DEMO}/statement?account=account-1`);
  await page.getByLabel('Key').fill(secrets.fay);
  await press(page, 'Sign in');
  await page.waitForURL(`**${DEMO}/statement?account=account-1`);
}
