// How pages are used: by the keyboard, without a script, on paper, in another zone, and while the database is away.
import assert from 'node:assert/strict';
import { DEMO, figure, fillIn, isDone, press, signedIn } from './console-world.mjs';

/** `g` and a letter goes places, `/` searches, `?` lists the keys; what is typed into a field does none of it. */
export async function byKeyboard(world) {
  const { page, faults, context } = await signedIn(world, 'fay');
  await page.goto(`${DEMO}/statement`);
  await page.keyboard.press('g');
  await page.keyboard.press('r');
  await page.waitForURL(`**${DEMO}/replay`);
  await page.getByLabel('Account', { exact: true }).focus();
  await page.keyboard.type('go?/');
  assert.equal(await page.getByLabel('Account', { exact: true }).inputValue(), 'go?/');
  assert.equal(await page.getByRole('dialog').count(), 0);
  await page.getByLabel('Account', { exact: true }).blur();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).getByText('journal of events').waitFor();
  // Pages that the role may not see have no key.
  assert.equal(await page.getByRole('dialog').getByText('moderation').count(), 0);
  await page.keyboard.press('Escape');
  assert.equal(await page.getByRole('dialog').count(), 0);
  await page.keyboard.press('g');
  await page.keyboard.press('o');
  await page.waitForURL(`**${DEMO}`);
  await page.locator('h1').click();
  await page.keyboard.press('/');
  await page.keyboard.type('account-1');
  await page.keyboard.press('Enter');
  await page.waitForURL(`**${DEMO}/accounts/account-1`);
  await page.locator('h1').click();
  await page.keyboard.press('g');
  await page.keyboard.press('q');
  await page.keyboard.press('/');
  await page.waitForURL(`**${DEMO}`);
  await page.locator('#search:focus').waitFor();
  await page.keyboard.type('account-1');
  await page.keyboard.press('Enter');
  await page.waitForURL(`**${DEMO}/accounts/account-1`);
  await page.goto(`${DEMO}/nowhere`);
  await page.keyboard.press('g');
  await page.keyboard.press('s');
  await page.waitForURL(`**${DEMO}/statement`);
  // The browser reports the status of the page itself.
  faults.splice(0, 1);
  await page.goto(`${DEMO}/accounts/account-1`);
  // The first stop of the keyboard leads past the navigation.
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate('document.activeElement.className'), 'skip');
  assert.deepEqual(faults, []);
  await context.close();
}

/** A replay runs to its end, a search finds, a form is refused: all of it without a script. */
export async function withoutScript(world) {
  const { page, faults, context } = await signedIn(world, 'fay', { javaScriptEnabled: false });
  await page.goto(`${DEMO}/replay`);
  await page.getByLabel('Account', { exact: true }).fill('account-1');
  await press(page, 'Start replay');
  await isDone(page);
  assert.match(page.url(), /run=/);
  assert.ok(Number(await figure(page, 'events')) > 0);
  await page.goto(`${DEMO}/accounts/account-1`);
  const time = page.locator('.history time').first();
  assert.equal(await time.innerText(), await titleOf(time));
  await page.goto(`${DEMO}/statement`);
  await page.getByLabel('From', { exact: true }).fill('yesterday');
  await press(page, 'Show statement');
  assert.equal(await page.locator('[aria-invalid=true]').inputValue(), 'yesterday');
  // The browser reports the status of the page itself.
  assert.equal(faults.splice(0).length, 1);
  await context.close();
}

/** Times are the viewer's, with UTC on hover. */
export async function inAnotherZone(world) {
  const { page, faults, context } = await signedIn(world, 'fay', { timezoneId: 'Asia/Tokyo' });
  await page.goto(`${DEMO}/accounts/account-1`);
  const time = page.locator('.history time').first();
  const shown = await time.innerText();
  const utc = await titleOf(time);
  const hours = (Date.parse(`${shown}Z`) - Date.parse(utc.replace(' UTC', 'Z'))) / 3_600_000;
  assert.equal(hours, 9);
  await page.locator('footer').getByText('Asia/Tokyo (now UTC+09:00)').waitFor();
  assert.deepEqual(faults, []);
  await context.close();
}

