// How pages are used: by the keyboard, without a script, on paper, in another zone, and while the database is away.
import assert from 'node:assert/strict';
import {
  DEMO,
  figure,
  figures,
  fillIn,
  isDone,
  opened,
  press,
  signedIn,
} from './console-world.mjs';

/** `g` and a letter opens a page, `/` searches, `?` lists the keys; what is typed into a field does none of it. */
export async function byKeyboard(world) {
  const { page, faults, context } = await signedIn(world, 'fay');
  await page.goto(`${DEMO}/statement`);
  // The first stop of the keyboard leads past the navigation.
  await page.keyboard.press('Tab');
  await page
    .getByRole('link', { name: 'Skip to the content' })
    .and(page.locator(':focus'))
    .waitFor();
  await page.keyboard.press('?');
  const keys = page.getByRole('dialog', { name: 'Keys' });
  const letterOf = async (name) => {
    const row = await keys.getByRole('row', { name: new RegExp(` ${name}$`) }).innerText();
    return /^g (\w)/.exec(row)?.[1];
  };
  const [replay, overview] = [await letterOf('Replay'), await letterOf('Overview')];
  // Pages that the role may not see have no key.
  assert.equal(await keys.getByText('Moderation').count(), 0);
  await page.keyboard.press('Escape');
  assert.equal(await page.getByRole('dialog').count(), 0);

  await page.keyboard.press('g');
  await page.keyboard.press(replay);
  await page.waitForURL(`**${DEMO}/replay`);
  const account = page.getByLabel('Account', { exact: true });
  await account.focus();
  await page.keyboard.type(`g${overview}?/`);
  assert.equal(await account.inputValue(), `g${overview}?/`);
  assert.equal(await page.getByRole('dialog').count(), 0);
  await account.blur();
  await page.keyboard.press('g');
  await page.keyboard.press(overview);
  await page.waitForURL(`**${DEMO}`);
  await page.keyboard.press('/');
  await page.keyboard.type('account-1');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Results for "account-1"' }).waitFor();
  assert.deepEqual(faults, []);
  await context.close();
}

/** A replay runs to its end, and a refused correction is corrected and previewed: all of it without a script. */
export async function withoutScript(world) {
  const { page, faults, context } = await signedIn(world, 'fay', { javaScriptEnabled: false });
  await page.goto(`${DEMO}/replay`);
  await page.getByLabel('Account', { exact: true }).fill('account-1');
  await press(page, 'Start replay');
  await isDone(page);
  assert.match(page.url(), /run=/);
  assert.ok(Number(await figure(page, 'events')) > 0);
  await page.goto(`${DEMO}/accounts/account-1`);
  const time = page.getByRole('time').first();
  assert.equal(`${await time.innerText()} UTC`, await titleOf(time));

  await opened(page, 'Corrections');
  const asked = { Account: 'account-1', User: 'user-1', Unit: 'CENTS', Reason: 'a promise' };
  await fillIn(page, { ...asked, Amount: '1,250.00' });
  await press(page, 'Propose');
  assert.equal(await page.getByLabel('Amount').getAttribute('aria-invalid'), 'true');
  for (const [label, text] of Object.entries({ ...asked, Amount: '1,250.00' }))
    assert.equal(await page.getByLabel(label, { exact: true }).inputValue(), text);
  // The browser reports the status of the page itself.
  assert.equal(faults.splice(0).length, 1);
  await page.getByLabel('Amount').fill('12,50');
  await press(page, 'Propose');
  await page.getByText('€12.50 = 1,250 CENTS').waitFor();
  assert.deepEqual(faults, []);
  await context.close();
}

