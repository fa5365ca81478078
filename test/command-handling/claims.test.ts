import { accepted, refOf, aRequest, SharedLedger, type TestProcess } from './support/processes.js';
import { DyingLog, type GatedLog } from './support/troubled-logs.js';
import { EventLogUnavailable } from '../../src/event-log/event-log.js';

/**
 * Two processes on one log, and what each code and payment provider id comes to when commands of
 * one account are under way side by side.
 */
let ledger: SharedLedger;
let one: TestProcess;
let other: TestProcess;

beforeAll(async () => {
  ledger = await SharedLedger.open();
  one = await ledger.process();
  other = await ledger.process();
});
afterAll(() => ledger.close());
afterEach(() => {
  jest.restoreAllMocks();
});

const { scope } = aRequest();
const reservedBy = async (code: string) =>
  (await one.streams.reservations.load(one.names.codeStream(scope, code))).state;
const ownerOf = async (code: string) =>
  (await one.owners.find(scope, code))?.party.ids.value ?? null;

/** A process whose appends of the account wait until the test lets them through. */
async function gatedProcess(accountId: string): Promise<{ process: TestProcess; gate: GatedLog }> {
  const { process, gate } = await ledger.gated((stream) => stream.includes(refOf(accountId)));
  return { process, gate };
}

/** A process that dies right after the n-th append. */
async function dyingProcess(lastAppend: number): Promise<TestProcess> {
  return ledger.process({ around: (log) => new DyingLog(log, lastAppend) });
}

/** The clock of everybody in this process of the operating system goes on. */
function pass(ms: number): void {
  const { now } = Date;
  jest.spyOn(Date, 'now').mockImplementation(() => now() + ms);
}
const TWO_MINUTES = 120_000;

describe('a refused command', () => {
  beforeAll(async () => {
    await one.sync('has-provider-id');
    accepted(await one.upsert('has-provider-id', 'ann', { paymentProviderId: 'cus_taken' }));
  });

  it("releases only its own claim, even late: neither another command's record, nor what another user took since", async () => {
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
    expect(
      await one.upsert('has-provider-id', 'thief', { referralCode: 'LATECODE' }),
    ).toMatchObject({ refused: 'REFERRAL_CODE_TAKEN' });
    gate.open();
    accepted(await waits);
    expect(await ownerOf('LATECODE')).toEqual({ accountId: 'late', userId: 'u' });
    expect(await reservedBy('LATECODE')).toMatchObject({
      status: 'held',
      holder: { account: refOf('late') },
    });
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
  // What it had reserved beside that is free again.
  accepted(await one.upsert('takes-both', 'bob', { referralCode: 'STILLNEW' }));
  expect(await ownerOf('STILLNEW')).toEqual({ accountId: 'takes-both', userId: 'bob' });
});

it('a new user sent twice gets its code at once after a process died with the reservation, in another command', async () => {
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
