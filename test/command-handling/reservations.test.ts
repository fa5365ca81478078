import { TooBusy } from '../../src/command-handling/stream-queues.js';
import { personal } from '../../src/domain/personal.js';
import { EventLogUnavailable } from '../../src/event-log/event-log.js';
import { accepted, aRequest, refOf, SharedLedger, type TestProcess } from './support/processes.js';
import { DyingLog, type GatedLog } from './support/troubled-logs.js';
import { openOnce } from '../support/opened.js';

/**
 * Two processes on one log, and who gets each code and payment provider id, also when commands
 * of one account are under way side by side.
 */
const ledger = openOnce(() => SharedLedger.open());
const one = openOnce(() => ledger.process());
const other = openOnce(() => ledger.process());
afterEach(() => jest.restoreAllMocks());

const { scope } = aRequest();
const ownerOf = async (code: string) =>
  (await one.owners.find(scope, code))?.party.ids.value ?? null;

async function codesOf(
  accountId: string,
  userId: string,
): Promise<Record<string, string> | undefined> {
  const account = await one.account(accountId);
  return account.users.get(account.personsByUserId.get(userId) ?? '')?.primaryCodes.toObject();
}

function pass(ms: number): void {
  const { now } = Date;
  jest.spyOn(Date, 'now').mockImplementation(() => now() + ms);
}
const TWO_MINUTES = 120_000;

it('a code is free again immediately when the account that wanted it stays too busy', async () => {
  await Promise.all([one.sync('busy-a'), one.sync('busy-b')]);
  const { accounts } = one.streams;
  const handle = accounts.handle.bind(accounts);
  let passes = 0;
  jest
    .spyOn(accounts, 'handle')
    .mockImplementation((...call) =>
      (passes += 1) === 2 ? Promise.reject(new TooBusy()) : handle(...call),
    );
  await expect(one.upsert('busy-a', 'ann', { referralCode: 'BUSY' })).rejects.toThrow(TooBusy);
  expect(passes).toBe(2);
  jest.restoreAllMocks();
  accepted(await other.upsert('busy-b', 'bob', { referralCode: 'BUSY' }));
  expect(await ownerOf('BUSY')).toEqual({ accountId: 'busy-b', userId: 'bob' });
});

it('a generated code is made of the name and gets digits when it is taken', async () => {
  await one.sync('lees');
  const name = { changes: { firstName: 'Ann-Marie', lastName: 'O’Lee' } };
  const users = Array.from({ length: 12 }, (_, index) => `ann-${index}`);
  for (const user of users) accepted(await one.upsert('lees', user, name));
  const codes = await Promise.all(
    users.map(async (user) => (await codesOf('lees', user))?.['default'] ?? ''),
  );
  expect(new Set(codes).size).toBe(12);
  expect(codes.slice(0, 4)).toEqual([
    'ANNMARIEOLEE',
    'ANNMARIEOLEE2',
    'ANNMARIEOLEE3',
    'ANNMARIEOLEE4',
  ]);
  for (const code of codes) expect(code).toMatch(/^ANNMARIEOLEE[0-9]{0,3}$/);
});

it('a generated code stays within fifteen characters, digits included', async () => {
  await one.sync('long');
  const name = { changes: { firstName: 'Bartholomew', lastName: 'Featherstone' } };
  accepted(await one.upsert('long', 'first', name));
  accepted(await one.upsert('long', 'second', name));
  expect([await codesOf('long', 'first'), await codesOf('long', 'second')]).toEqual([
    { default: 'BARTHOLOMEWFEAT' },
    { default: 'BARTHOLOMEWFEA2' },
  ]);
});

it('a generated code is random without a usable name', async () => {
  await one.sync('nameless');
  accepted(await one.upsert('nameless', 'x', { changes: { firstName: '李', lastName: '！' } }));
  expect((await codesOf('nameless', 'x'))?.['default']).toMatch(/^[A-Z2-9]{10}$/);
});

it('a generated code is made from the stored name at the next write, for a program that was added later', async () => {
  await one.sync('later');
  accepted(await one.upsert('later', 'ann', { changes: { firstName: 'Later', lastName: 'Ann' } }));
  await one.tenantCommands.execute(scope.tenant, {
    type: 'ApplyProgram',
    program: { id: 'partners' },
    now: Date.now(),
  });
  // Members that a request leaves out come as undefined.
  accepted(
    await one.upsert('later', 'ann', {
      changes: { email: 'ann@example.com', firstName: undefined, lastName: undefined },
    }),
  );
  expect(await codesOf('later', 'ann')).toEqual({ default: 'LATERANN', partners: 'LATERANN2' });
});

const reservedBy = async (code: string) =>
  (await one.streams.reservations.load(one.names.codeStream(scope, code))).state;

it('a reservation is released when the account refuses', async () => {
  await one.sync('refuses');
  accepted(
    await one.upsert('refuses', 'ann', {
      referralCode: 'REFUSES',
      paymentProviderId: 'cus_refuses',
    }),
  );
  expect(
    await one.upsert('refuses', 'bob', {
      referralCode: 'GIVENBACK',
      paymentProviderId: 'cus_other',
    }),
  ).toMatchObject({
    refused: 'PAYMENT_PROVIDER_ID_SET',
  });
  expect(await reservedBy('GIVENBACK')).toEqual({ status: 'free' });
  await one.userWithCode('takes', 'cat', 'GIVENBACK');
});

