import { describedInterface } from '../../src/http/reference/described-interface.js';
import { readReference } from '../../src/http/reference/reference-files.js';
import { startWithStores } from '../support/running-service.js';

let running: Awaited<ReturnType<typeof startWithStores>>;
beforeAll(async () => {
  running = await startWithStores();
});
afterAll(() => running.end());

test('the texts of the reference are about operations, parameters and fields that exist', async () => {
  const { problems } = describedInterface(running.service.description, await readReference());
  expect(problems.filter((problem) => !/has no (?:description|example)/.test(problem))).toEqual([]);
});
