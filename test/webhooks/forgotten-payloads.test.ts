import { accepted, aRequest, SharedLedger } from '../command-handling/support/processes.js';
import { DyingLog } from '../command-handling/support/troubled-logs.js';
import { Listener, payloadsOf } from './support/listener.js';
import { openForEach } from '../support/opened.js';

const CREDIT = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 100, currency: null } as const;
const MARKS = ['ANNSCODE', 'anns-id', 'anns-account', 'Annfirst'];

const ledger = openForEach(() => SharedLedger.open());
const service = openForEach(() => ledger.process());
/** The process that sends: it knows nothing of the other one but the log. */
const sender = openForEach(() => ledger.process());
const listener = openForEach(() => new Listener(sender));

beforeEach(async () => {
  accepted(await service.sync('anns-account'));
  accepted(
    await service.upsert('anns-account', 'anns-id', {
      referralCode: 'ANNSCODE',
      changes: { firstName: 'Annfirst' },
    }),
  );
  await service.reward('anns-account', 'anns-id', CREDIT);
  accepted(await service.sync('bobs-account', 'TRIAL', ['ANNSCODE']));
  accepted(await service.upsert('bobs-account', 'bobs-id', { referralCode: 'BOBSCODE' }));
  accepted(await service.sync('bobs-account', 'PAID'));
  // All payloads are made once, so that keys and histories are remembered.
  await listener.news();
});

const forget = (userId: string) =>
  ({ type: 'ForgetUser', userId, doNotTrack: false, preserveEmptyAccount: true }) as const;

interface Sent {
  readonly type: string;
  readonly kind: string;
  readonly data: Readonly<Record<string, unknown>> | null;
}
const parsed = (sent: readonly string[]): Sent[] => sent.map((text) => JSON.parse(text) as Sent);

function expectAnnGone(sent: readonly string[]): void {
  for (const mark of MARKS) expect(sent.join('\n')).not.toContain(mark);
  const before = parsed(listener.sent);
  for (const [index, { type, kind, data }] of parsed(sent).entries()) {
    const { data: was } = before[index] ?? { data: null };
    const isHers = was?.['userId'] === 'anns-id' || was?.['id'] === 'anns-id';
    if (isHers || was?.['code'] === 'ANNSCODE') expect([type, kind]).toEqual([type, 'forgotten']);
    else if (type.startsWith('referral.')) {
      const { referrer: _, referrerUser: __, referralCodeUsed: ___, ...left } = was ?? {};
      expect(data).toEqual({ ...left, referrerReward: null });
    } else if (type === 'user.created') expect(data).toEqual({ ...was, referredByCodes: [] });
    else expect(data).toEqual(was);
  }
}

test('an event about a forgotten person is dropped, and their side of a referral is left out', async () => {
  const types = parsed(listener.sent).map(({ type }) => type);
  expect(new Set(types)).toEqual(
    new Set([
      'user.created',
      'coupon.created',
      'reward.created',
      'user.reward.balance.changed',
      'referral.started',
      'referral.converted',
    ]),
  );
  expect(listener.sent.join('\n')).toContain('"referredByCodes":["ANNSCODE"]');
  accepted(await service.send('anns-account', forget('anns-id')));
  // The sender did not learn that keys were destroyed; it meets the erasure in the log.
  expectAnnGone(await listener.again(payloadsOf(sender)));
  expectAnnGone(await listener.again(payloadsOf(service)));
});

test('a history that a sender remembers drops the forgotten person, too', async () => {
  const remembering = payloadsOf(sender);
  expect(await listener.again(remembering)).toEqual(listener.sent);
  accepted(await service.send('anns-account', forget('anns-id')));
  expectAnnGone(await listener.again(remembering));
});

test('from the request on, while the keys still exist', async () => {
  const dying = await ledger.process({ around: (log) => new DyingLog(log, 1) });
  await expect(dying.send('anns-account', forget('anns-id'))).rejects.toThrow(
    'the process is dead',
  );
  expectAnnGone(await listener.again(payloadsOf(sender)));
});

test('a referral without a remaining person is dropped', async () => {
  accepted(await service.send('anns-account', forget('anns-id')));
  accepted(await service.send('bobs-account', forget('bobs-id')));
  const kinds = parsed(await listener.again(payloadsOf(sender))).map(({ kind }) => kind);
  expect(new Set(kinds)).toEqual(new Set(['forgotten']));
});

test('a deleted account is dropped; one that is opened again under its id is announced as a new one', async () => {
  accepted(await service.send('anns-account', { type: 'ForgetAccount', doNotTrack: false }));
  expectAnnGone(await listener.again(payloadsOf(sender)));
  accepted(await service.sync('anns-account'));
  accepted(await service.upsert('anns-account', 'anns-id', { referralCode: 'ANEW' }));
  await service.reward('anns-account', 'anns-id', { ...CREDIT, unit: 'cents', assignedCredit: 7 });
  const news = await listener.news();
  expect(news.map(({ type, kind }) => `${type} ${kind}`)).toEqual([
    'user.created made',
    'coupon.created made',
    'reward.created made',
    'user.reward.balance.changed made',
  ]);
  expect(news[0]?.data).toMatchObject({ id: 'anns-id', accountId: 'anns-account' });
  expect(news[0]?.data).not.toHaveProperty('firstName');
  expect(news[3]?.data).toMatchObject({ userId: 'anns-id', unit: 'cents', availableValue: 7 });
});

test('the ids of an account are read with the keys of its people, who may be others by now', async () => {
  accepted(await service.upsert('anns-account', 'amy', { referralCode: 'AMY' }));
  await service.reward('anns-account', 'amy', { ...CREDIT, assignedCredit: 5 });
  await listener.news();
  accepted(await service.send('anns-account', forget('anns-id'), aRequest()));
  const rewardOf = parsed(await listener.again(payloadsOf(sender)))
    .filter(({ data }) => data?.['userId'] === 'amy')
    .map(({ type, data }) => [type, data?.['availableValue']]);
  expect(rewardOf).toEqual([
    ['reward.created', undefined],
    // As it was at the event, with the credit of both.
    ['user.reward.balance.changed', 105],
  ]);
});
