import { accepted, SharedLedger, type TestProcess } from '../command-handling/support/processes.js';
import { aTime, expectedUser } from '../support/expected-answers.js';
import { announcements, payloadsOf, told } from './support/told.js';

let ledger: SharedLedger;
let service: TestProcess;

beforeAll(async () => {
  ledger = await SharedLedger.open();
  service = await ledger.process();
});
afterAll(() => ledger.close());

test('a new user and its code are announced with what the user is after the call', async () => {
  accepted(await service.sync('acme'));
  accepted(await service.upsert('acme', 'ann', { referralCode: 'ANN' }));
  const { referredBy: _, ...user } = expectedUser({
    tenant: 'demo',
    id: 'ann',
    accountId: 'acme',
    code: 'ANN',
  });
  const present = Object.fromEntries(Object.entries(user).filter(([, value]) => value !== null));
  expect(await told(payloadsOf(service), await announcements(service))).toEqual([
    { type: 'user.created', payload: { kind: 'made', data: present } },
    {
      type: 'coupon.created',
      payload: { kind: 'made', data: { code: 'ANN', dateCreated: aTime, programId: 'default' } },
    },
  ]);
});
