import type { AccountEvent } from '../../src/domain/account/account.events.js';
import type { OperationEvent } from '../../src/domain/operation/operation.decider.js';
import { blockUser, unblockUser } from '../../src/operations/customers/actions/block-user.js';
import { editableUser, editUser } from '../../src/operations/customers/actions/edit-user.js';
import {
  beforeForgetting,
  forgetUser,
} from '../../src/operations/customers/actions/forget-user.js';
import { cancelReward } from '../../src/operations/customers/actions/cancel-reward.js';
import { grantReward } from '../../src/operations/customers/actions/grant-reward.js';
import { approve } from '../../src/operations/ledger/correction.operations.js';
import { listProposals } from '../../src/operations/ledger/ledger-proposals.js';
import type { Operation } from '../../src/operations/registry/operation.js';
import type { Decoded } from '../../src/event-log/codec.js';
import { calledBy } from '../support/called-operations.js';
import { aPerson, give, PAID, type Person } from '../support/people.js';
import { openOnce } from '../support/opened.js';
import { useSharedService, useTenant } from '../support/running-service.js';

const running = useSharedService();
const tenant = useTenant(running);

const core = openOnce(() => running.service.service.core);

const act = <T = unknown>(operation: Operation, request: object, key?: string): Promise<T> =>
  calledBy<T>(running.service, 'sue', operation, { ...tenant.scope, ...request }, key);

const ofUser = ({ accountId, id }: Person) => ({ account: accountId, user: id });

async function eventsOf({ accountId }: Person): Promise<readonly Decoded[]> {
  const stream = core.names.accountStream(
    tenant.scope,
    core.names.accountRef(tenant.scope, accountId),
  );
  return decoded(stream);
}

async function decoded(stream: string): Promise<readonly Decoded[]> {
  const recorded = [];
  for await (const event of core.log.readStream(stream)) recorded.push(event);
  return core.codec.decodeAll(recorded);
}

async function recordedToday(): Promise<readonly OperationEvent[]> {
  const day = new Date().toISOString().slice(0, 10);
  const events = await decoded(core.names.operationsStream(tenant.scope, day));
  return events.map(({ event }) => event as OperationEvent);
}

const newestOf = async <T extends AccountEvent['type']>(person: Person, type: T) =>
  (await eventsOf(person)).filter(({ event }) => event.type === type).at(-1);

test('a blocked user is blocked by the operator, and a second block is refused', async () => {
  const ann = await aPerson(tenant.live);
  await act(blockUser, ofUser(ann));
  const blocked = await newestOf(ann, 'UserBlocked');
  expect(blocked?.envelope.actor).toMatchObject({
    kind: 'operator',
    channel: 'console',
    name: { value: 'sue' },
  });
  await expect(act(blockUser, ofUser(ann))).rejects.toThrow('The user is blocked already.');
  await act(unblockUser, ofUser(ann));
  expect(await newestOf(ann, 'UserUnblocked')).toBeDefined();
  expect((await recordedToday()).map(({ operation }) => operation)).toEqual(
    expect.arrayContaining(['user block', 'user unblock']),
  );
});

test('a granted reward names its reason for the timeline and for Activity', async () => {
  const ann = await aPerson(tenant.live);
  const expires = Date.now() + 86_400_000;
  const form = { type: 'CREDIT', amount: 250, unit: 'CENTS', name: 'Sorry', expires };
  const asked = { ...ofUser(ann), ...form, reason: 'late parcel' };
  const granted = await act<{ rewardId: string }>(grantReward, asked, 'form-1');
  const again = await act<{ rewardId: string }>(grantReward, asked, 'form-1');
  expect(again).toEqual(granted);

  const events = (await eventsOf(ann)).filter(({ event }) => event.type === 'RewardGranted');
  expect(events.map(({ event }) => event)).toMatchObject([
    {
      rewardId: granted.rewardId,
      source: 'MANUAL',
      value: { assignedCredit: 250, unit: 'CENTS' },
      texts: { value: { name: 'Sorry' } },
      dateExpires: expires,
      reason: { value: 'late parcel' },
    },
  ]);
  const recorded = (await recordedToday()).filter(({ reason }) => reason?.value === 'late parcel');
  expect(recorded.map(({ operation }) => operation)).toEqual(['reward grant', 'reward grant']);
});

