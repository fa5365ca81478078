// Every page of the console, for its roles: what the sidebar offers, what leads from there, and forms that were refused.
import assert from 'node:assert/strict';
import axe from 'axe-core';
import { DEMO, fillIn, isDone, press, signedIn } from './console-world.mjs';

export const OPERATORS = ['fay', 'sam', 'vic'];
const TEST = DEMO.replace('/live', '/test');
const ofDemo = (...paths) => paths.map((path) => DEMO + path);

/** Pages that other pages lead to. */
const FURTHER = {
  fay: ofDemo(
    '?search=an',
    '?range=365',
    '/accounts/account-1',
    '/accounts/account-1?kind=rewards',
    '/statement?account=account-1',
    '/corrections?account=account-1',
    '/users?state=active&page=2&size=20',
  ),
  sam: [
    TEST,
    ...ofDemo(
      '/accounts/account-1?action=grant',
      '/accounts/account-1?action=edit&user=user-1',
      '/accounts/account-1?action=forget&user=user-1',
      '/rewards?text=nothing-has-this-name',
      '/exports?kind=REWARD_BALANCE',
    ),
  ],
  vic: ofDemo('?search=account-1', '/accounts/account-2', '/statement?account=account-1'),
};
/** Pages whose form was refused, with the fault at its field. */
const REFUSED = {
  fay: ofDemo(
    '/statement?from=2026-02-01&to=2026-01-01',
    '/verify?format=jsonl&from=2026-02-01&to=2026-01-01',
  ),
  sam: ofDemo('/theme?locale=none!'),
  vic: [],
};
/** Pages that are not for the role, and one that is missing. */
const ERRORS = {
  fay: [[`${DEMO}/webhooks`, 403]],
  sam: [[`${DEMO}/verify`, 403]],
  vic: [
    [`${DEMO}/users`, 403],
    [`${DEMO}/nowhere`, 404],
  ],
};
/** Three of the six: every width, and both schemes. */
const WINDOWS = [
  [390, 'light'],
  [768, 'dark'],
  [1440, 'light'],
];

/** The pages of the sidebar, in its order, and their keys. */
async function sidebarOf(page) {
  await page.goto(DEMO);
  const links = page
    .getByRole('navigation', { name: 'Pages', includeHidden: true })
    .getByRole('link', { includeHidden: true });
  const found = await links.evaluateAll((all) =>
    all.map((link) => ({ path: link.getAttribute('href'), key: link.dataset.key })),
  );
  // The name of the product has no key.
  return found.filter(({ key }) => key !== undefined);
}

/** @param check runs what has the wanted part in its name. */
export async function seesEveryPage(world, name, check) {
  for (const [width, colorScheme] of WINDOWS) {
    const options = { colorScheme, viewport: { width, height: 900 } };
    const { context, page, faults } = await signedIn(world, name, options);
    const sidebar = await sidebarOf(page);
    const { size } = new Set(sidebar.map(({ key }) => key));
    assert.equal(size, sidebar.length, 'each page of the sidebar has a key of its own');
    const pages = [
      ...[...sidebar.map(({ path }) => path), ...FURTHER[name]].map((path) => [path, 200]),
      ...REFUSED[name].map((path) => [path, 400]),
      ...ERRORS[name],
    ];
    const title = (path, status) => `${name} ${path} ${width} ${colorScheme} ${status}`;
    for (const [path, status] of pages)
      await check(title(path, status), () => judged(page, { path, status, faults }));
    await context.close();
  }
}

async function judged(page, { path, status, faults }) {
  const answer = await page.goto(path);
  assert.equal(answer?.status(), status);
  if (status === 400) assert.equal(await page.locator('[aria-invalid=true]').count(), 1);
  // The browser reports the status of the page itself.
  if (status >= 400) faults.splice(0, 1);
  assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1);
  await judgedAsShown(page, faults);
}

/** Forms that are refused: the page, what is typed, the button, and the field that has the fault. */
const REFUSED_FORMS = [
  ['fay', `${DEMO}/corrections`, { Account: 'none' }, 'Propose', 'Account'],
  ['fay', `${DEMO}/statement`, { Account: 'none' }, 'Show statement', 'Account'],
  [
    'sam',
    `${DEMO}/accounts/account-1?action=grant`,
    { Amount: '1,250.00', Reason: 'a promise' },
    'Grant reward',
    'Amount',
  ],
  [
    'sam',
    `${DEMO}/accounts/account-1?action=edit&user=user-1`,
    { 'E-mail': 'none' },
    'Save',
    'E-mail',
  ],
  [
    'sam',
    `${DEMO}/settings`,
    { 'Domains of your senders': '-' },
    'Save',
    'Domains of your senders',
  ],
  [
    'sam',
    `${DEMO}/settings`,
    { Unit: 'POINTS', 'Grant limit': 'x' },
    'Save the unit',
    'Grant limit',
  ],
  ['sam', `${DEMO}/program`, { 'Days for refunds': 'x' }, 'Publish', 'Days for refunds'],
];

/** A refused form keeps what was typed, marks the field, and is a page as good as others. */
export async function seesRefusals(world, check) {
  for (const [name, path, typed, button, field] of REFUSED_FORMS)
    await check(`refused: ${path} ${field}`, async () => {
      const options = { viewport: { width: 390, height: 900 } };
      const { context, page, faults } = await signedIn(world, name, options);
      await page.goto(path);
      await fillIn(page, typed);
      await press(page, button);
      const wrong = page
        .getByLabel(field, { exact: true })
        .and(page.locator('[aria-invalid=true]'));
      await wrong.waitFor();
      for (const [label, text] of Object.entries(typed))
        assert.equal(await page.getByLabel(label, { exact: true }).inputValue(), text);
      // The browser reports the status of the page itself.
      faults.splice(0, 1);
      await judgedAsShown(page, faults);
      await context.close();
    });
}

/** A run that has ended, on the page of its result and on its own. */
export async function seesRun(world) {
  const { context, page, faults } = await signedIn(world, 'fay');
  await page.goto(`${DEMO}/replay`);
  await page.getByLabel('Account', { exact: true }).fill('account-1');
  await press(page, 'Start replay');
  await isDone(page);
  await judgedAsShown(page, faults);
  await page.goto('/console/runs');
  await page.getByRole('table').getByRole('link', { name: 'Replay' }).first().click();
  await page.getByRole('link', { name: 'See the result' }).waitFor();
  await judgedAsShown(page, faults);
  await context.close();
}

/** The page is no wider than its window, axe finds nothing, and the browser reports no error. */
async function judgedAsShown(page, faults) {
  const tooWide = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
  assert.ok((await page.evaluate(tooWide)) <= 0, 'is wider than the window');
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate('axe.run({ iframes: false })');
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 160)}`);
  assert.deepEqual([...found, ...faults.splice(0)], []);
}