it('a reservation that was never confirmed is taken over, but only after its time', async () => {
  const account = refOf('crashed');
  const person = '0e000000-0000-4000-8000-000000000001';
  const made = {
    type: 'Reserve',
    kind: 'referral-code',
    key: personal(person, 'LAPSED'),
    holder: { account, person },
    programId: 'default',
    claim: 'of a crashed command',
  } as const;
  const { decide } = await import('../../src/domain/reservation/reservation.decider.js');
  await one.streams.reservations.handle(
    one.names.codeStream(scope, 'LAPSED'),
    aRequest(),
    (state) => decide(state, { ...made, takeOver: false, now: Date.now() }),
  );
  await one.sync('patient');
  expect(await other.upsert('patient', 'bob', { referralCode: 'LAPSED' })).toMatchObject({
    refused: 'REFERRAL_CODE_TAKEN',
  });
  pass(TWO_MINUTES + 1_000);
  accepted(await other.upsert('patient', 'bob', { referralCode: 'LAPSED' }));
  expect(await ownerOf('LAPSED')).toEqual({ accountId: 'patient', userId: 'bob' });
});

it('a reservation stores the code or payment provider id encrypted in the log', async () => {
  await one.sync('secrets');
  accepted(
    await one.upsert('secrets', 'ann', {
      referralCode: 'SECRETCODE',
      paymentProviderId: 'cus_secret_number',
    }),
  );
  const page = await one.log.readAll(undefined, 10_000);
  expect(page.length).toBeGreaterThan(10);
  for (const { stream, data, metadata } of page)
    expect(`${stream} ${data} ${metadata}`).not.toMatch(/SECRETCODE|cus_secret_number/i);
});

async function gatedProcess(accountId: string): Promise<{ process: TestProcess; gate: GatedLog }> {
  const { process, gate } = await ledger.gated((stream) => stream.includes(refOf(accountId)));
  return { process, gate };
}

async function dyingProcess(lastAppend: number): Promise<TestProcess> {
  return ledger.process({ around: (log) => new DyingLog(log, lastAppend) });
}

it("a refused command releases only its own claim, even late: neither another command's record, nor what another user took since", async () => {
  await one.sync('has-provider-id');
  accepted(await one.upsert('has-provider-id', 'ann', { paymentProviderId: 'cus_taken' }));
  await one.userWithCode('late', 'u', 'LATEFIRST');
  const { process: slow, gate } = await gatedProcess('late');
  const waits = slow.upsert('late', 'u', { referralCode: 'LATECODE' });
  await gate.reached;
  // Meanwhile another command of the user reserves it, is refused and gives its claim back.
  expect(
    await other.upsert('late', 'u', { referralCode: 'LATECODE', paymentProviderId: 'cus_taken' }),
  ).toMatchObject({
    refused: 'PAYMENT_PROVIDER_ID_USED',
  });
  expect(await one.upsert('has-provider-id', 'thief', { referralCode: 'LATECODE' })).toMatchObject({
    refused: 'REFERRAL_CODE_TAKEN',
  });
  gate.open();
  accepted(await waits);
  expect(await ownerOf('LATECODE')).toEqual({ accountId: 'late', userId: 'u' });
  expect(await reservedBy('LATECODE')).toMatchObject({
    status: 'held',
    holder: { account: refOf('late') },
  });
});

it('a command that was suspended between its reservation and its record loses the code to the user who took it over, and records nothing of it', async () => {
  await one.userWithCode('still', 'u', 'STILLFIRST');
  const { process: slow, gate } = await gatedProcess('still');
  const waits = slow.upsert('still', 'u', { referralCode: 'STILLCODE' });
  await gate.reached;
  pass(TWO_MINUTES + 1_000);
  await one.sync('takes-over');
  accepted(await one.upsert('takes-over', 'bob', { referralCode: 'STILLCODE' }));
  gate.open();
  expect(await waits).toMatchObject({ refused: 'REFERRAL_CODE_TAKEN' });
  expect(await ownerOf('STILLCODE')).toEqual({ accountId: 'takes-over', userId: 'bob' });
  const still = await one.account('still');
  expect(still.users.get(still.personsByUserId.get('u') ?? '')?.primaryCodes.get('default')).toBe(
    'STILLFIRST',
  );
});

it('a command that was suspended between its reservation and its record loses them too when it opens the account, and with a payment provider id', async () => {
  const { process: slow, gate } = await gatedProcess('still new');
  const waits = slow.upsert('still new', 'u', {
    openAccount: 'still new',
    referralCode: 'STILLNEW',
    paymentProviderId: 'cus_still',
  });
  await gate.reached;
  pass(TWO_MINUTES + 1_000);
  await one.sync('takes-both');
  accepted(await one.upsert('takes-both', 'bob', { paymentProviderId: 'cus_still' }));
  gate.open();
  expect(await waits).toMatchObject({ refused: 'PAYMENT_PROVIDER_ID_USED' });
  // The code that it had reserved as well is free again.
  accepted(await one.upsert('takes-both', 'bob', { referralCode: 'STILLNEW' }));
  expect(await ownerOf('STILLNEW')).toEqual({ accountId: 'takes-both', userId: 'bob' });
});

it('a new user sent twice gets its code immediately after a process died with the reservation', async () => {
  for (const openAccount of [undefined, 'died new']) {
    const accountId = openAccount ?? 'died';
    if (openAccount === undefined) await one.sync(accountId);
    const code = openAccount === undefined ? 'DIEDCODE' : 'DIEDNEWCODE';
    const over = { referralCode: code, ...(openAccount === undefined ? {} : { openAccount }) };
    const dying = await dyingProcess(1);
    await expect(dying.upsert(accountId, 'u', over)).rejects.toThrow(EventLogUnavailable);
    expect(await reservedBy(code)).toMatchObject({
      status: 'held',
      holder: { account: refOf(accountId) },
    });
    accepted(await other.upsert(accountId, 'u', over));
    expect(await ownerOf(code)).toEqual({ accountId, userId: 'u' });
  }
});