test('a grant needs the members of its type, and a unit that the tenant knows', async () => {
  const ann = await aPerson(tenant.live);
  const grant = (form: object) => act(grantReward, { ...ofUser(ann), reason: 'why', ...form });
  await expect(grant({ type: 'CREDIT', unit: 'CENTS' })).rejects.toThrow('Enter an amount above 0');
  await expect(grant({ type: 'PCT_DISCOUNT' })).rejects.toThrow('Enter a percentage');
  const typo = { type: 'CREDIT', amount: 1, unit: 'CENTZ' };
  await expect(grant(typo)).rejects.toThrow('the tenant has no unit "CENTZ"');
  await grant({ type: 'PCT_DISCOUNT', percent: 15 });
  expect(await newestOf(ann, 'RewardGranted')).toMatchObject({
    event: { value: { type: 'PCT_DISCOUNT', discountPercent: 15 } },
  });
});

test('a grant above what is left of the limit is proposed, and finance approves it', async () => {
  const ann = await aPerson(tenant.live);
  const credit = { type: 'CREDIT', unit: 'CENTS', name: 'Sorry', reason: 'r' };
  const form = { ...tenant.scope, ...ofUser(ann), ...credit };
  const grant = (amount: number, by: string, key?: string) =>
    calledBy<{ rewardId?: string; proposal?: string }>(
      running.service,
      by,
      grantReward,
      { ...form, amount },
      key,
    );
  const given = { rewardId: expect.any(String) as string };
  expect(await grant(9_000, 'sue', 'k1')).toMatchObject(given);
  // It is granted once when its form is sent again.
  expect(await grant(9_000, 'sue', 'k1')).toMatchObject(given);
  expect(await grant(9_000, 'tom')).toMatchObject(given);
  expect(await grant(1_000, 'sue')).toMatchObject(given);
  const { proposal = '' } = await grant(1, 'sue');
  const account = core.names.accountRef(tenant.scope, ann.accountId);
  const listed = await listProposals(core, tenant.scope, { account, limit: 5, now: Date.now() });
  expect(listed).toMatchObject([
    { id: proposal, amount: 1, proposedBy: 'sue', grant: { name: 'Sorry', dateExpires: null } },
  ]);
  await calledBy(running.service, 'fay', approve, { proposal });
  expect(await newestOf(ann, 'RewardGranted')).toMatchObject({
    event: {
      value: { assignedCredit: 1 },
      texts: { value: { name: 'Sorry' } },
      adjustment: { reason: { value: 'r' }, by: { value: 'sue' }, approvedBy: { value: 'fay' } },
    },
  });
});

test('a form without a kept answer acts once, whatever is left of the limit by then', async () => {
  const { alias, live, scope: of } = await running.service.createTenant();
  const ann = await aPerson(live);
  const form = { ...of, ...ofUser(ann), type: 'CREDIT', unit: 'CENTS', reason: 'late parcel' };
  const grant = (amount: number, key: string) =>
    calledBy<object>(running.service, 'sue', grantReward, { ...form, amount }, key);
  const limit = async (amount: number): Promise<void> => {
    const grantLimits = [{ unit: 'CENTS', amount }];
    await running.service.change(alias, { type: 'ChangeUnitSettings', grantLimits });
    await core.pool.query(
      'update ledger.idempotency_keys set answer = null, owner = 0 where tenant = $1',
      [alias],
    );
  };
  const granted = await grant(9_000, 'granted');
  const proposed = await grant(2_000, 'proposed');
  expect([granted, proposed].map((done) => 'proposal' in done)).toEqual([false, true]);
  await limit(50_000);
  expect(await grant(2_000, 'proposed')).toEqual(proposed);
  await limit(1);
  expect(await grant(9_000, 'granted')).toEqual(granted);
  const account = core.names.accountRef(of, ann.accountId);
  expect(await listProposals(core, of, { account, limit: 5, now: Date.now() })).toHaveLength(1);
  const path = `/reward?accountId=${ann.accountId}`;
  expect((await live.get<readonly object[]>(path)).body).toHaveLength(1);
});

