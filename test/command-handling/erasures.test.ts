import {
  ProviderEventEnvelope,
  RepeatErasureEnvelope,
} from '../../src/command-handling/commands.js';
import { deterministicId } from '../../src/command-handling/deterministic-id.js';
import { customerSummary, type ProviderFact } from '../../src/domain/customer/customer.state.js';
import { customerStreams } from '../../src/stores/erasure-replay.js';
import { accepted, aRequest, refOf, SharedLedger, type TestProcess } from './support/processes.js';
import { DyingLog } from './support/troubled-logs.js';
import { openOnce } from '../support/opened.js';

const ledger = openOnce(() => SharedLedger.open());
const one = openOnce(() => ledger.process());

const forget = (userId: string) =>
  ({ type: 'ForgetUser', userId, doNotTrack: false, preserveEmptyAccount: true }) as const;
const erasureIdOf = (commandId: string): string => deterministicId(commandId, 'erasure');

/** What the job does that looks after erasures. */
const finish = (process: TestProcess, accountId: string, erasureId: string) => {
  const { scope, ...cause } = aRequest();
  return process.erasures.drive(scope, refOf(accountId), erasureId, cause);
};
const erasuresOf = async (process: TestProcess, accountId: string) =>
  (await process.factsOf(accountId))
    .filter(({ type }) => type.startsWith('Erasure'))
    .map(({ type }) => type);
const nameOf = async (process: TestProcess, accountId: string) =>
  (await process.factsOf(accountId)).flatMap((event) =>
    event.type === 'UserIdentified' ? [event.profile.value?.id ?? null] : [],
  );

test.each([
  ['the request is on record', 1],
  ['the tombstone is written', 2],
])('an erasure that is killed once %s is finished after a restart', async (_what, lastAppend) => {
  const accountId = `dies-${lastAppend}`;
  await one.userWithCode(accountId, 'bob', `DIES${lastAppend}`);
  const dying = await ledger.process({ around: (log) => new DyingLog(log, lastAppend) });
  const meta = aRequest();
  await expect(dying.send(accountId, forget('bob'), meta)).rejects.toThrow('the process is dead');

  const restarted = await ledger.process();
  expect((await restarted.account(accountId)).users.size).toBe(0);
  await finish(restarted, accountId, erasureIdOf(meta.commandId));
  await finish(restarted, accountId, erasureIdOf(meta.commandId));
  expect(await erasuresOf(restarted, accountId)).toStrictEqual([
    'ErasureRequested',
    'ErasureCompleted',
  ]);
  expect(await nameOf(restarted, accountId)).toStrictEqual([null]);
});

test('after a kill before the destroyed keys are announced, another process shows nothing from its cache', async () => {
  await one.userWithCode('untold', 'bob', 'UNTOLD');
  expect((await one.account('untold')).personsByUserId.has('bob')).toBe(true);
  const dying = await ledger.process();
  jest.spyOn(dying.streams.accounts, 'forgetSubjects').mockImplementation(() => {
    throw new Error('the process is dead');
  });
  const meta = aRequest();
  await expect(dying.send('untold', forget('bob'), meta)).rejects.toThrow('the process is dead');
  expect(await erasuresOf(one, 'untold')).toStrictEqual(['ErasureRequested']);
  expect([(await one.account('untold')).users.size, await nameOf(one, 'untold')]).toStrictEqual([
    0,
    [null],
  ]);
  await finish(one, 'untold', erasureIdOf(meta.commandId));
  expect(await erasuresOf(one, 'untold')).toStrictEqual(['ErasureRequested', 'ErasureCompleted']);
});

test("a forgotten person's code is never given to another person, nor to the same one again", async () => {
  await one.userWithCode('holds', 'ann', 'HOLDER');
  accepted(await one.send('holds', forget('ann')));
  expect(await one.owners.find(aRequest().scope, 'HOLDER')).toBeNull();
  const late = await ledger.process({ clock: () => Date.now() + 3_600_000 });
  expect(await late.upsert('holds', 'ann', { referralCode: 'holder' })).toMatchObject({
    refused: 'REFERRAL_CODE_TAKEN',
  });
  accepted(await late.upsert('holds', 'ann'));
  await one.userWithCode('wants', 'bob', 'WANTS');
  expect(await late.upsert('wants', 'bob', { referralCode: 'Holder' })).toMatchObject({
    refused: 'REFERRAL_CODE_TAKEN',
  });
});

