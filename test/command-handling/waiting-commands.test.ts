import { accepted, aRequest, refOf, SharedLedger } from './support/processes.js';
import { openForEach } from '../support/opened.js';

/** What a decision rests on outside its account is read in its turn, however long it waited. */
const ledger = openForEach(() => SharedLedger.open());
const one = openForEach(() => ledger.process());
afterEach(() => jest.restoreAllMocks());

function busyWith(accountId: string, work: () => Promise<unknown>): Promise<unknown> {
  const meta = aRequest();
  const stream = one.names.accountStream(meta.scope, refOf(accountId));
  return one.streams.accounts.handle(stream, meta, async () => {
    await (done ??= work());
    return { events: [] };
  });
}
let done: Promise<unknown> | undefined;
beforeEach(() => (done = undefined));

/** Sends a command behind one that is busy until `meanwhile` is over. */
async function whileItWaits<T>(
  accountId: string,
  send: () => Promise<T>,
  meanwhile: () => Promise<unknown>,
): Promise<T> {
  let go = (): void => undefined;
  const isSent = new Promise<void>((resolve) => (go = resolve));
  const busy = busyWith(accountId, async () => {
    await isSent;
    await meanwhile();
  });
  const sent = send();
  // What it reads before it waits, it has read by then.
  await one.account('anns');
  go();
  await busy;
  return sent;
}

/** Starts a busy command of the account as soon as another one has looked something up. */
async function onceItLookedUp<T>(
  accountId: string,
  { send, looksUp }: { send: () => Promise<T>; looksUp: 'referrer' | 'firstOf' },
  meanwhile: () => Promise<unknown>,
): Promise<T> {
  let busy: Promise<unknown> | undefined;
  const lookUp = one.owners[looksUp].bind(one.owners) as (...asked: never[]) => Promise<never>;
  jest.spyOn(one.owners, looksUp).mockImplementation(async (...asked: unknown[]) => {
    const found = await lookUp(...(asked as never[]));
    busy ??= busyWith(accountId, meanwhile);
    return found;
  });
  const outcome = await send();
  await busy;
  expect(done).toBeDefined();
  return outcome;
}

const typesOf = async (accountId: string): Promise<readonly string[]> =>
  (await one.factsOf(accountId)).map(({ type }) => type);

const blockAnn = async () => accepted(await one.send('anns', { type: 'BlockUser', userId: 'ann' }));
const forgetAnn = async () =>
  accepted(
    await one.send('anns', {
      type: 'ForgetUser',
      userId: 'ann',
      doNotTrack: false,
      preserveEmptyAccount: true,
    }),
  );

it('while a command waits for its account a referrer who is blocked earns nothing', async () => {
  await one.userWithCode('anns', 'ann', 'ANN');
  accepted(await one.sync('friend', 'TRIAL', ['ANN']));
  accepted(await one.upsert('friend', 'user'));
  const paid = await whileItWaits('friend', () => one.sync('friend', 'PAID'), blockAnn);
  const converted = accepted(paid).events.find(({ type }) => type === 'ReferralConverted');
  expect(converted).toMatchObject({ referrerStatus: 'DENIED' });
});

it('while a command waits for its account a code whose owner is forgotten no longer counts, and a later code does', async () => {
  await one.userWithCode('anns', 'ann', 'ANN');
  await one.userWithCode('bobs', 'bob', 'BOB');
  accepted(await one.sync('friend'));
  await whileItWaits('friend', () => one.sync('friend', 'TRIAL', ['ANN']), forgetAnn);
  expect((await one.account('friend')).attribution).toBeNull();
  accepted(await one.upsert('friend', 'user'));
  accepted(await one.send('friend', { type: 'ApplyCode', userId: 'user', code: 'BOB' }));
});

it('a command with a lookup is recorded before any other command of its account: a block after it comes later in the log', async () => {
  await one.userWithCode('anns', 'ann', 'ANN');
  accepted(await one.sync('friend', 'TRIAL', ['ANN']));
  accepted(await one.upsert('friend', 'user'));
  let before: readonly string[] = [];
  const paid = await onceItLookedUp(
    'friend',
    { send: () => one.sync('friend', 'PAID'), looksUp: 'referrer' },
    async () => {
      before = await typesOf('friend');
      await blockAnn();
    },
  );
  expect(before).toContain('ReferralConverted');
  const converted = accepted(paid).events.find(({ type }) => type === 'ReferralConverted');
  expect(converted).toMatchObject({ referrerStatus: 'APPROVED' });
});

it('a command with a lookup looks it up again for its next try: a referrer who is blocked in between earns nothing', async () => {
  await one.userWithCode('anns', 'ann', 'ANN');
  accepted(await one.sync('friend', 'TRIAL', ['ANN']));
  const referrer = one.owners.referrer.bind(one.owners);
  let blocked: Promise<unknown> | undefined;
  jest.spyOn(one.owners, 'referrer').mockImplementation(async (...asked) => {
    const found = await referrer(...asked);
    await (blocked ??= blockAnn());
    return found;
  });
  // The first try finds that it needs a code and an announcement.
  const { events } = accepted(await one.upsert('friend', 'user'));
  expect(blocked).toBeDefined();
  expect(events.find(({ type }) => type === 'ReferralStarted')).toMatchObject({
    referredStatus: 'DENIED',
    referrerStatus: 'DENIED',
  });
});
