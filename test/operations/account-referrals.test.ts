import { referralsMade } from '../../src/operations/accounts/account-referrals.js';
import type { ShownPerson } from '../../src/operations/accounts/account-history.js';
import { ProjectedLedger } from '../support/projected-ledger.js';
import { accountOf, givenTenant, NOW, SCOPE } from './support/listed-tenant.js';

/** The referrals that an account made, over the tenant of the lists. */

let projected: ProjectedLedger;

beforeAll(async () => {
  projected = await ProjectedLedger.open();
  projected.startRunner();
  await givenTenant(projected);
});
afterAll(() => projected.close());

function made(n: number, people: readonly Partial<ShownPerson>[] = [], showsPersonal = true) {
  const { accountRef } = accountOf(`account-${n}`);
  const reads = projected.customers(() => NOW);
  return referralsMade(reads, { scope: SCOPE, accountRef }, people as ShownPerson[], showsPersonal);
}

test('an account shows whom its people referred, the newest first, and the reward for each', async () => {
  const { rows, total, why } = await made(3);
  expect(total).toBe(2);
  expect(rows.map(({ referred, referrerRewardId }) => [referred.name, referrerRewardId])).toEqual([
    ['bea Zed', 'reward-friend-3'],
    ['Novák', null],
  ]);
  expect(why).toEqual([]);
});

test('a referral that waits for moderation is shown as such', async () => {
  const { why } = await made(2);
  expect(why).toEqual([
    {
      at: expect.any(String) as string,
      referralId: 'referral-3',
      sentence: 'Bo has no reward for referring Jana Frank yet: the referral waits for moderation.',
    },
  ]);
});

test('a denied referral shows whether moderation denied it or the referrer was blocked', async () => {
  expect((await made(10)).why.map(({ sentence }) => sentence)).toEqual([
    'user-10 did not get a reward for referring user-11: moderation denied the referral.',
  ]);
  const blocked = { userId: 'user-10', blockedSince: new Date(3_000).toISOString() };
  expect((await made(10, [blocked])).why.map(({ sentence }) => sentence)).toEqual([
    'user-10 did not get a reward for referring user-11: the referrer was blocked.',
  ]);
});

test('without personal data nothing names a person', async () => {
  const shown = JSON.stringify(await made(2, [], false));
  expect(shown).not.toMatch(/Bo|Jana|user-|CODE/);
  expect(shown).toContain('The referrer has no reward for referring a friend yet');
});