/** The form of a program shows the fields of the chosen rewards, and the difference while it is typed. */
export async function typesProgram(world) {
  const { page, faults, context } = await signedIn(world, 'sam');
  await page.goto(`${DEMO}/program`);
  const field = (id) => page.locator(`[id="${id}"]`);
  await field('referredReward').selectOption('CREDIT');
  await field('referredReward.assignedCredit').waitFor();
  assert.equal(await field('referredReward.discountPercent').count(), 0);
  await field('referredReward').selectOption('PCT_DISCOUNT');
  await field('referredReward.discountPercent').fill('150');
  await field('referredReward.discountPercent-wrong').getByText('at most 100').waitFor();
  assert.equal(await field('referredReward.discountPercent').inputValue(), '150');
  await field('referredReward.discountPercent').fill('15');
  await page.locator('#changes').getByText('+     "discountPercent": 15').waitFor();
  await press(page, 'Forecast');
  await isDone(page);
  assert.equal(await field('referredReward.discountPercent').inputValue(), '15');
  await page.goto(`${DEMO}/program`);
  assert.notEqual(await field('referredReward.discountPercent').inputValue(), '15');
  assert.deepEqual(faults, []);
  await context.close();
}

/** A statement is printed without what only a screen needs. */
export async function onPaper(world) {
  const { page, faults, context } = await signedIn(world, 'fay');
  await page.goto(`${DEMO}/statement?account=account-1`);
  await page.emulateMedia({ media: 'print' });
  for (const part of ['header', 'nav.tenant', 'main form', '.actions'])
    assert.equal(await page.locator(part).first().isVisible(), false, `${part} is printed`);
  assert.ok(await page.locator('[data-figure="digest"]').isVisible());
  assert.ok(await page.locator('[data-figure="line.balance"]').first().isVisible());
  assert.deepEqual(faults, []);
  await context.close();
}

/** An operator who goes back to a form that was sent can send it again. */
export async function backAgain(world) {
  const { page, context } = await signedIn(world, 'fay');
  await page.goto(`${DEMO}/corrections`);
  await fillIn(page, { Account: 'none', User: 'none', Unit: 'CENTS', Amount: '1', Reason: 'x' });
  for (const times of [1, 2]) {
    await press(page, 'Propose');
    await page.locator('#account-wrong').waitFor();
    await page.goBack();
    assert.ok(await page.getByRole('button', { name: 'Propose' }).isEnabled(), `back, ${times}`);
    assert.equal(await page.getByLabel('Account', { exact: true }).inputValue(), 'none');
  }
  await context.close();
}

/** While the database does not answer, a page says so and keeps its figures; afterwards it is itself again, untouched. */
export async function whileDatabaseIsAway(world) {
  const { page, context } = await signedIn(world, 'sam');
  const watched = await context.newPage();
  await watched.goto('/console/projections');
  const said = watched.getByText('The service does not answer');
  assert.equal(await said.count(), 0);
  const frozen = await world.database();
  assert.ok(frozen.length > 1);
  const shown = await watched.locator('#projections').innerText();
  for (const pid of frozen) process.kill(pid, 'SIGSTOP');
  try {
    await said.waitFor();
    assert.equal(await watched.locator('#projections').innerText(), shown);
    const answer = await page.goto(`${DEMO}/webhooks`);
    assert.equal(answer?.status(), 503);
    await page.getByText('This page is loaded again by itself').waitFor();
  } finally {
    for (const pid of frozen) process.kill(pid, 'SIGCONT');
  }
  await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor();
  assert.ok(page.url().endsWith(`${DEMO}/webhooks`));
  await said.waitFor({ state: 'detached' });
  await context.close();
}

const titleOf = (time) => time.getAttribute('title');
