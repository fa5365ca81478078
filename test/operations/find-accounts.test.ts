import { findAccounts } from '../../src/operations/accounts/find-accounts.js';

const SCOPE = { tenant: 'acme', mode: 'live' } as const;

test('a search fails once, however many read models are away', async () => {
  const unheard: unknown[] = [];
  const listen = (reason: unknown): void => void unheard.push(reason);
  process.on('unhandledRejection', listen);
  const away = (): Promise<never> => Promise.reject(new Error('away'));
  // After the moment at which an unhandled rejection ends the process.
  const awayLater = (): Promise<never> =>
    new Promise((_, reject) => setImmediate(reject, new Error('away')));
  const core = { names: { accountRef: () => 'ref' }, owners: { find: away } };
  const models = {
    accounts: { byRef: awayLater },
    users: { list: away },
    rewards: { byId: away },
    referrals: { byId: away },
  };
  const asked = { scope: SCOPE, text: 'a', showsPersonal: true };
  const search = findAccounts(core as never, models, asked);
  await expect(search).rejects.toThrow('away');
  process.off('unhandledRejection', listen);
  expect(unheard).toEqual([]);
});

test('without personal data a referral finds the account that was referred alone', async () => {
  const none = async () => undefined;
  const core = { names: { accountRef: () => 'none' }, owners: { find: none } };
  const models = {
    accounts: { byRef: async (_: unknown, ref: string) => ({ accountId: ref }) },
    users: { list: async () => ({ items: [] }) },
    rewards: { byId: none },
    referrals: { byId: async () => ({ referredAccountRef: 'bob', referrerAccountRef: 'ann' }) },
  };
  const foundBy = async (showsPersonal: boolean): Promise<readonly string[]> => {
    const asked = { scope: SCOPE, text: 'a referral', showsPersonal };
    const found = await findAccounts(core as never, models as never, asked);
    return found.accounts.map(({ accountId }) => accountId);
  };
  expect(await foundBy(true)).toEqual(['none', 'bob', 'ann']);
  expect(await foundBy(false)).toEqual(['none', 'bob']);
});
