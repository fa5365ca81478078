import { useSharedService, expectRefusal } from '../support/running-service.js';
import { token } from '../support/user-tokens.js';

/** Look-ups are counted in the process: not for the compiled service. */
const running = useSharedService();

test('a refused token is verified again on the tenant as the log has it', async () => {
  const tenant = await running.service.createTenant();
  const bad = token('a guess', { user: { id: 'u', accountId: 'a' } });
  const { tenants } = running.service.service.core;
  const read = jest.spyOn(tenants, 'read');
  const lookUps: number[][] = [];
  const refused = async (one: string): Promise<number> => {
    read.mockClear();
    const to = '/open/account/a/user/u';
    expectRefusal(await tenant.live.as({ token: one }).get(to), 401, 'UNAUTHORIZED', 'RS032');
    return read.mock.calls.length;
  };
  for (const one of [bad, 'x']) {
    tenants.expireAll();
    lookUps.push([await refused(one)]);
  }
  read.mockRestore();
  // The second look of a call is left out when the first one has just read the tenant.
  expect(lookUps.flat().filter((count) => count === 0)).toEqual([]);
});
