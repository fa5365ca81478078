import { activityInWords } from '../../src/operations/activity/activity-in-words.js';
import {
  ACTIVITY_KINDS,
  kindOf,
  operationsOf,
  USUAL_KINDS,
} from '../../src/operations/activity/activity-kinds.js';
import { listActivity } from '../../src/operations/activity/list-activity.js';
import { recordOperation } from '../../src/operations/audit.js';
import { blockUser } from '../../src/operations/customers/actions/block-user.js';
import { grantReward } from '../../src/operations/customers/actions/grant-reward.js';
import { recordSession } from '../../src/operations/sessions/record-session.js';
import { allOperations } from '../../src/operations/registry/registry.js';
import { calledBy } from '../support/called-operations.js';
import { everythingProjected } from '../support/everything-projected.js';
import { aPerson } from '../support/people.js';
import { useSharedService } from '../support/running-service.js';

test.each([
  ['console sign-in', 'sessions'],
  ['console refused', 'sessions'],
  ['console account', 'personal'],
  ['export download', 'personal'],
  ['export run', 'delivery'],
  ['reward grant', 'customers'],
  ['ledger approve', 'finance'],
])('%s is of the kind %s', (operation, kind) => {
  expect(kindOf(operation)).toBe(kind);
});

test('each kind selects its operations and no others', () => {
  const isSelected = (operation: string, kind: (typeof ACTIVITY_KINDS)[number]): boolean => {
    const { operations: named, except } = operationsOf([kind]);
    const [group = ''] = operation.split(' ');
    return (named.includes(operation) || named.includes(group)) && !except.includes(operation);
  };
  for (const operation of ['console sign-in', 'console account', 'export download', 'export run'])
    expect(ACTIVITY_KINDS.filter((kind) => isSelected(operation, kind))).toEqual([
      kindOf(operation),
    ]);
});

test('every recorded operation has a sentence', async () => {
  const operations = await allOperations();
  const recorded = operations.filter(({ isRecorded }) => isRecorded).map(({ name }) => name);
  const unnamed = recorded.filter((name) => activityInWords(name).startsWith('Ran '));
  expect(unnamed).toEqual([]);
});

test.each([
  ['ledger close', { period: '2026-10' }, 'Closed a month: October 2026'],
  ['ledger propose', { amount: '-300', unit: 'POINTS' }, 'Proposed a correction: -300 POINTS'],
  [
    'ledger tenant-statement',
    { from: '2026-10-01', to: '2026-10-31' },
    "Read the tenant's statement: 2026-10-01 to 2026-10-31",
  ],
  ['ledger acknowledge-loss', { from: 'unknown', to: 'x' }, 'Acknowledged a loss of the log'],
  ['console users file', {}, 'Listed users as a file'],
])('the sentence of %s names the month and the amount', (operation, named, sentence) => {
  expect(activityInWords(operation, named)).toBe(sentence);
});

const running = useSharedService();

test('activity has operator, channel, sentence, object and reason, without accesses to personal data', async () => {
  const { core } = running.service.service;
  const tenant = await running.service.createTenant();
  const ann = await aPerson(tenant.live);
  const user = { ...tenant.scope, account: ann.accountId, user: ann.id };
  const by = { name: 'sue', channel: 'console' } as const;
  await recordOperation(core, tenant.scope, {
    operation: 'console account',
    by,
    parameters: {},
    result: '',
  });
  await calledBy(running.service, 'sue', blockUser, { ...user, reason: 'spam' });
  const percent = { type: 'PCT_DISCOUNT', percent: 5, reason: 'late parcel' };
  await calledBy(running.service, 'tom', grantReward, { ...user, ...percent });
  await everythingProjected(core);

  const asked = { tenant: tenant.alias, limit: 10, offset: 0 };
  const object = { kind: 'account', id: ann.accountId };
  const common = {
    channel: 'Console',
    tenant: tenant.alias,
    mode: 'live',
    kind: 'customers',
    object,
  };
  expect(await listActivity(core, asked)).toMatchObject({
    total: 2,
    rows: [
      { ...common, operator: 'tom', sentence: 'Granted a reward: 5%', reason: 'late parcel' },
      { ...common, operator: 'sue', sentence: 'Blocked a user', reason: 'spam' },
    ],
  });
  const second = await listActivity(core, { ...asked, limit: 1, offset: 1 });
  expect(second).toMatchObject({ total: 2, rows: [{ operator: 'sue' }] });
  const ofSue = { ...asked, operator: 'Sue', kinds: [...USUAL_KINDS, 'personal' as const] };
  expect((await listActivity(core, ofSue)).rows.map(({ sentence }) => sentence)).toEqual([
    'Blocked a user',
    'Opened an account',
  ]);
  const later = { ...asked, from: Date.now() + 60_000 };
  expect(await listActivity(core, later)).toEqual({ total: 0, rows: [] });
});

test('activity shows CENTS in the currency of the credit', async () => {
  const { core } = running.service.service;
  const { alias, live } = await running.service.createTenant();
  const ann = await aPerson(live);
  const inEuros = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 100, currency: 'EUR' };
  await live.post(`/rewards/account/${ann.accountId}/user/${ann.id}`, inEuros);
  const user = { tenant: alias, mode: 'live', account: ann.accountId, user: ann.id };
  const credit = { type: 'CREDIT', unit: 'CENTS', amount: 500, reason: 'late parcel' };
  await calledBy(running.service, 'tom', grantReward, { ...user, ...credit });
  await everythingProjected(core);
  const { rows } = await listActivity(core, { tenant: alias, limit: 1, offset: 0 });
  expect(rows.map(({ sentence }) => sentence)).toEqual(['Granted a reward: €5.00']);
});

test('a session is recorded once, and belongs to no tenant', async () => {
  const { core } = running.service.service;
  await running.service.createTenant();
  const operator = `ops${Date.now()}`;
  await recordSession(core, operator, 'signedIn');
  await recordSession(core, operator, 'signedOut');
  await everythingProjected(core);
  const { total, rows } = await listActivity(core, { operator, limit: 10, offset: 0 });
  expect(total).toBe(2);
  const none = { tenant: null, mode: null, object: null, kind: 'sessions' };
  expect(rows).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ ...none, sentence: 'Signed in' }),
      expect.objectContaining({ ...none, sentence: 'Signed out' }),
    ]),
  );
});
