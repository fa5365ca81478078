// The pictures of docs/tour.md: npm run screenshots -- --tour
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DEMO, isDone, openWorld, press, signedIn } from './console-world.mjs';

const folder = fileURLToPath(new URL('../../docs/images', import.meta.url));
const WINDOW = { colorScheme: 'light', viewport: { width: 1440, height: 900 } };

/** Each picture is what an operator sees after a step. */
const PICTURES = {
  fay: {
    overview: (page) => page.goto(DEMO),
    account: (page) => page.goto(`${DEMO}/accounts/account-1`),
    history: async (page) => {
      await page.goto(`${DEMO}/accounts/account-1`);
      await shows(page.getByRole('heading', { name: 'Timeline' }));
    },
    drift: async (page) => {
      await page.goto(`${DEMO}/replay`);
      await press(page, 'Start replay');
      await isDone(page);
      await page.goto(`${page.url()}&sort=model&dir=asc`);
    },
    month: (page) => page.goto(`${DEMO}/periods`),
  },
  flo: { correction: (page) => page.goto(`${DEMO}/corrections`) },
  sam: {
    moderation: (page) => page.goto(`${DEMO}/moderation`),
    webhooks: (page) => page.goto(`${DEMO}/webhooks`),
    program: async (page) => {
      await page.goto(`${DEMO}/program`);
      await shows(page.getByRole('heading', { name: 'Program default' }));
    },
    rebuild: async (page) => {
      await chosen(page);
      await press(page, 'Rebuild');
      await page.locator('[data-figure="progress"][data-value*=" of "]').waitFor();
      await shows(page.getByRole('progressbar'), 'center');
    },
    differences: async (page) => {
      await isDone(page);
      await chosen(page);
      await press(page, 'Diff');
      await isDone(page);
      await shows(page.locator('[data-figure="differences"]'));
    },
    activity: (page) => page.goto('/console/activity'),
  },
};

export async function takePictures() {
  mkdirSync(folder, { recursive: true });
  const world = await openWorld();
  try {
    for (const [name, pictures] of Object.entries(PICTURES)) {
      const { context, page, faults } = await signedIn(world, name, WINDOW);
      for (const [title, step] of Object.entries(pictures)) {
        await step(page);
        await page.screenshot({ path: join(folder, `tour-${title}.png`) });
        process.stdout.write(`docs/images/tour-${title}.png\n`);
      }
      if (faults.length > 0) throw new Error(faults.join('\n'));
      await context.close();
    }
  } finally {
    await world.end();
  }
}

/** Below the bar at the top of the page. */
const shows = (part, block = 'start') =>
  part.evaluate((one, at) => one.scrollIntoView({ behavior: 'instant', block: at }), block);

async function chosen(page) {
  await page.goto('/console/projections');
  await page.getByLabel('Projection', { exact: true }).selectOption('rewards');
  await page.getByRole('button', { name: 'Swap', exact: true }).waitFor();
}