/** Times are the viewer's, with UTC on hover; a typed day is a day of the viewer; finance stays in UTC. */
export async function inAnotherZone(world) {
  const { page, faults, context } = await signedIn(world, 'fay', { timezoneId: 'Asia/Tokyo' });
  await page.goto(`${DEMO}/accounts/account-1`);
  const time = page.getByRole('time').first();
  const utc = await titleOf(time);
  const apart = Date.parse(`${await time.innerText()}Z`) - Date.parse(utc.replace(' UTC', 'Z'));
  // The visible time has no seconds.
  assert.equal(Math.ceil(apart / 60_000), 9 * 60);
  await page.getByRole('banner').getByText('fay', { exact: true }).click();
  await page.getByText('Times shown in Asia/Tokyo; hover for UTC.').waitFor();

  await opened(page, 'Users');
  await page.getByLabel('From', { exact: true }).fill('2026-11-01');
  await press(page, 'Filter');
  await page.waitForURL('**/users?from=2026-10-31T15%3A00%3A00.000Z');
  assert.equal(await page.getByLabel('From', { exact: true }).inputValue(), '2026-11-01');

  await page.goto(`${DEMO}/statement?account=account-1`);
  const line = page.getByRole('main').getByRole('time').first();
  assert.equal(`${await line.innerText()} UTC`, await titleOf(line));
  assert.deepEqual(faults, []);
  await context.close();
}

/** The form of a program shows the fields of the chosen rewards, and the difference while it is typed. */
export async function typesProgram(world) {
  const { page, faults, context } = await signedIn(world, 'sam');
  await page.goto(`${DEMO}/program`);
  const friend = page.getByRole('group', { name: 'The friend who was invited' });
  const reward = friend.getByLabel('Reward', { exact: true });
  const percent = friend.getByLabel('Percent off', { exact: true });
  const before = await percent.inputValue();
  await reward.selectOption('credit');
  await friend.getByLabel('Amount of the credit').waitFor();
  assert.equal(await percent.count(), 0);
  await reward.selectOption('percent off');
  await percent.fill('150');
  await friend.getByText('at most 100').waitFor();
  assert.equal(await percent.inputValue(), '150');
  await percent.fill('15');
  await page.getByText('+     "discountPercent": 15').waitFor();
  await press(page, 'Forecast');
  await isDone(page);
  await page.getByRole('heading', { name: 'Accounts with the largest differences' }).waitFor();
  assert.equal(await percent.inputValue(), '15');
  await page.goto(`${DEMO}/program`);
  assert.equal(await percent.inputValue(), before);
  assert.deepEqual(faults, []);
  await context.close();
}

/** A statement is printed without what only a screen needs. */
export async function onPaper(world) {
  const { page, faults, context } = await signedIn(world, 'fay');
  await page.goto(`${DEMO}/statement?account=account-1`);
  await page.emulateMedia({ media: 'print' });
  for (const part of [
    page.getByRole('banner'),
    page.getByRole('navigation', { name: 'Pages' }),
    page.getByLabel('Month', { exact: true }),
    page.getByRole('button', { name: 'Print' }),
  ])
    assert.equal(await part.isVisible(), false, `${part} is printed`);
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
    await page.getByText('No account has the id none.').first().waitFor();
    await page.goBack();
    assert.ok(await page.getByRole('button', { name: 'Propose' }).isEnabled(), `back, ${times}`);
    assert.equal(await page.getByLabel('Account', { exact: true }).inputValue(), 'none');
  }
  await context.close();
}

/** While the database does not answer, a page keeps its figures; one that is opened says so, and is loaded again. */
export async function whileDatabaseIsAway(world) {
  const { page, context } = await signedIn(world, 'sam');
  const watched = await context.newPage();
  await watched.goto(DEMO);
  const outstanding = await figures(watched, 'outstanding:CENTS');
  const frozen = await world.database();
  assert.ok(frozen.length > 1);
  const refused = watched.waitForResponse((answer) => answer.status() === 503);
  for (const pid of frozen) process.kill(pid, 'SIGSTOP');
  try {
    await refused;
    assert.deepEqual(await figures(watched, 'outstanding:CENTS'), outstanding);
    const answer = await page.goto(`${DEMO}/webhooks`);
    assert.equal(answer?.status(), 503);
    await page.getByText('This page is loaded again by itself').waitFor();
  } finally {
    for (const pid of frozen) process.kill(pid, 'SIGCONT');
  }
  await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor();
  assert.ok(page.url().endsWith(`${DEMO}/webhooks`));
  await context.close();
}

const titleOf = (time) => time.getAttribute('title');
