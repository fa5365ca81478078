import { outcome, refusal, startWithStores } from '../support/running-service.js';
import { token } from '../support/user-tokens.js';

/**
 * Look-ups are counted inside the process, so this stands apart from the suites that run against
 * the compiled service too.
 */
let running: Awaited<ReturnType<typeof startWithStores>>;
beforeAll(async () => {
  running = await startWithStores();
});
afterAll(() => running.end());

test('every refusal of a token reads the tenant again, also on routes without tokens, so that its time reveals nothing', async () => {
  const tenant = await running.service.createTenant();
  const good = token(tenant.liveSecret, { user: { id: 'u', accountId: 'a' } });
  const bad = token('a guess', { user: { id: 'u', accountId: 'a' } });
  const read = jest.spyOn(running.service.service.core.tenants, 'read');
  const lookUps: number[] = [];
  // The first call finds nothing remembered of the tenant.
  await tenant.live.get('/users');
  for (const one of [bad, good, 'x']) {
    read.mockClear();
    expect(outcome(await tenant.live.as({ token: one }).get('/users'))).toStrictEqual(
      refusal(401, 'UNAUTHORIZED', 'RS032'),
    );
    lookUps.push(read.mock.calls.length);
  }
  read.mockRestore();
  expect(lookUps).toStrictEqual([1, 1, 1]);
});
