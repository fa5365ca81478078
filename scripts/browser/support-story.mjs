// Support: a customer found and helped, a referral decided, a webhook that fails, an export.
import assert from 'node:assert/strict';
import { DEMO, figure, fillIn, opened, press, savedText, signedIn } from './console-world.mjs';

const UNIT = 'CENTS';

/** From the question of a customer to a file with rewards. */
export async function helps(world) {
  const { page, faults, context } = await signedIn(world, 'sam');
  await page.goto(DEMO);
  await findsByHalfAName(page);
  await saysWhyNot(page);
  await grants(world, { page, faults });
  await blocks(page);
  await findsFailingWebhook(page);
  await exportsRewards(world, page);
  assert.deepEqual(faults, []);
  await context.close();
}

/** Parts of both names, the last one first. */
async function findsByHalfAName(page) {
  await opened(page, 'Users');
  await page.getByLabel('State', { exact: true }).selectOption('Active');
  await press(page, 'Filter');
  const name = await page
    .getByRole('table')
    .getByRole('link', { name: /^[A-Z]\w+ [A-Z]\w+$/ })
    .first()
    .innerText();
  const [first, last] = name.split(' ');
  const search = page.getByRole('searchbox', { name: 'Search' });
  await search.fill(`${last.slice(1, 4)} ${first.slice(0, 2)}`);
  await search.press('Enter');
  await page.getByRole('main').getByRole('link', { name, exact: true }).first().click();
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
}

/** A denied referral is why its account has less credit; Undo approves it, and the reason is gone. */
async function saysWhyNot(page) {
  await opened(page, 'Moderation');
  const waiting = Number(await figure(page, 'referrals.pending'));
  const row = page
    .getByRole('row')
    .filter({ has: page.getByRole('checkbox', { name: /^Select the/ }) });
  const account = await row.first().getByRole('link').first().getAttribute('href');
  await row.first().getByRole('checkbox').check();
  await page.getByLabel('Reason', { exact: true }).fill('one person with two addresses');
  await page.getByText('Deny', { exact: true }).click();
  await page.getByRole('button', { name: 'Confirm' }).click();
  await page.getByRole('status').getByText('denied').waitFor();
  assert.equal(Number(await figure(page, 'referrals.pending')), waiting - 1);

  await page.goto(account);
  await page.getByRole('heading', { name: 'Why a reward was not granted' }).waitFor();
  await page.getByText('moderation denied the referral').first().waitFor();
  await page.getByText('one person with two addresses').first().waitFor();

  await opened(page, 'Moderation');
  const decided = page.getByRole('row').filter({ hasText: 'one person with two addresses' });
  await decided.getByRole('cell', { name: 'sam', exact: true }).waitFor();
  await decided.getByRole('link', { name: 'Undo' }).click();
  await page.getByLabel('Reason', { exact: true }).first().fill('it is a sister');
  await press(page, 'Undo');
  await page.getByRole('status').getByText('reversed').waitFor();
  await page.goto(account);
  assert.equal(await page.getByText('moderation denied the referral').count(), 0);
}

