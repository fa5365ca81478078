import { createStores, RunningService, type TestStores } from '../support/running-service.js';

let stores: TestStores;
let running: RunningService;

beforeAll(async () => {
  stores = await createStores();
  running = await RunningService.start(stores, { OPERATIONS_PORT: '0' });
});
afterAll(async () => {
  await running.stop();
  await stores.remove();
});

const get = (url: string, accept: string) => fetch(url, { headers: { accept } });
const linksOf = (html: string): readonly string[] =>
  [...html.matchAll(/href="([^"]+)"/g)].map(([, path = '']) => path);

test.each(['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', '*/*'])(
  'GET / is a page for clients that accept %s, with links to what the listener serves',
  async (accept) => {
    const operations = running.service.operationsUrl!;
    const pages = await Promise.all([get(running.origin, accept), get(operations, accept)]);
    expect(pages.map(({ headers }) => headers.get('content-type'))).toEqual(
      pages.map(() => 'text/html; charset=utf-8'),
    );
    const [outside = '', inside = ''] = await Promise.all(pages.map((page) => page.text()));
    expect(linksOf(outside)).toEqual(['/docs']);
    expect(linksOf(inside)).toEqual(['/docs', '/console', '/health/ready']);
  },
);

test('GET / is JSON with absolute addresses for clients that prefer JSON', async () => {
  const { service, origin } = running;
  const operations = service.operationsUrl!;
  const accept = 'application/json, text/html;q=0.5';
  const named = { name: 'referral-ledger', version: expect.any(String) as string };
  expect(await (await get(origin, accept)).json()).toEqual({
    ...named,
    docs: 'https://share.example/docs',
  });
  expect(await (await get(operations, accept)).json()).toEqual({
    ...named,
    docs: `${operations}/docs`,
    console: `${operations}/console`,
    health: `${operations}/health/ready`,
  });
});
