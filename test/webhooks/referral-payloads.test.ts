import {
  accepted,
  aRequest,
  SharedLedger,
  type TestProcess,
} from '../command-handling/support/processes.js';
import { anId, aTime } from '../support/expected-answers.js';
import type { Json } from '../support/api-client.js';
import { Listener } from './support/listener.js';

const CENTS = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 100 };
const REFERRAL_TYPES = [
  'referral.started',
  'referral.converted',
  'referral.ended',
  'referral.automoderation.complete',
] as const;

let ledger: SharedLedger;
let service: TestProcess;
let listener: Listener;

async function open(program: Json): Promise<void> {
  ledger = await SharedLedger.open(program as never);
  service = await ledger.process();
  listener = new Listener(service);
  await service.userWithCode('anns', 'ann', 'ANN');
  await listener.news();
}

/** Of Bob by Ann, just started, without rewards. */
const started = (more: Json = {}): Json => ({
  id: anId,
  programId: 'default',
  referrer: { id: 'ann', accountId: 'anns' },
  referred: { id: 'bob', accountId: 'bobs' },
  referrerUser: 'ann',
  referredUser: 'bob',
  referralCodeUsed: 'ANN',
  moderationStatus: 'ACTIONED',
  referredModerationStatus: 'APPROVED',
  referrerModerationStatus: 'APPROVED',
  dateModerated: aTime,
  fraudSignals: {},
  dateReferralStarted: aTime,
  dateModified: aTime,
  referredReward: null,
  referrerReward: null,
  ...more,
});

async function refer(accountId = 'bobs', userId = 'bob', changes: Json = {}): Promise<string> {
  accepted(await service.sync(accountId, 'TRIAL', ['ann']));
  accepted(await service.upsert(accountId, userId, { changes }));
  return (await service.referralOf(accountId)).referralId;
}

/** What the policy does when the referrer has earned a reward. */
async function grantReferrer(accountId: string): Promise<string> {
  const { referralId, referrer, referrerEarned, programId, programVersion, dateStarted } =
    await service.referralOf(accountId);
  if (!referrerEarned) throw new Error('the referrer has earned nothing');
  const { events } = accepted(
    await service.send('anns', {
      type: 'GrantReferrerReward',
      referralId,
      person: referrer.person,
      terms: referrerEarned,
      programId,
      programVersion,
      earnedAt: dateStarted,
    }),
  );
  const [granted] = events;
  if (granted?.type !== 'RewardGranted') throw new Error('nothing was granted');
  return granted.rewardId;
}

const timesOf = (data: Json | null) =>
  Object.fromEntries(Object.entries(data ?? {}).filter(([name]) => name.startsWith('date')));

test('a referral that starts, converts and ends, with the rewards that each side has by then', async () => {
  await open({ id: 'default', referredReward: CENTS, referrerReward: CENTS });
  await refer();
  accepted(await service.sync('bobs', 'PAID'));
  const referrerReward = await grantReferrer('bobs');
  accepted(await service.sync('bobs', 'CANCELLED'));
  const news = await listener.news(...REFERRAL_TYPES);
  expect(news.map(({ type }) => type)).toEqual([
    'referral.started',
    'referral.converted',
    'referral.ended',
  ]);
  const [start, paid, ended] = news.map(({ data }) => data);
  // The referred side's reward exists from the start, in the same append.
  expect(start).toEqual(started({ referredReward: anId }));
  expect(start?.['id']).toBe((await service.referralOf('bobs')).referralId);
  expect(paid).toEqual(
    started({ referredReward: anId, dateReferralPaid: aTime, dateConverted: aTime }),
  );
  expect(ended).toEqual(
    started({
      referredReward: start?.['referredReward'],
      // Granted between conversion and end.
      referrerReward,
      dateReferralPaid: aTime,
      dateConverted: aTime,
      dateReferralEnded: aTime,
    }),
  );
  for (const data of [start, paid, ended]) {
    const { dateModified, dateReferralStarted, dateModerated, ...times } = timesOf(data ?? {});
    expect(dateModerated).toBe(dateReferralStarted);
    const newest = Math.max(...Object.values(times).map(Number), Number(dateReferralStarted));
    expect(dateModified).toBe(newest);
  }
  expect(await listener.again()).toEqual(listener.sent);
});

test('signals that are found at the start are announced with it', async () => {
  await open({ id: 'default', fraud: { name: 'pending' } });
  accepted(await service.upsert('anns', 'ann', { changes: { firstName: 'A', lastName: 'Lee' } }));
  await refer('bobs', 'bob', { firstName: 'Lee', lastName: 'A' });
  const news = await listener.news(...REFERRAL_TYPES);
  expect(news.map(({ type }) => type)).toEqual([
    'referral.started',
    'referral.automoderation.complete',
  ]);
  const data = started({
    moderationStatus: 'PENDING',
    referredModerationStatus: 'PENDING',
    referrerModerationStatus: 'PENDING',
    fraudSignals: { name: { message: expect.any(String), score: 50 } },
  });
  expect(news.map((one) => one.data)).toEqual([data, data]);
});

test('a moderation shows in what is announced later: statuses, and when a person did it', async () => {
  await open({ id: 'default', referredReward: CENTS, moderation: { referrer: 'PENDING' } });
  const referralId = await refer();
  expect(await listener.data('referral.started')).toEqual([
    started({
      moderationStatus: 'PENDING',
      referrerModerationStatus: 'PENDING',
      referredReward: anId,
    }),
  ]);
  await service.moderate({ [referralId]: 'DENIED' });
  // The receiver learns of it by the credit that is gone.
  expect((await listener.news()).map(({ type, data }) => [type, data?.['availableValue']])).toEqual(
    [['user.reward.balance.changed', 0]],
  );
  accepted(await service.sync('bobs', 'PAID'));
  const [converted] = await listener.data('referral.converted');
  expect(converted).toEqual(
    started({
      referredModerationStatus: 'DENIED',
      referrerModerationStatus: 'DENIED',
      referredReward: anId,
      dateReferralPaid: aTime,
      dateConverted: aTime,
      dateUserModified: aTime,
    }),
  );
  expect(converted?.['dateUserModified']).toBe(converted?.['dateModerated']);
  await service.moderate({ [referralId]: 'APPROVED' });
  expect((await listener.news()).map(({ type, data }) => [type, data?.['availableValue']])).toEqual(
    [['user.reward.balance.changed', 100]],
  );
  expect(await listener.again()).toEqual(listener.sent);
});

test('a referral of a deleted account is announced without the deleted side', async () => {
  await open({ id: 'default' });
  await refer();
  accepted(
    await service.send('bobs', {
      type: 'ForgetUser',
      userId: 'bob',
      doNotTrack: false,
      preserveEmptyAccount: true,
    }),
  );
  accepted(await service.upsert('bobs', 'bea'));
  await listener.skip();
  accepted(await service.sync('bobs', 'PAID', [], aRequest()));
  const { referred: _, referredUser: __, ...others } = started();
  expect(await listener.data(...REFERRAL_TYPES)).toEqual([
    { ...others, dateReferralPaid: aTime, dateConverted: aTime },
  ]);
});