/** Within the limit a grant is booked once; above it finance has to approve, and support withdraws. */
async function grants({ cli }, { page, faults }) {
  const account = 'account-2';
  const path = `${DEMO}/accounts/${account}`;
  await page.goto(path);
  const available = async () => Number(await figure(page, 'available:CENTS'));
  const before = await available();
  const granted = async (amount) => {
    await page.getByRole('link', { name: 'Grant reward' }).click();
    await fillIn(page, { Amount: amount, Name: 'Sorry', Reason: 'the parcel was late' });
    await press(page, 'Grant reward');
  };
  await granted('1,250.00');
  assert.equal(await page.getByLabel('Amount').getAttribute('aria-invalid'), 'true');
  // The browser reports the status of the refused form.
  assert.equal(faults.splice(0).length, 1);
  assert.equal(await page.getByLabel('Reason').inputValue(), 'the parcel was late');
  await page.getByLabel('Amount').fill('12.50');
  await press(page, 'Grant reward');
  await page.getByRole('status').getByText('€12.50 = 1,250 CENTS').waitFor();
  await press(page, 'Confirm');
  await page.getByRole('status').getByText('The reward is granted').waitFor();
  assert.equal(await available(), before + 1_250);
  const { units } = await cli('ledger', 'statement', 'demo', account);
  assert.equal(units.find(({ unit }) => unit === 'CENTS').closing, before + 1_250);
  await page.getByText('the parcel was late').first().waitFor();

  await granted('100.01');
  await page.getByText('finance approves it').waitFor();
  await press(page, 'Confirm');
  await page.getByRole('status').getByText('waits for the approval of finance').waitFor();
  assert.equal(await available(), before + 1_250);
  await opened(page, 'Corrections');
  const own = page.getByRole('listitem').filter({ hasText: 'the parcel was late' });
  await own.getByRole('button', { name: 'Withdraw' }).click();
  await page.getByRole('status').getByText('withdrawn').waitFor();
}

async function blocks(page) {
  await page.goto(`${DEMO}/accounts/account-3`);
  for (const [action, state] of [
    ['Block', 'Blocked'],
    ['Unblock', 'Active'],
  ]) {
    await page.getByRole('link', { name: action, exact: true }).click();
    await press(page, action);
    await page.getByRole('status').waitFor();
    const people = page.getByRole('region', { name: 'People' });
    await people.getByRole('cell', { name: state, exact: true }).first().waitFor();
  }
}

/** A test says why an endpoint fails; its delivery shows the attempt, and is sent again. */
async function findsFailingWebhook(page) {
  await opened(page, 'Webhooks');
  const endpoint = 'https://billing.invalid/referrals';
  await page.getByRole('row').filter({ hasText: 'Billing' }).getByText('Failing').waitFor();
  await page.getByRole('button', { name: `Test ${endpoint}` }).click();
  const said = page.getByRole('status').filter({ hasText: 'did not answer the test' });
  const reason = await said.getByRole('strong').innerText();
  await said.getByRole('link', { name: 'Payload and headers' }).click();
  const attempts = page.getByRole('region', { name: 'Attempts' });
  await attempts.getByRole('cell', { name: `No answer: ${reason}` }).waitFor();
  await page.getByRole('heading', { name: 'Payload' }).waitFor();
  await page.getByText('webhook-signature').waitFor();
  await press(page, 'Resend');
  await page.getByRole('status').getByText('Resending 1 delivery.').waitFor();
}

/** The rewards of last month as a file, with as many rows as the page and the command say. */
async function exportsRewards({ cli }, page) {
  await opened(page, 'Exports');
  await page.getByLabel('Kind', { exact: true }).selectOption({ label: 'Rewards' });
  await page.getByLabel('Program', { exact: true }).waitFor();
  const [from, to] = lastMonth();
  await fillIn(page, { Name: 'rewards of last month', From: from, To: to });
  await press(page, 'Export');
  const row = page.getByRole('row').filter({ hasText: 'rewards of last month' });
  await row.getByText('Ready').waitFor();
  const [newest] = await cli('export', 'list', 'demo');
  const rows = Number(await figure(page, 'rows'));
  assert.equal(rows, newest.stats.rows);
  const [, ...lines] = (await savedText(page, 'Download')).trim().split('\n');
  assert.equal(lines.length, rows);
  assert.ok(rows > 0 && lines.every((line) => line.includes(from.slice(0, 7))));
}

/** Its first and last day, in UTC. */
function lastMonth() {
  const today = new Date();
  const [year, month] = [today.getUTCFullYear(), today.getUTCMonth()];
  return [Date.UTC(year, month - 1, 1), Date.UTC(year, month, 0)].map((at) =>
    new Date(at).toISOString().slice(0, 10),
  );
}
