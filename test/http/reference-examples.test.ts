import { describedInterface } from '../../src/http/reference/described-interface.js';
import { readReference } from '../../src/http/reference/reference-files.js';
import { startWithStores } from '../support/running-service.js';

let running: Awaited<ReturnType<typeof startWithStores>>;
beforeAll(async () => {
  running = await startWithStores();
});
afterAll(() => running.end());

test('every operation, parameter and field has a text, and every text is about one', async () => {
  const { problems } = describedInterface(running.service.description, await readReference());
  expect(problems).toEqual([]);
});
