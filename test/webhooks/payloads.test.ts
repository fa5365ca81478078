import { accepted, SharedLedger } from '../command-handling/support/processes.js';
import { aTime, expectedUser } from '../support/expected-answers.js';
import type { Json } from '../support/api-client.js';
import { Listener } from './support/listener.js';
import { openForEach } from '../support/opened.js';

const ledger = openForEach(() => SharedLedger.open());
const service = openForEach(() => ledger.process());
const listener = openForEach(() => new Listener(service));

/** The REST user without `referredBy`; absent values are left out. */
function announcedUser(...of: Parameters<typeof expectedUser>): Json {
  const { referredBy: _, ...user } = expectedUser(...of);
  return present(user);
}

const present = (json: Json): Json =>
  Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null));

test('a user and a code, as they are after the call', async () => {
  accepted(await service.sync('acme'));
  accepted(await service.upsert('acme', 'ann', { referralCode: 'ANN' }));
  const ann = { tenant: 'demo', id: 'ann', accountId: 'acme', code: 'ANN' };
  expect(await listener.news()).toEqual([
    { type: 'user.created', kind: 'made', data: announcedUser(ann) },
    {
      type: 'coupon.created',
      kind: 'made',
      data: { code: 'ANN', dateCreated: aTime, programId: 'default' },
    },
  ]);
});

test('a user of an account that has a payment provider id, and a code that referred the user', async () => {
  await service.userWithCode('anns', 'ann', 'ANN');
  accepted(await service.sync('bobs', 'TRIAL', ['ann']));
  accepted(await service.upsert('bobs', 'bob', { referralCode: 'BOB' }));
  accepted(await service.upsert('bobs', 'bob', { paymentProviderId: 'cus_2' }));
  accepted(await service.upsert('bobs', 'bea', { referralCode: 'BEA' }));
  const [, bob, bea] = await listener.data('user.created');
  const of = { tenant: 'demo', accountId: 'bobs' };
  expect(bob).toEqual(
    announcedUser({ ...of, id: 'bob', code: 'BOB' }, { referredByCodes: ['ANN'] }),
  );
  expect(bea).toEqual(
    announcedUser({ ...of, id: 'bea', code: 'BEA' }, { paymentProviderId: 'cus_2' }),
  );
});

test('an own code that comes back is no new one, however it is spelled; a further one is', async () => {
  await service.userWithCode('acme', 'ann', 'ANN');
  for (const referralCode of ['ANN2', 'ann', 'ANN2'])
    accepted(await service.upsert('acme', 'ann', { referralCode }));
  const codes = await listener.news('coupon.created');
  expect(codes.map(({ kind, data }) => [kind, data?.['code']])).toEqual([
    ['made', 'ANN'],
    ['made', 'ANN2'],
    ['nothing', undefined],
    ['nothing', undefined],
  ]);
});
