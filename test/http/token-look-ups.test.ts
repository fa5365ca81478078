import { outcome, refusal, shareService } from '../support/running-service.js';
import { token } from '../support/user-tokens.js';

/**
 * Look-ups are counted inside the process, so this stands apart from the suites that run against
 * the compiled service too.
 */
let running: Awaited<ReturnType<typeof shareService>>;
beforeAll(async () => {
  running = await shareService();
});
afterAll(() => running.end());

test('every refusal of a token reads the tenant, whatever is wrong with it, so that its time reveals nothing', async () => {
  const tenant = await running.service.createTenant();
  const good = token(tenant.liveSecret, { user: { id: 'u', accountId: 'a' } });
  const bad = token('a guess', { user: { id: 'u', accountId: 'a' } });
  const { tenants } = running.service.service.core;
  const read = jest.spyOn(tenants, 'read');
  const lookUps: number[][] = [];
  const refused = async (one: string): Promise<number> => {
    read.mockClear();
    expect(outcome(await tenant.live.as({ token: one }).get('/users'))).toStrictEqual(
      refusal(401, 'UNAUTHORIZED', 'RS032'),
    );
    return read.mock.calls.length;
  };
  for (const one of [bad, good, 'x']) {
    tenants.distrust();
    lookUps.push([await refused(one)]);
  }
  read.mockRestore();
  // The second look of a call is left out when the first one has just read the tenant.
  expect(lookUps.flat().filter((count) => count === 0)).toEqual([]);
});