/** An event of the provider about a customer, and the ids that its stream shows. */
const tell = (id: string, event: string, fact: ProviderFact = { kind: 'CANCELLED' }) =>
  one.commands.execute(
    new ProviderEventEnvelope(aRequest(), id, event, {
      provider: 'stripe',
      eventType: 'customer.subscription.deleted',
      created: 1,
      ids: { event, invoice: fact.kind === 'INVOICE_PAID' ? `in ${event}` : null, payments: [] },
      subscription: null,
      left: [],
      fact,
    }),
  );
const idsOf = async (process: TestProcess, id: string) =>
  (await process.recordedOf(process.names.customerStream(aRequest().scope, id))).flatMap(
    ({ event }) => (event.type === 'ProviderEventReceived' ? [event.ids] : []),
  );

test.each([
  ['the account', { type: 'ForgetAccount', doNotTrack: false }],
  ['its last user', { ...forget('bob'), preserveEmptyAccount: false }],
] as const)("forgetting %s destroys the key of its customer's ids", async (what, request) => {
  const id = `cus ${what}`;
  accepted(await one.sync(id));
  accepted(await one.upsert(id, 'bob', { paymentProviderId: id }));
  await tell(id, 'before');
  const subject = (await idsOf(one, id))[0]?.subject;
  accepted(await one.send(id, request));
  expect(await idsOf(one, id)).toStrictEqual([{ subject, value: null }]);
  const { streams, names } = one;
  const customer = await streams.customers.load(names.customerStream(aRequest().scope, id));
  expect(customer.state.facts.map(({ ids }) => ids).toArray()).toStrictEqual([null]);
  // The customer may get another account: later ids have another key.
  await tell(id, 'after');
  expect((await idsOf(one, id))[1]?.value).toMatchObject({ event: 'after' });
});

test.each([
  ['was restored with it', false],
  ['has destroyed the keys already', true],
])(
  'an erasure that a restored log lacks releases the customer first, where the vault %s',
  async (what, isDestroyed) => {
    const id = `cus restored ${what}`;
    const link = async () => {
      accepted(await one.sync(id));
      accepted(await one.upsert(id, 'bob', { paymentProviderId: id }));
      return one.account(id);
    };
    const paid = { kind: 'INVOICE_PAID', amountPaid: 1, currency: 'USD', interval: null } as const;
    const { account, personsByUserId } = await link();
    await tell(id, `${id} before`, paid);
    const customer = (await idsOf(one, id))[0]?.subject ?? '';
    const persons = [personsByUserId.get('bob') ?? ''];
    if (isDestroyed) await one.keys.destroy([...persons, account, customer]);

    const { scope, ...cause } = aRequest();
    const erasureId = erasureIdOf(id);
    const erased = { erasureId, persons, account, customer, suppressed: [] };
    const repeatOn = async (process: TestProcess) => {
      const stream = (await customerStreams(process.log, new Set([customer]))).get(customer);
      const listed = { ...scope, accountRef: refOf(id), ...erased };
      await process.commands.execute(new RepeatErasureEnvelope(cause, listed, stream));
    };
    const firstPaid = async (process: TestProcess, of: string) => {
      const stream = process.names.customerStream(scope, id);
      const { state } = await process.streams.customers.load(stream);
      return customerSummary(state, { account: of, since: Date.now() }).firstPaid;
    };
    await repeatOn(await ledger.process());
    const next = await link();
    expect(next.account).not.toBe(account);
    expect(await firstPaid(one, next.account)).toBeNull();

    await tell(id, `${id} after`, paid);
    await repeatOn(await ledger.process());
    expect(await firstPaid(one, next.account)).toMatchObject({ amountPaid: 1 });
  },
);

test('the keys of a repeated erasure are destroyed before the log has anything of it', async () => {
  const id = 'repeated on a log that dies';
  accepted(await one.sync(id));
  accepted(await one.upsert(id, 'bob'));
  const { account, personsByUserId } = await one.account(id);
  const { scope, ...cause } = aRequest();
  const erased = { erasureId: erasureIdOf(id), persons: [personsByUserId.get('bob') ?? ''] };
  const listed = { ...scope, accountRef: refOf(id), ...erased, account, suppressed: [] };
  const dying = await ledger.process({ around: (log) => new DyingLog(log, 1) });
  await expect(
    dying.commands.execute(new RepeatErasureEnvelope(cause, listed, undefined)),
  ).rejects.toThrow('the process is dead');
  expect(await nameOf(await ledger.process(), id)).toStrictEqual([null]);
});