test('a reward is cancelled with a reason, in its own account only', async () => {
  const [ann, bob] = [await aPerson(tenant.live), await aPerson(tenant.live)];
  const reward = await give(tenant.live, ann);
  const cancel = (account: string) =>
    act(cancelReward, { account, reward, reason: 'granted twice' });
  await expect(cancel(bob.accountId)).rejects.toThrow('no such reward in this account');
  await cancel(ann.accountId);
  expect(await newestOf(ann, 'RewardCancelled')).toMatchObject({
    event: { rewardId: reward, by: 'REQUEST', reason: { value: 'granted twice' } },
  });
});

test('an edited user has the fields of the form, with the types that they had', async () => {
  const stored = { customFields: { plan: 'pro', seats: 3, beta: true }, segments: ['old', 'vip'] };
  const ann = await aPerson(tenant.live, { firstName: 'Ann', email: 'a@b.example', ...stored });
  const { version } = await editableUser(core, tenant.scope, ofUser(ann));
  const form = {
    ...ofUser(ann),
    firstName: 'Anna',
    lastName: '',
    email: '',
    locale: 'de_DE',
    countryCode: 'DE',
    segments: ['vip', 'new'],
    customFields: [
      ['seats', '4'],
      ['beta', 'false'],
      ['note', '12'],
    ],
    version,
  };
  await act(editUser, form, 'edit-1');
  await act(editUser, form, 'edit-1');
  expect((await tenant.live.get(`/account/${ann.accountId}/user/${ann.id}`)).body).toMatchObject({
    firstName: 'Anna',
    email: null,
    locale: 'de_DE',
    countryCode: 'DE',
    segments: ['vip', 'new'],
    customFields: { seats: 4, beta: false, note: '12' },
  });
});

test('a form made from older fields is refused and names who changed them and when', async () => {
  const ann = await aPerson(tenant.live, { firstName: 'Ann' });
  const {
    customFields: _,
    segments,
    ...shown
  } = await editableUser(core, tenant.scope, ofUser(ann));
  const form = { ...ofUser(ann), ...shown, segments, customFields: [] };
  await calledBy(running.service, 'tom', editUser, { ...tenant.scope, ...form, firstName: 'Anne' });
  await expect(act(editUser, { ...form, firstName: 'Anna' })).rejects.toMatchObject({
    code: 'CHANGED_MEANWHILE',
    message: expect.stringMatching(/^operator:tom changed this user at \d{4}-.*compare/) as string,
  });
});

test('a forgotten user loses the own rewards, and those of the other side stay', async () => {
  const ann = await aPerson(tenant.live, { firstName: 'Ann' });
  const bob = await aPerson(tenant.live, {}, { referral: { code: ann.code } });
  const paid = { id: bob.accountId, subscription: PAID };
  await tenant.live.post('/accountsync', paid);
  const own = await give(tenant.live, bob);
  // It waits for the reactions to the writes before.
  await tenant.live.get('/referrals');
  const before = await beforeForgetting(core, tenant.scope, ofUser(bob));
  expect(before.lost.map(({ rewardId }) => rewardId)).toContain(own);
  expect(before.staying).toMatchObject([{ side: 'referrer' }]);

  const answer = await act(forgetUser, { ...ofUser(bob), refuseInFuture: true }, 'forget-1');
  expect(answer).toMatchObject({ staying: before.staying });
  expect(await act(forgetUser, { ...ofUser(bob), refuseInFuture: true }, 'forget-1')).toEqual(
    answer,
  );
  const back = await tenant.live.post('/user', { id: bob.id, accountId: bob.accountId });
  expect(back.body).toMatchObject({ apiErrorCode: 'DO_NOT_TRACK' });
});
