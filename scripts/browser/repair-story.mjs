// Support: one account repaired, a read model rebuilt under load, compared, swapped, rolled back, and a parked event retried.
import assert from 'node:assert/strict';
import { clientOf, DEMO, figure, isDone, press, signedIn } from './console-world.mjs';

const PAGE = '/console/projections';
const AT_ONCE = 4;
/** Reports what the script of a page changes in the progress of a run. */
const WATCHING = `new MutationObserver((changes) => {
  for (const { target } of changes)
    if (target.dataset?.figure === 'progress') showsProgress(target.dataset.value);
}).observe(document, { subtree: true, attributes: true, attributeFilter: ['data-value'] });`;

/** @param drift what finance found. */
export async function repairs(world, drift) {
  const { context, page, faults } = await signedIn(world, 'sam');
  await page.goto(`${DEMO}/accounts/${drift.account}`);
  await page.getByText('redeemed').first().waitFor();

  await repairsOneAccount(world, page, drift);
  const before = Number(await figure(page, 'generation:rewards'));
  await rebuildsUnderLoad(world, page);
  await compares(world, page);
  await swapsAndRollsBack(world, { page, faults, before });
  await retriesParked(world, page);
  const { differences } = await world.cli('ledger', 'replay', 'demo');
  assert.deepEqual(differences, []);
  assert.deepEqual(faults, []);
  await context.close();
}

async function chosen(page) {
  await page.goto(PAGE);
  await page.getByLabel('Projection', { exact: true }).selectOption('rewards');
  await page.getByRole('button', { name: 'Swap', exact: true }).waitFor();
}

async function repairsOneAccount({ cli }, page, { account, differences }) {
  const ofAccount = async () =>
    (await cli('ledger', 'replay', 'demo', '--account', account)).differences.filter(
      ({ readModel }) => readModel === 'rewards',
    );
  const wrong = (await ofAccount()).length;
  assert.ok(wrong > 0, 'the account has drifted');
  await chosen(page);
  await page.getByLabel('Tenant', { exact: true }).fill('demo');
  await page.getByLabel('Account', { exact: true }).fill(account);
  await press(page, 'Rebuild');
  await isDone(page);
  assert.deepEqual(await ofAccount(), []);
  const left = (await cli('ledger', 'replay', 'demo')).differences.length;
  assert.equal(left, differences - wrong);
}

/** Clients grant rewards meanwhile, and the page shows how far the rebuild is without being loaded again. */
async function rebuildsUnderLoad(world, page) {
  const call = clientOf(world);
  let granted = 0;
  let isLoaded = true;
  const seen = [];
  const clients = Array.from({ length: AT_ONCE }, async (_, client) => {
    while (isLoaded) {
      const path = `/rewards/account/account-${client + 10}/user/user-${client + 10}`;
      await call(path, { type: 'CREDIT', unit: 'CENTS', assignedCredit: 100 });
      granted += 1;
    }
  });
  try {
    await page.exposeFunction('showsProgress', (value) => seen.push(value));
    await page.addInitScript(WATCHING);
    await chosen(page);
    await press(page, 'Rebuild');
    await isDone(page);
  } finally {
    isLoaded = false;
    await Promise.all(clients);
  }
  assert.ok(granted > 0, 'clients wrote meanwhile');
  assert.ok(seen.length > 0, 'progress was shown without loading the page again');
}

async function compares({ cli }, page) {
  await chosen(page);
  await press(page, 'Diff');
  await isDone(page);
  const diff = await cli('projection', 'diff', 'rewards');
  assert.ok(diff.count > 0, 'the new generation differs');
  assert.equal(await figure(page, 'differences'), String(diff.count));
  const [{ columns }] = diff.differences;
  const [{ column, live, new: built }] = columns;
  // The page shows names of columns as words, and numbers with commas.
  const row = page.locator('main tbody tr', { hasText: column.replaceAll('_', ' ') }).first();
  const text = (await row.innerText()).replaceAll(',', '');
  for (const value of [live, built])
    assert.ok(text.includes(String(value)), `${value} is in the table: ${text}`);
}

async function swapsAndRollsBack({ cli }, { page, faults, before }) {
  const live = async () =>
    (await cli('projection', 'status')).find(({ name }) => name === 'rewards').generation;
  const confirmed = async (button, name) => {
    await chosen(page);
    await press(page, button);
    await page.getByRole('textbox', { name: 'Type "rewards" to confirm' }).fill(name);
    await press(page, 'Confirm');
  };
  const operated = async (button) => {
    await confirmed(button, 'rewards');
    await isDone(page);
    const generation = Number(await figure(page, 'generation:rewards'));
    assert.equal(await live(), generation);
    return generation;
  };
  await confirmed('Swap', 'reward');
  await page.getByRole('alert').getByText('Type "rewards" to confirm.').waitFor();
  assert.equal(await live(), before);
  // The browser calls the refused form an error.
  assert.match(faults.splice(0).join(), /^[^,]*400[^,]*$/);
  const swapped = await operated('Swap');
  assert.notEqual(swapped, before);
  assert.equal(await operated('Roll back'), before);
  // What was rolled back is not swapped in again: another generation is built.
  await chosen(page);
  await press(page, 'Rebuild');
  await isDone(page);
  assert.notEqual(await operated('Swap'), before);
}

async function retriesParked({ cli }, page) {
  const parked = async () =>
    (await cli('projection', 'status')).find(({ name }) => name === 'users').parked;
  await page.goto(PAGE);
  const before = await parked();
  assert.ok(before > 0, 'an account is parked');
  assert.equal(await figure(page, 'parked:users'), String(before));
  await page
    .getByRole('button', { name: /^Retry users/ })
    .first()
    .click();
  await isDone(page);
  assert.equal(await figure(page, 'parked:users'), '0');
  assert.equal(await parked(), 0);
}
