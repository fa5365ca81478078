// The pictures of docs/tour.md: npm run screenshots -- --tour
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DEMO, isDone, openWorld, press, signedIn } from './console-world.mjs';

const folder = fileURLToPath(new URL('../../docs/images', import.meta.url));
const WINDOW = { colorScheme: 'light', viewport: { width: 1100, height: 680 } };

/** Each picture is what an operator sees after a step. */
const PICTURES = {
  fay: {
    overview: async (page) => {
      await page.goto(DEMO);
      await from(page, 'Figures');
    },
    account: async (page) => {
      await page.goto(`${DEMO}/accounts/account-1`);
      await from(page, 'Credit');
    },
    history: async (page) => {
      await page.goto(`${DEMO}/accounts/account-1`);
      await from(page, 'History');
    },
    drift: async (page) => {
      await page.goto(`${DEMO}/replay`);
      await press(page, 'Start replay');
      await isDone(page);
      await page.goto(`${page.url()}&sort=model&dir=asc`);
    },
  },
  flo: { correction: (page) => page.goto(`${DEMO}/corrections`) },
  sam: {
    moderation: (page) => page.goto(`${DEMO}/moderation`),
    rebuild: async (page) => {
      await chosen(page);
      await press(page, 'Rebuild');
      await page.locator('[data-figure="progress"][data-value*=" of "]').waitFor();
      await from(page, 'projection rebuild');
    },
    differences: async (page) => {
      await isDone(page);
      await chosen(page);
      await press(page, 'Diff');
      await isDone(page);
      await from(page, 'projection diff');
    },
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

/** The heading is at the top of the picture. */
const from = (page, heading) =>
  page
    .getByRole('heading', { name: heading, exact: true })
    .evaluate((found) => found.scrollIntoView());

async function chosen(page) {
  await page.goto('/console/projections');
  await page.getByLabel('Projection', { exact: true }).selectOption('rewards');
}
